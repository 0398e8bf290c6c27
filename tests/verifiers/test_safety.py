"""No verifier raises, hangs, or runs anything, whatever the completion holds and wherever it is called."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_lessons import verifiers as v
from grpo_lessons.paths import data_dir
from grpo_lessons.verifiers.fuzz import SNIPPETS, fuzz, mutants
from grpo_lessons.verifiers.report import read_cases, run_case

PURE = {
    "verify_integer": {"expected": 42},
    "verify_number": {"expected": 42},
    "verify_text": {"expected": "dog"},
    "verify_choice": {"expected": "B"},
    "verify_countdown": {"numbers": [3, 5, 2], "target": 16},
    "verify_knights": {"roles": {"Zoey": "knight", "Oliver": "knave"}},
}
EXTRACTORS = (v.extract_answer, v.extract_last_answer, v.extract_boxed, v.answer_after_hashes, v.last_number)
CASES = [c for c in read_cases(data_dir() / "verifier_cases.jsonl") if c["verifier"] in PURE]
NOT_TEXT = (None, 42, 4.2, True, b"<answer>42</answer>", ["<answer>42</answer>"], {"a": 1}, object(), ())
BOMBS = {
    "a megabyte of letters": "x" * 1_000_000,
    "a megabyte in the block": "<answer>" + "1 " * 500_000 + "</answer>",
    "a 10 000-digit integer": "<answer>" + "9" * 10_000 + "</answer>",
    "opening tags": "<answer>" * 125_000,
    "closing tags": "</answer>" * 110_000,
    "both tags": "<answer></answer>" * 60_000,
    "padding and then a word": "<answer>42</answer>" + "<pad>" * 200_000 + "x",
    "white space": "<answer>" + " " * 1_000_000 + "</answer>",
    "white space after": "<answer>42</answer>" + " \n" * 500_000 + "x",
    "boxes": r"\boxed{" * 140_000,
    "braces": "{" * 500_000 + "}" * 500_000,
    "hashes": "#### " * 200_000,
    "thoughts": "<think></think>" * 66_000,
    "numbers": "1,2,3-4/5% " * 90_000,
    "brackets": "<answer>" + "(" * 290 + "</answer>",
    "nines": "<answer>9**9**9**9</answer>",
    "spaces inside": "<answer>1" + " " * 990 + "x</answer>",
    "a long word": "<answer>1 " + "a" * 990 + "!</answer>",
    "names": "<answer>knights: " + "Zoey, " * 320 + "</answer>",
    "ands": "<answer>Zoey" + " and" * 480 + "</answer>",
    "backticks": "<answer>" + "`" * 1990 + "</answer>",
    "stars": "<answer>" + "*" * 990 + "</answer>",
    "frac": "<answer>" + r"\frac{" * 160 + "</answer>",
    "text": "<answer>" + r"\text{" * 160 + "</answer>",
    "lone surrogates": "<answer>\ud800\udfff</answer>",
}


def cpu_seconds(call):
    started = time.thread_time()
    call()
    return time.thread_time() - started


@pytest.mark.parametrize("name", PURE)
@pytest.mark.parametrize("completion", NOT_TEXT, ids=lambda value: type(value).__name__)
def test_what_is_not_text_gets_a_verdict(name, completion):
    for extract in (v.extract_answer, v.extract_last_answer):
        verdict = getattr(v, name)(completion, **PURE[name], extract=extract)
        assert (verdict.reward, verdict.reason) == (0.0, "not_text")
    assert not v.has_format(completion)
    assert [extract(completion) for extract in EXTRACTORS] == [None] * len(EXTRACTORS)


@pytest.mark.parametrize("bomb", BOMBS)
def test_no_completion_takes_long(bomb):
    """Linear scans need under 50 ms of processor time (benchmarks/fuzz_verifiers.py); a slow pattern needs minutes."""
    for extract in EXTRACTORS:
        for name, arguments in PURE.items():
            verify = getattr(v, name)
            run = lambda verify=verify, a=arguments, e=extract: verify(BOMBS[bomb], **a, extract=e)  # noqa: E731
            assert min(cpu_seconds(run) for _ in range(2)) < 0.5, (name, extract)
    assert cpu_seconds(lambda: v.has_format(BOMBS[bomb])) < 0.5


text = st.one_of(st.text(), st.lists(st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=4))).map("".join))


@pytest.mark.parametrize("name", PURE)
@given(completion=st.one_of(text, text.map(lambda t: f"<answer>{t}</answer>")))
def test_any_text_gets_a_reward_of_zero_or_one_and_a_reason_from_the_table(name, completion):
    verdict = getattr(v, name)(completion, **PURE[name])
    assert verdict.reason in v.REASONS
    assert verdict.reward == float(verdict.reason == "correct")


@pytest.mark.parametrize("name", PURE)
def test_mutants_of_the_cases_raise_nothing_and_take_no_time(name):
    cases = [
        (c["completion"], _arguments(c)) for c in CASES if c["verifier"] == name if isinstance(c["completion"], str)
    ]
    report = fuzz(getattr(v, name), cases, n=1500, seed=0)
    assert report.exceptions == []
    assert report.slowest_s < 0.05, report.slowest[:200]


def test_the_fuzzer_finds_an_exception_and_a_slow_verdict():
    def broken(completion, expected):
        if "4" in completion:
            time.sleep(0)
            sum(range(300_000))
            int(completion)

    report = fuzz(broken, [("<answer>4</answer>", {"expected": 4})], n=50, seed=1)
    assert 10 < len(report.exceptions) <= 50
    assert report.slowest_s > 0.001


def test_the_same_seed_gives_the_same_mutants():
    cases = [("<answer>4</answer>", {}), ("abc", {})]
    assert list(mutants(cases, n=50, seed=3)) == list(mutants(cases, n=50, seed=3))
    assert list(mutants(cases, n=50, seed=3)) != list(mutants(cases, n=50, seed=4))


def test_eight_threads_give_the_verdicts_of_one():
    alone = [_run(case) for case in CASES]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(_run, CASES * 3)) == alone * 3


def test_text_of_a_model_is_never_run(tmp_path, monkeypatch):  # T19
    monkeypatch.chdir(tmp_path)
    for attack in ("open('probe','w').write('x')*42", "__import__('os').system('touch probe')*0+42", "exit()"):
        for wrapped in (f"<answer>{attack}</answer>", rf"\boxed{{{attack}}}", attack):
            for name, arguments in PURE.items():
                for extract in EXTRACTORS:
                    assert (
                        getattr(v, name)(wrapped, **arguments, extract=extract).reward == 0.0
                        or extract is v.last_number
                    )
    assert list(tmp_path.iterdir()) == []


def test_no_verifier_calls_eval_or_exec():
    code = (
        "import ast, pathlib, grpo_lessons.verifiers as v\n"
        "for path in pathlib.Path(v.__file__).parent.glob('*.py'):\n"
        "    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):\n"
        "        if isinstance(node, ast.Call) and getattr(node.func, 'id', '') in ('eval', 'exec', 'compile'):\n"
        "            print(path.name, node.lineno)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == ""


def test_import_loads_neither_torch_nor_transformers():
    heavy = "{'torch', 'transformers', 'numpy', 'sympy', 'pandas', 'matplotlib', 'rich', 'tqdm'}"
    code = f"import sys, grpo_lessons.verifiers; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_is_there():
    assert all(hasattr(v, name) for name in v.__all__)
    with pytest.raises(AttributeError, match="verify_magic"):
        v.verify_magic  # noqa: B018


def _arguments(case):
    arguments = dict(case["arguments"])
    if "extract" in arguments:
        arguments["extract"] = getattr(v, arguments["extract"])
    return arguments


def _run(case):
    return run_case(getattr(v, case["verifier"]), case)
