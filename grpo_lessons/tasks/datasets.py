"""Tasks for trainers that want a dataset and a reward function: TRL, Unsloth.

    trainer = GRPOTrainer(model, task_reward(task), train_dataset=as_dataset(task, "train", 1000, seed=0), ...)

A row names its problem by split, number and seed, and the reward function draws the same problems again. So nothing of
a problem has to survive a file format, and another process finds the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from .base import Problem, Task, verify_all

if TYPE_CHECKING:
    from datasets import Dataset


def rows_of(problems: Sequence[Problem], address: str = "") -> list[dict]:
    """A row a problem: prompt (chat messages), answer (text), problem (address and number of the row)."""
    return [{"prompt": p.prompt, "answer": str(p.answer), "problem": f"{address}{i}"} for i, p in enumerate(problems)]


def as_dataset(task: Task, split: str, n: int, seed: int) -> Dataset:
    """n problems of a split as a `datasets.Dataset`, for `task_reward(task)`. ValueError beyond the pool."""
    from datasets import Dataset

    return Dataset.from_list(rows_of(task.problems(split, n, seed), f"{split}/{n}/{seed}/"))


def task_reward(task: Task, problems: Sequence[Problem] | None = None) -> Callable[..., list[float]]:
    """The task's verifier with TRL's signature; it reads the column `problem`.

    problems: what `rows_of(problems)` was made of; by default those that the rows of `as_dataset` name.
    """
    drawn = lru_cache(maxsize=8)(task.problems)

    def find(address: str) -> Problem:
        if problems is not None:
            return problems[int(address)]
        split, n, seed, row = address.split("/")
        return drawn(split, int(n), int(seed))[int(row)]

    def reward(prompts=None, completions=(), problem=(), **columns) -> list[float]:
        texts = [c if isinstance(c, str) else c[-1]["content"] for c in completions]
        return [verdict.reward for verdict in verify_all(task, texts, [find(address) for address in problem])]

    reward.__name__ = task.name
    return reward
