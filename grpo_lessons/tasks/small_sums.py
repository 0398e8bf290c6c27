"""Sums of numbers from 1 to 20, asked in words: what a 135 M parameter language model half knows."""

from __future__ import annotations

import random
from itertools import combinations_with_replacement

from grpo_lessons.verifiers import Verdict, verify_integer

from .base import SPLITS, Problem

LARGEST = 20
SPLIT_SEED = 2024
# Worked examples that show the layout in the words that the model uses by itself ("7 + 7 = 14").
EXAMPLES = (("What is 3 + 14?", "3 + 14 = <answer>17</answer>"), ("What is 8 + 5?", "8 + 5 = <answer>13</answer>"))


class SmallSums:
    """What is a + b? The answer is an integer in an `<answer>` block. Splits share no unordered pair."""

    name = "small_sums"
    max_new_tokens = 16

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n different sums of a split in random order; ValueError beyond the pool."""
        pool = self.pool(split)
        if not 0 <= n <= len(pool):
            raise ValueError(f"{n} problems asked of {split!r}, which has {len(pool)}; ask for 0 to {len(pool)}")
        return [self.problem(a, b) for a, b in random.Random(f"{split}-{seed}").sample(pool, n)]

    @staticmethod
    def pool(split: str) -> list[tuple[int, int]]:
        """Both orders of each pair of a split: 70 % train, 10 % dev, 20 % held out; the examples' pairs are in none."""
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r}; splits: {', '.join(SPLITS)}")
        pairs = [p for p in combinations_with_replacement(range(1, LARGEST + 1), 2) if p not in ((3, 14), (5, 8))]
        random.Random(SPLIT_SEED).shuffle(pairs)
        dev, held_out = len(pairs) // 10, len(pairs) // 5
        chosen = {"dev": pairs[:dev], "held_out": pairs[dev : dev + held_out], "train": pairs[dev + held_out :]}[split]
        return sorted({order for a, b in chosen for order in ((a, b), (b, a))})

    @staticmethod
    def problem(a: int, b: int) -> Problem:
        """The problem a + b."""
        return Problem([{"role": "user", "content": f"What is {a} + {b}?"}], a + b, {"a": a, "b": b})

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """Strict: one block, an integer, nothing after it."""
        return verify_integer(completion, problem.answer)
