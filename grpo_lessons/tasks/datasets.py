"""Tasks for trainers that want a dataset and a reward function: TRL, verl, Unsloth.

    trainer = GRPOTrainer(model, task_reward(task), train_dataset=as_dataset(task, "train", 1000, seed=0), ...)

A row names its problem by split, number and seed, and the reward function draws the same problems again. So nothing of
a problem has to survive a file format, and another process finds the same ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from .base import Problem, Task, verify_all

if TYPE_CHECKING:
    from datasets import Dataset


def as_dataset(task: Task, split: str, n: int, seed: int) -> Dataset:
    """n problems of a split as a `datasets.Dataset`: prompt (chat messages), answer (text), problem (its address).

    Raises ValueError beyond the pool.
    """
    from datasets import Dataset

    problems = task.problems(split, n, seed)
    return Dataset.from_list(
        [
            {"prompt": problem.prompt, "answer": str(problem.answer), "problem": f"{split}/{n}/{seed}/{row}"}
            for row, problem in enumerate(problems)
        ]
    )


def task_reward(task: Task):
    """The task's verifier with TRL's signature; it reads the column `problem` of `as_dataset`."""
    problems = lru_cache(maxsize=8)(task.problems)

    def find(address: str) -> Problem:
        split, n, seed, row = address.split("/")
        return problems(split, int(n), int(seed))[int(row)]

    def reward(prompts=None, completions=(), problem=(), **columns) -> list[float]:
        texts = [c if isinstance(c, str) else c[-1]["content"] for c in completions]
        return [verdict.reward for verdict in verify_all(task, texts, [find(address) for address in problem])]

    reward.__name__ = task.name
    return reward
