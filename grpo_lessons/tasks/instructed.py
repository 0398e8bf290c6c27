"""Another task's problems with instructions in front: a system message and worked examples.

A model that never gives a readable answer has no reward to learn from; two examples show it the layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grpo_lessons.verifiers import Verdict

from .base import Problem, Task


class Instructed:
    """task: whose problems, verifier and splits these are. system: a message before each question, "" for none.

    examples: (question, answer) pairs, shown as earlier turns of the chat. max_new_tokens: None keeps the task's.
    """

    def __init__(
        self,
        task: Task,
        system: str = "",
        examples: Sequence[tuple[str, str]] = (),
        max_new_tokens: int | None = None,
    ):
        self.task, self.name = task, f"{task.name}, instructed"
        self.max_new_tokens = max_new_tokens or task.max_new_tokens
        self.before = [{"role": "system", "content": system}] if system else []
        for question, answer in examples:
            self.before += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """The task's problems of that split and seed, with the instructions before the question."""
        return [replace(p, prompt=[*self.before, *p.prompt]) for p in self.task.problems(split, n, seed)]

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """The task's verdict."""
        return self.task.verify(completion, problem)
