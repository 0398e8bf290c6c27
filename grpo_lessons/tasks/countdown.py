"""Countdown: reach a target with given numbers and + - * / (the task of TinyZero, 2025).

Differs from TinyZero's data in that every problem is solvable, all by an exact solver, and that problems are split
on the multiset of numbers, so that no reordering of a training problem is ever held out.
"""

from __future__ import annotations

import random
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement

from grpo_lessons.verifiers import Verdict
from grpo_lessons.verifiers.countdown import verify_countdown

from .base import SPLITS, Problem

SPLIT_SEED = 2024
DEV_SHARE, HELD_OUT_SHARE = 0.1, 0.2
TARGETS = range(10, 101)

FORMS = {
    "en": "Use every one of the numbers {numbers} exactly once, with + - * / and brackets, to get {target}. "
    "Think, then write the expression between <answer> and </answer>.",
    "compact": "{numbers}={target}?",
}


class Countdown:
    """An expression over `count` numbers from 1 to `largest` that equals a target from 10 to 100.

    count: 2 to 5 numbers. largest: at least 5. form: "en", or "compact" ("3 5 2=16?") for policies of nano's size.
    Raises ValueError otherwise.
    """

    name = "countdown"

    def __init__(self, count: int = 3, largest: int = 20, form: str = "en"):
        if not 2 <= count <= 5 or largest < 5:
            raise ValueError(f"count={count}, largest={largest}; expected 2 to 5 numbers up to at least 5")
        if form not in FORMS:
            raise ValueError(f"unknown form {form!r}; forms: {', '.join(FORMS)}")
        self.count, self.largest, self.form = count, largest, form
        self.max_new_tokens = 200 if form == "en" else 10 + 8 * count

    def pool(self, split: str) -> list[tuple[int, ...]]:
        """The sorted multisets of numbers of a split: 70 % train, 10 % dev, 20 % held out, fixed for ever."""
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r}; splits: {', '.join(SPLITS)}")
        pool = list(combinations_with_replacement(range(1, self.largest + 1), self.count))
        random.Random(SPLIT_SEED).shuffle(pool)
        dev, held_out = int(len(pool) * DEV_SHARE), int(len(pool) * HELD_OUT_SHARE)
        return {"dev": pool[:dev], "held_out": pool[dev : dev + held_out], "train": pool[dev + held_out :]}[split]

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n problems with different multisets of numbers; ValueError beyond the pool."""
        pool = self.pool(split)
        if not 0 <= n <= len(pool):
            raise ValueError(f"{n} problems asked of {split!r}, which has {len(pool)}; ask for 0 to {len(pool)}")
        rng = random.Random(f"{split}-{seed}")
        problems: list[Problem] = []
        for numbers in rng.sample(pool, len(pool)):
            if len(problems) == n:
                return problems
            targets = [t for t in TARGETS if t in reachable(numbers)]
            if targets:  # a few multisets, such as 1 1 1, reach no target
                problems.append(self.problem(rng.sample(numbers, len(numbers)), rng.choice(targets)))
        if len(problems) == n:
            return problems
        raise ValueError(f"{n} problems asked of {split!r}, of which {len(problems)} reach a target in {TARGETS}")

    def problem(self, numbers: list[int], target: int) -> Problem:
        """The problem of these numbers; its answer is one solution. ValueError if there is none."""
        solution = solve(numbers, target)
        if solution is None:
            raise ValueError(f"{target} cannot be made from {list(numbers)}; give a target in reachable(numbers)")
        separator = ", " if self.form == "en" else " "
        text = FORMS[self.form].format(numbers=separator.join(map(str, numbers)), target=target)
        data = {"numbers": list(numbers), "target": target}
        return Problem([{"role": "user", "content": text}], solution, data)

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """Any expression with the right value that uses each number exactly once."""
        return verify_countdown(completion, problem.data["numbers"], problem.data["target"], use_all=True)


def solve(numbers: list[int] | tuple[int, ...], target: int) -> str | None:
    """An expression that uses every number once and equals target, or None if there is none. Exact."""
    return reachable(tuple(sorted(numbers))).get(Fraction(target))


@lru_cache(maxsize=1000)
def reachable(numbers: tuple[int, ...]) -> dict[Fraction, str]:
    """Every value that an expression over all of the sorted numbers can have, with one such expression."""
    if len(numbers) == 1:
        return {Fraction(numbers[0]): str(numbers[0])}
    values: dict[Fraction, str] = {}
    for left, right in two_parts(numbers):
        for a, text_a in reachable(left).items():
            for b, text_b in reachable(right).items():
                for value, text in combined(a, text_a, b, text_b):
                    values.setdefault(value, text)
    return values


def two_parts(numbers: tuple[int, ...]) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every way to deal sorted numbers into two non-empty sorted parts."""
    parts = set()
    for size in range(1, len(numbers)):
        for chosen in combinations(range(len(numbers)), size):
            left = tuple(numbers[i] for i in chosen)
            parts.add((left, tuple(n for i, n in enumerate(numbers) if i not in chosen)))
    return parts


def combined(a: Fraction, text_a: str, b: Fraction, text_b: str):
    """(value, expression) of a+b, a-b, a*b and a/b."""
    a_inside, b_inside = (text if text.isdigit() else f"({text})" for text in (text_a, text_b))
    yield a + b, f"{text_a}+{text_b}"
    yield a - b, f"{text_a}-{b_inside}"
    yield a * b, f"{a_inside}*{b_inside}"
    if b:
        yield a / b, f"{a_inside}/{b_inside}"


def random_expression(numbers: list[int] | tuple[int, ...], rng: random.Random) -> str:
    """An expression that uses every number once, put together by chance: how somebody guesses who knows the form only.

    The numbers are shuffled, cut in two at a random place until single ones are left, and joined by random operators.
    """
    if len(numbers) == 1:
        return str(numbers[0])
    mixed = rng.sample(list(numbers), len(numbers))
    cut = rng.randrange(1, len(mixed))
    parts = (random_expression(part, rng) for part in (mixed[:cut], mixed[cut:]))
    left, right = (text if text.isdigit() else f"({text})" for text in parts)
    return f"{left}{rng.choice('+-*/')}{right}"
