"""A model's Python program against tests, run where it can do no harm and believed in nothing but values.

Differs from `exec` in a subprocess with the tests appended, the common way: the process that runs the program
gets the calls only. Expected values and comparisons stay here, so a program that prints "passed", calls
`os._exit(0)`, returns an object equal to everything or searches its memory for the answers earns nothing.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .answers import read_answer
from .base import Verdict
from .code_answer import extract_code
from .code_judge import judge_calls, judge_compiled, judge_script
from .code_tests import Call, Script, read_tests
from .unfenced import run_unfenced
from .workers import WorkerPool, cpu_count, system_environment

MAX_CHARS = 50_000  # of a program
MEMORY_MB = 512  # address space of a program, its Python included
GRACE_S = 20.0  # for the supervisor, over the program's own limit
REWARDS = ("all", "share", "compiles")
SANDBOX = Path(__file__).parent / "sandbox"


def verify_code(
    completion: str,
    tests: Any,
    *,
    reward: str = "all",
    timeout_s: float = 2.0,
    function: str | None = None,
    extract: Callable[[str], str | None] = extract_code,
    allow_unsafe: bool = False,
) -> Verdict:
    """Run the program of a completion in a process of its own and judge what its calls return.

    tests: a list of assertions ("assert f(3) == 7"), of {"call": "f(3)", "expect": 7, "abs_tol": 1e-6},
      of {"stdin": ..., "stdout": ...} or, with function="f", of (arguments, expected) pairs. See `code_tests.FORMS`.
    reward: "all" pays 1 if every test passes, "share" the share that passes, "compiles" 1 if the program compiles
      (nothing is run then, and the tests may be empty).
    timeout_s: wall clock for the definition and all calls together, and for each stdin test.
    The verdict's answer is the program's text; its reason is that of the first test that failed.

    The program runs with Python's standard library, no environment, an empty directory in memory of 16 MB, 512 MB
    of address space, 32 open files, no second process, no thread, no signal to another process, no socket, output
    up to 1 MB. On Linux a system call filter and namespaces see to that; where the system refuses namespaces (a
    warning says so once) the program has no file system at all and few modules.
    Not protected against: faults in the kernel or in CPython that break out of these walls; a program that
    recognises the calls and answers them from a table, which hidden tests alone prevent; and time, memory and CPU
    up to the limits, which every program may use. What only one call sees may differ from run to run: clocks and
    random numbers are the program's own.
    Raises ValueError for tests that cannot be split into call and value, or an unknown reward; RuntimeError on
    systems that can neither filter nor isolate (macOS, Windows) unless allow_unsafe, which there means: trust the
    program as you trust your own.
    """
    parts = _checked_tests(tests, reward, function)
    source, reason = read_answer(completion, extract)
    if source is None:
        return Verdict(0.0, reason)
    if len(source) > MAX_CHARS:
        return Verdict(0.0, "too_long")
    return _grade(source, parts, reward, timeout_s, allow_unsafe)


def verify_code_batch(
    completions: Sequence[str], tests: Any, *, function: str | Sequence[str] | None = None, **options: Any
) -> list[Verdict]:
    """`verify_code` for many completions, as many at a time as there are processors; verdicts in their order.

    tests: one list of tests per completion, or one list of assertions or dicts for all of them. function: one name,
    or one per completion. options: as in `verify_code`. Raises ValueError if there are not as many lists as
    completions.
    """
    shared = isinstance(tests, (str, dict)) or all(isinstance(test, (str, dict)) for test in tests)
    rows = [tests] * len(completions) if shared and completions else list(tests)
    names = [function] * len(completions) if function is None or isinstance(function, str) else list(function)
    if not len(rows) == len(names) == len(completions):
        raise ValueError(
            f"{len(completions)} completions, {len(rows)} lists of tests and {len(names)} function names; "
            "give one of each per completion, or one list of assertions or dicts for all"
        )

    def grade(completion: str, row: Any, name: str | None) -> Verdict:
        return verify_code(completion, row, function=name, **options)

    with ThreadPoolExecutor(cpu_count()) as threads:
        return list(threads.map(grade, completions, rows, names))


def _checked_tests(tests: Any, reward: str, function: str | None) -> list[Call | Script]:
    if reward not in REWARDS:
        raise ValueError(f"reward is {reward!r}; known are {', '.join(REWARDS)}")
    parts = read_tests(tests, function)
    if not parts and reward != "compiles":
        raise ValueError("there is no test; an empty list would pay every program")
    return parts


def _grade(source: str, parts: list[Call | Script], reward: str, timeout_s: float, allow_unsafe: bool) -> Verdict:
    run = functools.partial(_run, source=source, timeout_s=timeout_s, ask=_asker(allow_unsafe))
    if reward == "compiles":
        outcomes = [judge_compiled(run(compile_only=True))]
    else:
        calls = [part for part in parts if isinstance(part, Call)]
        scripts = [part for part in parts if isinstance(part, Script)]
        outcomes = judge_calls(calls, run(calls=calls)) if calls else []
        for script in scripts:
            if reward == "all" and not all(outcome == "correct" for outcome in outcomes):
                break
            outcomes.append(judge_script(script, run(stdin=script.stdin)))
    passed = sum(outcome == "correct" for outcome in outcomes)
    share = passed / len(outcomes)
    reason = next((outcome for outcome in outcomes if outcome != "correct"), "correct")
    return Verdict(share if reward == "share" else float(reason == "correct"), reason, source)


def _run(
    *,
    source: str,
    timeout_s: float,
    ask: Callable[[dict, float], dict | None],
    calls: Sequence[Call] = (),
    stdin: str | None = None,
    compile_only: bool = False,
) -> dict[str, Any]:
    """What the program wrote ("output"), and how it ended ("ended", "status")."""
    request = {
        "source": source,
        "calls": [call.expression for call in calls],
        "setup": "\n".join(dict.fromkeys(call.setup for call in calls if call.setup)),
        "stdin": stdin,
        "compile_only": compile_only,
        "timeout_s": timeout_s,
        "memory_mb": MEMORY_MB,
    }
    return ask(request, timeout_s + GRACE_S) or {"output": "", "ended": "timeout", "status": -9}


REFUSED = (
    "this system offers neither namespaces nor a system call filter, so a program could read and write your files "
    "and use the network; run on Linux (or WSL 2), or pass allow_unsafe=True"
)


def _asker(allow_unsafe: bool) -> Callable[[dict, float], dict | None]:
    if hasattr(os, "fork"):
        return _pool(allow_unsafe).ask
    if not allow_unsafe:
        raise RuntimeError(REFUSED)
    return run_unfenced


@functools.cache
def _pool(allow_unsafe: bool) -> WorkerPool:
    command = [sys.executable, "-S", "-s", "-P", "-B", str(SANDBOX)]
    environment = system_environment(PYTHONHASHSEED="0", LC_ALL="C.UTF-8")
    return WorkerPool(command, environment, cpu_count(), functools.partial(_check_isolation, allow_unsafe=allow_unsafe))


def _check_isolation(hello: dict[str, Any], *, allow_unsafe: bool) -> None:
    if not hello["namespaces"] and not hello["filter"]:
        if not allow_unsafe:
            raise RuntimeError(REFUSED)
    elif not hello["namespaces"]:
        warnings.warn(
            "this system refuses namespaces (run as root with CAP_SYS_ADMIN, or allow user namespaces): programs are "
            "filtered instead, have no file system, and find only the modules that are loaded beforehand",
            stacklevel=2,
        )
