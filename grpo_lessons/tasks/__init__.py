"""Tasks: a stream of problems and the verifier that grades them."""

from __future__ import annotations

from .base import Problem, Task, get_task, register_task, task_names, verify_all

__all__ = ["Problem", "Task", "get_task", "register_task", "task_names", "verify_all"]
