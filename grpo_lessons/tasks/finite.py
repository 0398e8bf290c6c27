"""The shortest way to a task of your own: a finite list of items, and the three splits come by themselves."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from grpo_lessons.verifiers import Verdict

from .base import SPLITS, Problem


class FiniteTask:
    """A task made of items: give `name`, `max_new_tokens`, `items`, `problem` and `verify`.

        class Squares(FiniteTask):
            name, max_new_tokens = "squares", 16

            def items(self):
                return range(100)

            def problem(self, x):
                return Problem([{"role": "user", "content": f"{x}*{x}="}], x * x)

            def verify(self, completion, problem):
                return verify_integer(completion, problem.answer)

    `key` says what makes two items the same problem; override it where two items differ in looks only, as 27+48 and
    48+27 do. About 70 % of the keys are train, 10 % dev, 20 % held out. Each key is placed by a hash of its text, so
    that it stays on its side when items are added later.
    """

    name: str
    max_new_tokens: int

    def items(self) -> Iterable:
        """Everything that may be asked, each once, in a fixed order."""
        raise NotImplementedError

    def key(self, item: Any) -> Any:
        """What decides the split: a number, a text, or a tuple of those; by default the item itself."""
        return item

    def problem(self, item: Any) -> Problem:
        """The problem of an item."""
        raise NotImplementedError

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """The verdict on one completion; never raises, whatever the completion holds."""
        raise NotImplementedError

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n problems of different items in random order; ValueError beyond the pool."""
        pool = self.pool(split)
        if not 0 <= n <= len(pool):
            raise ValueError(f"{n} problems asked of {split!r}, which has {len(pool)}; ask for 0 to {len(pool)}")
        return [self.problem(item) for item in random.Random(f"{split}-{seed}").sample(pool, n)]

    def pool(self, split: str) -> list:
        """The items of a split, in the order of `items`; ValueError for an unknown split."""
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r}; splits: {', '.join(SPLITS)}")
        return self._pools[split]

    @cached_property
    def _pools(self) -> dict[str, list]:
        pools: dict[str, list] = {split: [] for split in SPLITS}
        for item in self.items():
            pools[split_of_key(self.key(item))].append(item)
        return pools


def split_of_key(key: Any) -> str:
    """70 % train, 10 % dev, 20 % held out, by a hash of the key's text.

    Raises TypeError for a key whose text is not the same in every process, such as a set or an object.
    """
    if not _is_plain(key):
        raise TypeError(f"the key is a {type(key).__name__}; it must be a number, a text or a tuple of those")
    draw = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big") % 100
    return "dev" if draw < 10 else "held_out" if draw < 30 else "train"


def _is_plain(key: Any) -> bool:
    return all(map(_is_plain, key)) if isinstance(key, tuple) else isinstance(key, str | int | float)
