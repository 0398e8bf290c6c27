"""What every task has: problems in three splits that never share one, and a verifier."""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from grpo_lessons.verifiers import Verdict

SPLITS = ("train", "dev", "held_out")

# name -> "module:class"; imported only when asked for, so that a task may need an optional library
_TASKS: dict[str, str] = {
    "addition": "grpo_lessons.tasks.addition:Addition",
    "countdown": "grpo_lessons.tasks.countdown:Countdown",
    "gsm8k": "grpo_lessons.tasks.gsm8k:Gsm8k",
    "knights_knaves": "grpo_lessons.tasks.knights_knaves:KnightsKnaves",
    "lookup_qa": "grpo_lessons.tasks.lookup_qa:LookupQA",
    "programs": "grpo_lessons.tasks.programs:Programs",
    "small_sums": "grpo_lessons.tasks.small_sums:SmallSums",
    "weeks_later": "grpo_lessons.tasks.weeks_later:WeeksLater",
    "word_problems": "grpo_lessons.tasks.word_problems:WordProblems",
    "written_programs": "grpo_lessons.tasks.program_files:WrittenPrograms",
}
# family -> "module:class"; `get_task("family:member")` hands the member's name to the class
_FAMILIES: dict[str, str] = {
    "reasoning_gym": "grpo_lessons.tasks.reasoning_gym:ReasoningGym",
}


@dataclass(frozen=True)
class Problem:
    """One question.

    prompt: chat messages, [{"role": "user", "content": "..."}].
    answer: what the verifier compares with.
    data: anything else the verifier or a plot needs, by name.
    """

    prompt: list[dict[str, str]]
    answer: Any
    data: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class Task(Protocol):
    """The interface that the trainer, the evaluation and the lessons use.

    Three more methods are used where a task has them:
    `verify_batch(completions, problems) -> list[Verdict]`: many verdicts at a time, for slow verifiers;
    `rollout(policy, problems, group_size, *, max_new_tokens, temperature, seed) -> Rollouts`: its own way to sample,
    with tools for instance; `strategy(completion, problem) -> str`: what a completion does, for counting.
    """

    name: str
    max_new_tokens: int

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n problems of a split, drawn without repetition; ValueError beyond the pool."""
        ...

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """The verdict on one completion; never raises, whatever the completion holds."""
        ...


def verify_all(task: Task, completions: Sequence[str], problems: Sequence[Problem]) -> list[Verdict]:
    """The verdicts on many completions, in their order: `task.verify_batch` where there is one."""
    if hasattr(task, "verify_batch"):
        return task.verify_batch(completions, problems)
    return [task.verify(completion, problem) for completion, problem in zip(completions, problems, strict=True)]


def task_names() -> list[str]:
    """The names that `get_task` knows, sorted."""
    return sorted(_TASKS)


def register_task(name: str, target: str | type) -> None:
    """Make `get_task(name)` return an instance of a class, or of a "module:class" string."""
    _TASKS[name] = target


def get_task(name: str, **options: Any) -> Task:
    """The task of that name, a member of a family as in "reasoning_gym:leg_counting", or one of your own.

    Your own is given as "my_task.py:MyTask" or "module:MyTask". Raises ValueError with the list of names for an
    unknown one.
    """
    family, colon, member = name.partition(":")
    if colon and family in _FAMILIES and member:
        return _load(_FAMILIES[family])(member, **options)
    if colon and family not in _FAMILIES:
        return _own(family, member)(**options)
    if name not in _TASKS:
        known = ", ".join([*task_names(), *(f"{family}:NAME" for family in _FAMILIES)])
        raise ValueError(f"unknown task {name!r}; known tasks: {known}")
    return _load(_TASKS[name])(**options)


def _own(home: str, name: str) -> type:
    """The class behind "file.py:Class" or "module:Class"; ValueError says which half is not there."""
    try:
        found = runpy.run_path(home) if home.endswith(".py") else vars(importlib.import_module(home))
    except (ImportError, OSError) as error:
        raise ValueError(f"task '{home}:{name}': {home} cannot be read: {error}") from error
    if name not in found:
        raise ValueError(f"task '{home}:{name}': {home} holds no {name!r}")
    return found[name]


def _load(target: str | type) -> type:
    if isinstance(target, str):
        module, _, attribute = target.partition(":")
        target = getattr(importlib.import_module(module), attribute)
    return target
