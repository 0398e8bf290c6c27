"""Symbolic answers: is the answer of a completion the expected one, as mathematics?

Differs from math-verify: only the answer block is looked at; text is never evaluated; the reading is ours (see
`math_reader` for the grammar and why) and strict, so that a hedge, a subset or an unread answer earns nothing;
equality is exact or relative, never absolute; and all of it happens in a process that can be killed.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from .answers import extract_answer, read_answer
from .base import Verdict
from .workers import WorkerPool, cpu_count, system_environment

MAX_CHARS = 1000  # of an answer


def verify_math(
    completion: str,
    expected_latex: str,
    *,
    timeout_s: float = 2.0,
    extract: Callable[[str], str | None] = extract_answer,
) -> Verdict:
    r"""Compare the answer of a completion with the expected one, both LaTeX or plain notation.

    Understood: numbers (exact), expressions with letters, lists and sets (all of the elements, in any order), tuples,
    intervals and unions, equations and inequalities, matrices, and `\text{...}` (compared as words). `x = 3` is as good
    as `3`, either way round; an equation is the same up to a constant factor; `(1, 2)` is the interval where one is
    expected, and `1 < x < 2` is too. A unit in `\text{...}` may be left out, but not be another one.
    timeout_s: wall clock for this verdict, after which its process is killed and the reason is "timeout".
    An expected answer that cannot be read gives "bad_expected", reward 0, and a warning.
    """
    answer, reason = read_answer(completion, extract)
    if answer is None:
        return Verdict(0.0, reason)
    if len(answer) > MAX_CHARS:
        return Verdict(0.0, "too_long")
    message = {"expected": str(expected_latex), "answer": answer, "limit_s": timeout_s}
    reply = _pool().ask(message, timeout_s) or {"reason": "timeout"}
    if reply["reason"] == "bad_expected":
        warnings.warn(f"the expected answer {expected_latex!r:.200} cannot be read as mathematics", stacklevel=2)
    return Verdict(float(reply["reason"] == "correct"), reply["reason"], answer)


@functools.cache
def _pool() -> WorkerPool:
    path = [str(Path(__file__).resolve().parents[2]), *filter(None, sys.path)]
    environment = system_environment(PYTHONPATH=os.pathsep.join(path))
    return WorkerPool([sys.executable, "-P", "-m", f"{__package__}.math_worker"], environment, min(cpu_count(), 4))
