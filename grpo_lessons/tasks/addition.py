"""Addition: the task of the course, small enough for a laptop and rich enough to go wrong."""

from __future__ import annotations

import random
from functools import cache
from itertools import combinations_with_replacement

from grpo_lessons.verifiers import Verdict, verify_integer

from .base import SPLITS, Problem

SPLIT_SEED = 2024
DEV_SHARE, HELD_OUT_SHARE = 0.1, 0.2


def split_pairs(split: str, digits: int = 2) -> list[tuple[int, int]]:
    """The unordered pairs (a <= b) of a split: 70 % train, 10 % dev, 20 % held out, fixed for ever.

    Splitting on the unordered pair keeps 27+48 and 48+27 on the same side.
    """
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; splits: {', '.join(SPLITS)}")
    pairs = list(combinations_with_replacement(range(10 ** (digits - 1), 10**digits), 2))
    random.Random(SPLIT_SEED).shuffle(pairs)
    dev, held_out = int(len(pairs) * DEV_SHARE), int(len(pairs) * HELD_OUT_SHARE)
    return {
        "dev": pairs[:dev],
        "held_out": pairs[dev : dev + held_out],
        "train": pairs[dev + held_out :],
    }[split]


@cache
def ordered_pairs(split: str, digits: int = 2) -> tuple[tuple[int, int], ...]:
    """Both orders of each pair of a split, sorted: (27, 48) and (48, 27)."""
    return tuple(sorted({order for a, b in split_pairs(split, digits) for order in ((a, b), (b, a))}))


class Addition:
    """a+b with two numbers of as many digits; the answer is an integer in an `<answer>` block.

    digits: 2 is the task of the course; the nano policy has never seen 3 and meets them only to test transfer.
    Raises ValueError unless digits is 1, 2 or 3.
    """

    max_new_tokens = 40

    def __init__(self, digits: int = 2):
        if digits not in (1, 2, 3):
            raise ValueError(f"digits is {digits}; addition has numbers of 1, 2 or 3 digits")
        self.digits = digits
        self.name = "addition" if digits == 2 else f"addition of {digits} digits"

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n different sums of a split in random order; ValueError beyond the pool."""
        pool = ordered_pairs(split, self.digits)
        if not 0 <= n <= len(pool):
            raise ValueError(f"{n} problems asked of {split!r}, which has {len(pool)}; ask for 0 to {len(pool)}")
        return [self.problem(a, b) for a, b in random.Random(f"{split}-{seed}").sample(pool, n)]

    @staticmethod
    def problem(a: int, b: int) -> Problem:
        """The problem a+b."""
        return Problem([{"role": "user", "content": f"{a}+{b}="}], a + b, {"a": a, "b": b})

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """Strict: one block, an integer, nothing after it."""
        return verify_integer(completion, problem.answer)

    def strategy(self, completion: str, problem: Problem) -> str:
        """What the completion does: guess, write the sum out, hedge, ... (see `grpo_lessons.homework`)."""
        from grpo_lessons.homework import strategy  # here, because the homework is drawn from this task

        return strategy(completion, problem)
