"""Programs from examples: "f(0)=2, f(1)=5, f(3)=11: write f", graded by running f on points that were not shown.

The functions are a*x+b and a*x*x+b; splits share no function. Differs from code benchmarks in its size, which lets
a nano policy learn it; what it has in common with them is that the tests decide what is learned. A program that
only knows the examples passes a suite made of the examples (`visible_suite_reward`) and fails the hidden one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from grpo_lessons.verifiers import Verdict
from grpo_lessons.verifiers.code import extract_code, verify_code_batch

from .base import SPLITS, Problem

SPLIT_SEED = 2024
DEV_SHARE, HELD_OUT_SHARE = 0.1, 0.2
THIRD_POINTS = (2, 3, 4, 5)  # f is shown at 0, 1 and one of these
HIDDEN_POINTS = (-7, -2, 6, 8, 11, 20)

Pairs = list[tuple[int, int]]

PROMPT = (
    "A function f of one integer gives {examples}. Write it in Python, as the whole program `def f(x): ...`, "
    "between <answer> and </answer>. It will be run on other integers too."
)


@dataclass(frozen=True)
class Function:
    """a*x+b (degree 1) or a*x*x+b (degree 2)."""

    degree: int
    a: int
    b: int

    def __call__(self, x: int) -> int:
        return self.a * x**self.degree + self.b

    def __str__(self) -> str:
        power = "*".join(["x"] * self.degree)
        return (f"{self.a}*" if self.a != 1 else "") + power + (f"{self.b:+d}" if self.b else "")


def all_functions() -> list[Function]:
    """The 294 functions: degree 1 with a from 1 to 9, degree 2 with a from 1 to 5, b from 0 to 20."""
    sizes = ((1, 9), (2, 5))
    return [Function(d, a, b) for d, most in sizes for a, b in product(range(1, most + 1), range(21))]


def split_functions(split: str) -> list[Function]:
    """The functions of a split: 70 % train, 10 % dev, 20 % held out, fixed for ever."""
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; splits: {', '.join(SPLITS)}")
    pool = all_functions()
    random.Random(SPLIT_SEED).shuffle(pool)
    dev, held_out = int(len(pool) * DEV_SHARE), int(len(pool) * HELD_OUT_SHARE)
    return {"dev": pool[:dev], "held_out": pool[dev : dev + held_out], "train": pool[dev + held_out :]}[split]


class Programs:
    """form: "en", or "compact" for the nano policies. The answer is the text of a right program."""

    name = "programs"

    def __init__(self, form: str = "en"):
        if form not in ("en", "compact"):
            raise ValueError(f"unknown form {form!r}; forms: en, compact")
        self.form = form
        self.max_new_tokens = 80 if form == "compact" else 400

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n different pairs of a function of the split and three examples; ValueError beyond the pool."""
        pool = list(product(split_functions(split), THIRD_POINTS))
        if not 0 <= n <= len(pool):
            raise ValueError(f"{n} problems asked of {split!r}, which has {len(pool)}; ask for 0 to {len(pool)}")
        chosen = random.Random(f"{split}-{seed}").sample(pool, n)
        return [self.problem(function, third) for function, third in chosen]

    def problem(self, function: Function, third: int) -> Problem:
        """The problem that shows a function at 0, 1 and a third point."""
        visible = [(x, function(x)) for x in (0, 1, third)]
        hidden = [(x, function(x)) for x in HIDDEN_POINTS]
        return Problem(
            [{"role": "user", "content": self._told(visible)}],
            f"def f(x): return {function}",
            {"visible": visible, "hidden": hidden, "degree": function.degree},
        )

    def _told(self, visible: Pairs) -> str:
        examples = [f"f({x})={y}" for x, y in visible]
        return " ".join(examples) if self.form == "compact" else PROMPT.format(examples=", ".join(examples))

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """Reward 1 if f is right at the examples and at the hidden points."""
        return self.verify_batch([completion], [problem])[0]

    def verify_batch(self, completions: Sequence[str], problems: Sequence[Problem]) -> list[Verdict]:
        """`verify` for many; as many programs at a time as there are processors, equal ones once."""
        return run_suites(completions, [p.data["visible"] + p.data["hidden"] for p in problems])

    def strategy(self, completion: str, problem: Problem) -> str:
        """What a completion does (see `programs_homework`)."""
        from .programs_homework import strategy  # here, because the homework is drawn from this task

        return strategy(completion, problem)


def run_suites(completions: Sequence[str], suites: Sequence[Pairs], **options) -> list[Verdict]:
    """Run each completion's f on its (argument, value) pairs. Equal programs with equal suites run once.

    options: of `verify_code`, such as reward="share".
    """
    keys = [
        (extract_code(completion) or completion, tuple(map(tuple, suite)))
        for completion, suite in zip(completions, suites, strict=True)
    ]
    first = {key: row for row, key in reversed(list(enumerate(keys)))}  # key -> its first row
    rows = list(first.values())
    programs, tests = [completions[row] for row in rows], [suites[row] for row in rows]
    of = dict(zip(first, verify_code_batch(programs, tests, function="f", **options), strict=True))
    return [of[key] for key in keys]


def visible_suite_reward(prompts, completions, visible, **_) -> list[float]:
    """The weak suite, as a reward function: pays for the examples in the prompt alone. A policy can write them down."""
    return [verdict.reward for verdict in run_suites(completions, visible)]


def share_reward(prompts, completions, visible, hidden, **_) -> list[float]:
    """Partial credit, as a reward function: the share of all tests that pass, shown and hidden."""
    suites = [[*shown, *rest] for shown, rest in zip(visible, hidden, strict=True)]
    return [verdict.reward for verdict in run_suites(completions, suites, reward="share")]
