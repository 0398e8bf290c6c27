"""Tasks: a stream of problems and the verifier that grades them."""

from __future__ import annotations

from .base import Problem, Task, get_task, register_task, task_names, verify_all
from .datasets import as_dataset, rows_of, task_reward

__all__ = [
    "Problem",
    "Task",
    "as_dataset",
    "get_task",
    "register_task",
    "rows_of",
    "task_names",
    "task_reward",
    "verify_all",
]
