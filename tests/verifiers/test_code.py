"""verify_code: what pays, what the reasons say, and which tests are refused."""

# ruff: noqa: E501  (programs on one line each)
import ast
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from grpo_lessons.verifiers import code as code_module
from grpo_lessons.verifiers import code_tests, verify_code, verify_code_batch
from grpo_lessons.verifiers.code_answer import extract_code
from grpo_lessons.verifiers.code_tests import read_tests
from grpo_lessons.verifiers.unfenced import run_unfenced


def fence(program, mark="python"):
    return f"Here is the program.\n```{mark}\n{program}\n```\n"


def grade(program, *tests, **options):
    verdict = verify_code(fence(program), list(tests), **options)
    return verdict.reward, verdict.reason


DOUBLE = "def f(x):\n    return 2 * x"


@pytest.mark.parametrize(
    ("program", "test", "expected"),
    [
        (DOUBLE, "assert f(3) == 6", (1.0, "correct")),
        (DOUBLE, "assert f(3) == 7", (0.0, "wrong")),
        (DOUBLE, "assert 6 == f(3)", (1.0, "correct")),
        (DOUBLE, "assert f(0.1) == 0.2, 'message'", (1.0, "correct")),
        (DOUBLE, "assert f((1, 'a')) == (1, 'a', 1, 'a')", (1.0, "correct")),
        (DOUBLE, "assert set(f([1, 2])) == set([2, 1])", (1.0, "correct")),
        (DOUBLE, "assert f(3)", (1.0, "correct")),
        (DOUBLE, "assert not f(3)", (0.0, "wrong")),
        (DOUBLE, "assert abs(f(1) - 2.0000001) < 1e-6", (1.0, "correct")),
        (DOUBLE, "assert abs(f(1) - 2.1) < 1e-6", (0.0, "wrong")),
        (DOUBLE, "import math\nassert math.isclose(f(1), 2.001, rel_tol=0.01)", (1.0, "correct")),
        (DOUBLE, {"call": "f(3)", "expect": 6}, (1.0, "correct")),
        (DOUBLE, {"call": "f(3)", "expect": 6.01, "abs_tol": 0.1}, (1.0, "correct")),
        (
            "def f(x): return [x, (x, None)], {'k': {x}, 2: b'y'}",
            "assert f(1) == ([1, (1, None)], {'k': {1}, 2: b'y'})",
            (1.0, "correct"),
        ),
        (
            "from collections import Counter\ndef f(x): return Counter(x)",
            "assert f('aab') == {'a': 2, 'b': 1}",
            (1.0, "correct"),
        ),
        ("def f(x): return [x]", "assert f(1) == (1,)", (0.0, "wrong")),
        ("def f(x): return float('nan')", "assert f(1) == float('nan')", (0.0, "wrong")),
        ("def f(x): return iter([x])", "assert f(1) == [1]", (0.0, "error")),
        ("def f(x): return 10 ** 5000", "assert f(1) == 1", (0.0, "error")),
        ("def f(x): raise KeyError", "assert f(1) == 1", (0.0, "error")),
        ("def g(x): return x", "assert f(1) == 1", (0.0, "error")),
        ("1 / 0", "assert f(1) == 1", (0.0, "error")),
        ("def f(x) return x", "assert f(1) == 1", (0.0, "syntax_error")),
        ("import sys\nsys.exit(0)", "assert f(1) == 1", (0.0, "error")),
        ("print(2 * int(input()))", {"stdin": "21\n", "stdout": "42\n"}, (1.0, "correct")),
        ("print(2 * int(open(0).read()), ' ')", {"stdin": "21", "stdout": "42"}, (1.0, "correct")),
        ("print(43)", {"stdin": "21\n", "stdout": "42\n"}, (0.0, "wrong")),
        ("print(42)\nraise KeyError", {"stdin": "21\n", "stdout": "42\n"}, (0.0, "error")),
        ("if __name__ == '__main__':\n    print('ü')", {"stdin": "", "stdout": "ü"}, (1.0, "correct")),
    ],
)
def test_verdict(program, test, expected):
    assert grade(program, test) == expected


def test_share_pays_the_passed_tests_and_all_pays_only_all():
    tests = ["assert f(1) == 2", "assert f(2) == 5", "assert f(3) == 6", "assert f(4) == 9"]
    assert grade(DOUBLE, *tests, reward="share") == (0.5, "wrong")
    assert grade(DOUBLE, *tests) == (0.0, "wrong")


def test_compiles_pays_for_compilation_and_runs_nothing():
    assert grade("while True:\n    pass", reward="compiles") == (1.0, "correct")
    assert grade("while True\n    pass", reward="compiles") == (0.0, "syntax_error")


def test_calls_before_a_hang_count_and_the_hang_costs_its_limit():
    start = time.perf_counter()
    program = "def f(x):\n    while x: pass\n    return 0"
    assert grade(program, "assert f(0) == 0", "assert f(1) == 0", reward="share", timeout_s=0.3) == (0.5, "timeout")
    assert time.perf_counter() - start < 10.0


def test_pairs_with_a_function_name():
    assert grade(DOUBLE, ((3,), 6), (("ab",), "abab"), function="f") == (1.0, "correct")


def test_names_that_only_the_tests_import():
    assert grade(DOUBLE, "from math import sqrt\nassert sqrt(f(8)) == 4.0") == (1.0, "correct")


def test_dataclasses_and_forward_references_work():
    program = "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int'\ndef f(): return P(3).x"
    assert grade(program, "assert f() == 3") == (1.0, "correct")


def test_sets_come_in_the_same_order_every_time():
    program = "def f(): return list({'a', 'b', 'c', 'd', 'e'})"
    answers = set()
    for order in ("abcde", "abced"):
        answers.add(grade(program, f"assert f() == {list(order)!r}"))
    first = [grade(program, {"call": "''.join(f())", "expect": "abcde"}) for _ in range(3)]
    assert len(set(first)) == 1


@pytest.mark.parametrize(
    "test",
    [
        "assert f(3) == g(3)",
        "assert f(3) == x",
        "assert f(3) > 7",
        "assert 1 == 1",
        "assert f(3) == __import__('os').getpid()",
        "x = f(3)\nassert x == 7",
        "def check(f):\n    assert f(3) == 7",
        "f(3) == 7",
        "assert f(3) ==",
        {"call": "f(3)"},
        {"call": "f(3", "expect": 7},
        {"call": "f(3)", "expect": object()},
        ((3,), 7),
        7,
    ],
)
def test_a_test_that_cannot_be_split_is_refused(test):
    with pytest.raises(ValueError, match=r"test|assertion|literal|call"):
        grade(DOUBLE, test)


def test_no_tests_and_an_unknown_reward_are_refused():
    with pytest.raises(ValueError, match="no test"):
        grade(DOUBLE)
    with pytest.raises(ValueError, match="known are all, share, compiles"):
        grade(DOUBLE, "assert f(1) == 2", reward="some")


@pytest.mark.parametrize(
    ("completion", "program"),
    [
        ("<answer>x = 1</answer>", "x = 1"),
        ("<answer>\n```python\nx = 1\n```\n</answer>", "x = 1"),
        ("```py\nx = 1\n```", "x = 1"),
        ("```Python\r\nx = 1\r\n```\r\n", "x = 1\r"),
        ("<think>\n```python\ny = 2\n```\n</think>\n```python\nx = 1\n```", "x = 1"),
        ("```\nnot marked\n```\n```python\nx = 1\n```", "x = 1"),
        ("```python\nx = 1\n```\n```python\nx = 2\n```", None),
        ("```python\nx = 1", None),
        ("```python\nx = 1\n```\n<answer>x = 2", None),
        ("x = 1", None),
        (None, None),
        ("```a\n" * 200_000, None),
    ],
)
def test_where_the_program_is(completion, program):
    assert extract_code(completion) == program


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        (None, "not_text"),
        ("f", "no_answer"),
        (fence("#" * 60_000), "too_long"),
        (fence("x = '\ud800'"), "syntax_error"),
        (fence("\x00"), "syntax_error"),
    ],
)
def test_what_is_no_program(completion, reason):
    assert verify_code(completion, ["assert f(1) == 1"]).reason == reason


def test_batch_keeps_the_order_and_takes_tests_per_completion():
    programs = [fence(f"def f(): return {n}") for n in range(30)]
    tests = [[f"assert f() == {n - n % 2}"] for n in range(30)]
    assert [verdict.reward for verdict in verify_code_batch(programs, tests)] == [1.0, 0.0] * 15
    assert [verdict.reward for verdict in verify_code_batch(programs, ["assert f() == 7"])].index(1.0) == 7
    with pytest.raises(ValueError, match="30 completions, 29 lists"):
        verify_code_batch(programs, tests[1:])


def test_eight_threads_and_a_killed_worker():
    def kill():
        for worker in list(code_module._pool(False)._workers):
            os.kill(worker._process.pid, signal.SIGKILL)

    grade(DOUBLE, "assert f(1) == 2")
    with ThreadPoolExecutor(8) as threads:
        futures = [threads.submit(grade, DOUBLE, f"assert f({n}) == {2 * n}") for n in range(40)]
        timer = threading.Timer(0.03, kill)
        timer.start()
        kill()
        assert [future.result() for future in futures] == [(1.0, "correct")] * 40
        timer.join()


def test_no_program_is_seen_by_the_next():
    program = "import builtins, math\nbuiltins.len = lambda x: 3\nmath.pi = 3\nopen('left', 'w').close()\ndef f(x): return len(x)"
    assert grade(program, "assert f('a') == 3")[0] == 1.0
    after = "import math, os\ndef f(): return len('a'), math.pi > 3.1, os.listdir('.')"
    assert grade(after, "assert f() == (1, True, [])") == (1.0, "correct")


def test_where_nothing_can_be_limited_it_is_refused_unless_allowed(monkeypatch):
    with pytest.raises(RuntimeError, match="allow_unsafe=True"):
        code_module._check_isolation({"namespaces": False, "filter": False}, allow_unsafe=False)
    code_module._check_isolation({"namespaces": False, "filter": False}, allow_unsafe=True)
    monkeypatch.delattr(os, "fork")
    with pytest.raises(RuntimeError, match="allow_unsafe=True"):
        grade(DOUBLE, "assert f(1) == 2")


@pytest.mark.parametrize(
    ("program", "tests", "expected"),
    [
        (DOUBLE, ["assert f(1) == 2"], (1.0, "correct")),
        ("print(2 * int(input()))", [{"stdin": "21", "stdout": "42"}], (1.0, "correct")),
        ("import os\nos._exit(0)", ["assert f(1) == 2"], (0.0, "exited")),
    ],
)
def test_without_fork_a_process_per_program(monkeypatch, program, tests, expected):
    monkeypatch.setattr(code_module, "_asker", lambda allow_unsafe: run_unfenced)
    assert grade(program, *tests) == expected


@pytest.mark.parametrize("test", [((3,), 7), "assert f(3) == 7"])
def test_threads_parse_tests_one_at_a_time(monkeypatch, test):
    inside, most, parse = [], [], ast.parse

    def slow(*arguments, **options):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.005)
        inside.pop()
        return parse(*arguments, **options)

    monkeypatch.setattr(code_tests.ast, "parse", slow)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: read_tests([test], "f"), range(8)))
    assert len(most) == 8 and max(most) == 1
