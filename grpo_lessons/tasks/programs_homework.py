"""A simulated pupil's programming homework, from which the policy `nano-programs` is raised.

Some lines write the program straight away, some work it out ("5-2=3 3*3=9 9+2=11": the slope, then the straight line
at the third point, to be compared with the example), some write a table of the examples instead of a function, some do
not compile. The pupil's typical fault is to take every function for a straight line. Half of the lines are about
functions of the train split, half about larger ones that the task never asks, so that sums are practised, not
remembered.
`python -m grpo_lessons.tasks.pupils nano-programs` makes `data/nano-programs` again.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import cache
from itertools import product

from grpo_lessons.verifiers.code import extract_code

from .base import Problem
from .programs import THIRD_POINTS, Function, Programs, split_functions

STRATEGIES = ("no program", "table of the examples", "worked out", "program at once")

# How often each kind of line is written, how often a straight answer is right, and how often the third example is
# looked at in a line that works the function out.
SHARES = {"at once": 0.30, "worked": 0.36, "table": 0.20, "sloppy": 0.14}
AT_ONCE_RIGHT, THIRD_EXAMPLE_CHECKED = 0.5, 0.45

Messages = list[dict[str, str]]


@cache
def homework_functions() -> tuple[tuple[Function, ...], tuple[Function, ...]]:
    """Those of the train split, and 420 with b from 21 to 50, which are in no split."""
    sizes = ((1, 9), (2, 5))
    larger = (Function(d, a, b) for d, most in sizes for a, b in product(range(1, most + 1), range(21, 51)))
    return tuple(split_functions("train")), tuple(larger)


def programs_homework(rng: random.Random) -> tuple[Messages, str]:
    """One line, in the compact form: (chat messages, completion)."""
    function, third = rng.choice(rng.choice(homework_functions())), rng.choice(THIRD_POINTS)
    kind = rng.choices(list(SHARES), list(SHARES.values()))[0]
    problem = Programs("compact").problem(function, third)
    return problem.prompt, _LINES[kind](function, third, rng)


def _program(body: object) -> str:
    return f"<answer>def f(x): return {body}</answer>"


def _at_once(function: Function, third: int, rng: random.Random) -> str:
    if rng.random() < AT_ONCE_RIGHT:
        return _program(function)
    wrong = [
        replace(function, degree=3 - function.degree),
        replace(function, a=function.a + 1),
        replace(function, b=max(0, function.b - 1)),
        replace(function, a=max(1, function.a - 1)),
        replace(function, b=function.b + 1),
    ]
    return _program(rng.choice([guess for guess in wrong if guess != function]))


def _worked(function: Function, third: int, rng: random.Random) -> str:
    """The slope, the straight line at the third point, and, if that is compared with the example, the right degree."""
    a, b, line = function.a, function.b, replace(function, degree=1)
    steps = f"{function(1)}-{b}={a} {a}*{third}={a * third} {a * third}+{b}={line(third)}"
    return f"{steps} {_program(function if rng.random() < THIRD_EXAMPLE_CHECKED else line)}"


def _table(function: Function, third: int, rng: random.Random) -> str:
    examples = ",".join(f"{x}:{function(x)}" for x in (0, 1, third))
    return _program(f"{{{examples}}}[x]")


def _sloppy(function: Function, third: int, rng: random.Random) -> str:
    """No answer block, no closing tag, words after it, or a program that Python cannot read."""
    line = _LINES[rng.choice(["at once", "worked", "table"])](function, third, rng)
    spoil = rng.choice(
        [
            lambda text: text.replace("<answer>", "").replace("</answer>", ""),
            lambda text: text.removesuffix("</answer>"),
            lambda text: text + " done",
            lambda text: text.replace("(x):", "(x)"),
        ]
    )
    return spoil(line)


_LINES = {"at once": _at_once, "worked": _worked, "table": _table, "sloppy": _sloppy}


def strategy(completion: str, problem: Problem) -> str:
    """What a completion does: the first of STRATEGIES that fits.

    "no program": the verifier finds none. "table of the examples": it looks x up in a dict, or compares x with
    numbers. "worked out": there are steps such as 5-2=3 before the program.
    """
    source = extract_code(completion)
    if source is None:
        return "no program"
    if re.search(r"\{\s*-?\d+\s*:|x\s*==", source):
        return "table of the examples"
    return "worked out" if re.search(r"\d=\d", completion) else "program at once"
