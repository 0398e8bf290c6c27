"""verify_math: what is equal, what is not, and what cannot hang, raise or run."""

# ruff: noqa: E501  (programs on one line each)
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grpo_lessons.verifiers import extract_boxed, verify_math
from grpo_lessons.verifiers import math as math_module


def reward(expected, answer, **options):
    return verify_math(f"<answer>{answer}</answer>", expected, **options).reward


EQUAL = {
    "the same number in decimals": (r"\frac{1}{2}", "0.5"),
    "a fraction without braces": (r"\frac{1}{2}", r"\frac12"),
    "percent is a hundredth": (r"\frac{1}{2}", r"50\%"),
    "scientific notation": ("1000", "1e3"),
    "a mixed number": (r"-\frac{5}{2}", r"-2\frac12"),
    "a product in brackets": ("6", "3(2)"),
    "a surd simplified": (r"4\sqrt{2}", r"\sqrt{32}"),
    "a nested surd": (r"\sqrt{2}+\sqrt{3}", r"\sqrt{5+2\sqrt{6}}"),
    "a rational denominator": (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt{3}}"),
    "a hidden zero": ("0", r"\sqrt{2}\sqrt{3}-\sqrt{6}"),
    "plain notation": (r"4\sqrt{2}", "4*sqrt(2)"),
    "a plain power": ("2^{-99}", "1/2**99"),
    "an expanded product": ("x^2+2x+1", "(x+1)^2"),
    "a cancelled fraction": (r"\frac{x^2-1}{x-1}", "x+1"),
    "an identity of trigonometry": (r"\sin 2x", r"2\sin x\cos x"),
    "a logarithm's rule": (r"2\ln x", r"\ln x^2"),
    "a factorial": ("120", "5!"),
    "complex numbers": (r"e^{i\pi}", "-1"),
    "a real odd root": ("-2", r"\sqrt[3]{-8}"),
    "a set in another order": (r"\{1,2\}", r"\{2,1\}"),
    "a set as a list of solutions": (r"\{1,2\}", "x=1 or x=2"),
    "plus-minus as two solutions": (r"1\pm\sqrt{2}", r"1-\sqrt2, 1+\sqrt2"),
    "a tuple of other spelling": (r"\left(1,\frac{1}{2}\right)", "(1, 0.5)"),
    "a half-open interval": (r"\left[0,\frac{\pi}{2}\right)", r"[0,\pi/2)"),
    "an interval as an inequality": ("(1,2]", "2 >= x > 1"),
    "a ray as an inequality": ("x>1", r"(1,\infty)"),
    "a union in another order": (r"(-\infty,0)\cup(0,\infty)", "(0,∞) U (-∞,0)"),
    "a value with its name": ("3", "x=3"),
    "a function by its value": ("f(x)=2x+1", "1+2x"),
    "an equation times a constant": ("y=2x+1", "2y-4x-2=0"),
    "an inequality turned round": ("2x+3y<6", "-2x-3y>-6"),
    "a matrix": (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{bmatrix}1&2\\3&\frac{8}{2}\end{bmatrix}"),
    "a proper thousands group": ("1234", "1,234"),
    "a unit left out": (r"5\text{ cm}", "5"),
    "dollars and a fraction": (r"\frac12", r"\$\frac12"),
    "degrees left out": (r"90^\circ", "90"),
    "a factor before bars": (r"2|x|", r"|2x|"),
    "words": (r"\text{even}", "Even"),
    "a box inside the block": ("42", r"\boxed{42}"),
}
UNEQUAL = {
    "a hedge": ("42", "41 or 42"),
    "a hedge in text": ("5", r"5 \text{ or maybe } 6"),
    "a hedge as a chain": ("42", "x=41=42"),
    "a list of guesses": ("2", "1,2,3"),
    "both signs for one": ("3", r"\pm 3"),
    "a subset": (r"\{1,2\}", "1"),
    "a superset": (r"\{1,2\}", r"\{1,2,3\}"),
    "tiny numbers that differ": ("1/2^99", "1/2^98"),
    "a tiny number and zero": ("0", "10^{-300}"),
    "a surd and a tiny bit": (r"\sqrt2", r"\sqrt2+2^{-99}"),
    "1-1/e and 1+1/e": ("1-1/e", "1+1/e"),
    "a rounded constant": (r"\pi", "3.14159"),
    "a rounded third": (r"\frac{1}{3}", "0.333333"),
    "a factor lost on the way": ("4", r"4\sqrt(2)"),
    "juxtaposed numbers": ("5", "2 3"),
    "a sum read into a product": ("5", "3(2)"),
    "a wrong thousands group": ("1234", "12,34"),
    "a wrong order in a tuple": ("(1,2)", "(2,1)"),
    "a set for a tuple": ("(1,2)", r"\{1,2\}"),
    "a closed for a half-open interval": ("[1,2)", "[1,2]"),
    "a closed interval for a tuple": ("(1,2)", "[1,2]"),
    "an equation not yet solved": ("x=3", "2x=6"),
    "another unknown": ("x=3", "y=3"),
    "values swapped between names": ("x=1, y=2", "x=2, y=1"),
    "values without their names": ("x=1, y=2", "2, 1"),
    "an inequality times minus one": ("2x+3y<6", "-2x-3y<-6"),
    "x for its absolute value": ("|x|", "x"),
    "capital for small": ("x", "X"),
    "another subscript": ("x_1", "x_2"),
    "the conjugate": ("2+3i", "2-3i"),
    "a logarithm whose base is not said": ("2", r"\log 100"),
    "a constant in upright letters": ("10", r"10\mathrm{e}"),
    "an unknown in upright letters": ("3", r"3\mathrm{x}"),
    "digits hidden in a unit": ("10", r"10\text{777 cm}"),
    "a scale called a unit": ("10", r"10\text{ million}"),
    "a scale left out": (r"10\text{ million}", "10"),
    "percent called a unit": ("50", r"50\text{ percent}"),
    "another unit": (r"5\text{ cm}", r"5\text{ m}"),
    "what stands under the slash": (r"\frac{x}{2}", "1/2x"),
    "undefined twice": (r"\infty-\infty", r"\infty-\infty"),
    "a huge exponent": ("5", "1e999999999"),
    "a superscript digit": ("42", "4²"),
    "mathematical digits": ("42", "𝟜𝟚"),
}


@pytest.mark.parametrize(("expected", "answer"), EQUAL.values(), ids=EQUAL)
def test_pays_for_the_same_in_another_form(expected, answer):
    assert reward(expected, answer) == 1.0


@pytest.mark.parametrize(("expected", "answer"), UNEQUAL.values(), ids=UNEQUAL)
def test_pays_nothing_for(expected, answer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert reward(expected, answer) == 0.0


@pytest.mark.parametrize("text", [r"\frac{", "hello world", "open('x')", ")("])
def test_two_unread_texts_are_not_equal_and_the_data_set_is_blamed(text):
    with pytest.warns(UserWarning, match="cannot be read as mathematics"):
        assert verify_math(f"<answer>{text}</answer>", text).reason == "bad_expected"


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        (None, "not_text"),
        ("42", "no_answer"),
        ("<answer>42</answer> or <answer>41</answer>", "two_answers"),
        ("<answer>42</answer> perhaps", "trailing_text"),
        ("<answer>" + "1" * 1_000_000 + "</answer>", "too_long"),
        ("<answer>" + "(" * 100 + "1" + ")" * 100 + "</answer>", "too_long"),
        ("<answer>9^9^9^9</answer>", "too_long"),
        ("<answer>\ud800</answer>", "unreadable"),
        ("<answer>42 apples and pears</answer>", "unreadable"),
        ("<answer>41</answer>", "wrong"),
        ("<answer>42</answer><|im_end|>", "correct"),
    ],
)
def test_reason(completion, reason):
    assert verify_math(completion, "42").reason == reason


def test_another_extractor_is_used():
    assert verify_math(r"so \boxed{\frac{1}{2}}", "0.5", extract=extract_boxed).reward == 1.0


HANG = r"((x^2+x+1)^{2000}+1)^{2000}"


def test_a_hang_costs_its_limit_and_the_next_verdict_is_right():
    reward("x", "x")  # started
    start = time.perf_counter()
    assert verify_math(f"<answer>{HANG}</answer>", "x", timeout_s=0.3).reason == "timeout"
    assert time.perf_counter() - start < 10.0
    assert reward("x+1", "1+x") == 1.0


@pytest.mark.parametrize("answer", ["open('probe','w').write('x')*42", "__import__('os').getpid()*0+42"])
def test_text_that_would_run_is_neither_run_nor_paid(answer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert reward("42", answer) == 0.0
    assert list(tmp_path.iterdir()) == []
    assert reward("42", "42") == 1.0


def test_sympy_can_evaluate_no_text_in_the_worker():
    code = (
        "import grpo_lessons.verifiers.math_worker as w, sympy, sys\n"
        "sys.stdin = iter([])\n"
        "w.main()\n"
        "for run in (lambda: sympy.sympify('1+1'), lambda: open('probe', 'w'), lambda: __import__('os').system('true')):\n"
        "    try: run()\n"
        "    except (w.Unreadable, PermissionError, sympy.SympifyError): pass\n"
        "    else: raise SystemExit('it ran')\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).returncode == 0


def test_worker_imports_neither_torch_nor_transformers():
    code = "import grpo_lessons.verifiers.math_worker, sys; print({'torch', 'transformers'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_eight_threads_get_the_verdicts_of_their_own_questions():
    questions = [(str(n), str(n + n % 3)) for n in range(120)]
    with ThreadPoolExecutor(8) as threads:
        rewards = list(threads.map(lambda question: reward(*question), questions))
    assert rewards == [float(n % 3 == 0) for n in range(120)]


def test_a_killed_worker_is_replaced_in_the_middle_of_eight_threads():
    def kill():
        for worker in list(math_module._pool()._workers):
            os.kill(worker._process.pid, signal.SIGKILL)

    reward("1", "1")
    with ThreadPoolExecutor(8) as threads:
        futures = [threads.submit(reward, str(n), f"{n}.0") for n in range(60)]
        timer = threading.Timer(0.01, kill)
        timer.start()
        kill()
        assert [future.result() for future in futures] == [1.0] * 60
        timer.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_starts_workers_of_its_own():
    reward("1", "1")
    child = os.fork()
    if child == 0:
        os._exit(0 if reward("2", "2.0") == 1.0 and reward("2", "3") == 0.0 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert reward("3", "3.0") == 1.0


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_not_run_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "print('run')\nfrom grpo_lessons.verifiers import verify_math\nprint(verify_math('<answer>1</answer>', '1').reward)"
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path)
    assert run.stdout.split() == ["run", "1.0"]


@pytest.mark.slow
def test_a_file_named_like_a_library_beside_the_user_is_not_imported(tmp_path):
    (tmp_path / "sympy.py").write_text("raise SystemExit('shadowed')")
    code = "import sys; sys.path.remove(''); from grpo_lessons.verifiers import verify_math as v; print(v('<answer>1</answer>', '1').reward)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert run.stdout == "1.0\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_hanging_worker_ends_with_its_parent():
    code = (
        "import threading, time\n"
        "from grpo_lessons.verifiers import math, verify_math\n"
        "verify_math('<answer>1</answer>', '1')\n"
        f"threading.Thread(target=verify_math, args=('<answer>{HANG}</answer>', 'x'), daemon=True).start()\n"
        "time.sleep(0.3)\n"
        "print([w._process.pid for w in math._pool()._workers][0], flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 6
    while os.path.exists(f"/proc/{worker}") and Path(f"/proc/{worker}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the address space")
def test_worker_has_a_memory_limit():
    reward("1", "1")
    (worker, *_) = math_module._pool()._workers
    limits = Path(f"/proc/{worker._process.pid}/limits").read_text()
    assert "Max address space         1073741824" in limits


def test_no_random_text_raises():
    generator = random.Random(0)
    pieces = [
        r"\frac",
        r"\sqrt",
        "{",
        "}",
        "(",
        ")",
        "x",
        "1",
        "^",
        "_",
        ",",
        "=",
        "<",
        r"\pm",
        "|",
        "&",
        r"\cup",
        "'",
        "é",
    ]
    for _ in range(300):
        answer = "".join(generator.choices(pieces, k=generator.randint(1, 12)))
        assert reward("42", answer) == 0.0
