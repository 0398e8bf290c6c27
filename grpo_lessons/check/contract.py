"""What a task must do, whatever it asks: the faults of a task that a reader wrote, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grpo_lessons.tasks.base import SPLITS, Problem
from grpo_lessons.tasks.finite import FiniteTask
from grpo_lessons.verifiers import Verdict
from grpo_lessons.verifiers.fuzz import mutants

DRAWN = 20  # problems of each split that are looked at
NONSENSE = (
    *("", "<answer>", "</answer>", "<answer></answer>", "</answer><answer>", "\x00", "I do not know."),
    *("<answer>²</answer>", "<answer>(((</answer>", "<answer>" + "9" * 5000 + "</answer>"),
)


def task_faults(task: Any, seed: int = 0) -> list[str]:
    """Everything in which a task breaks the contract of `grpo_lessons.tasks.base.Task`; empty if nothing does.

    seed: which problems are drawn, and which completions the verifier is tried on.
    """
    if faults := list(_names(task)):
        return faults
    try:
        drawn = {split: task.problems(split, _size(task, split), seed) for split in SPLITS}
    except Exception as error:
        return [f"problems() raised {type(error).__name__}: {error}"]
    for split in SPLITS:
        if faults := list(_prompts(split, drawn[split])):
            return faults
    return [*_draws(task, seed + 1), *_shared(task, drawn), *_verdicts(task, drawn["dev"], seed)]


def _names(task: Any) -> Iterator[str]:
    if not isinstance(getattr(task, "name", None), str):
        yield "the task has no name: a short text"
    if not isinstance(getattr(task, "max_new_tokens", None), int):
        yield "the task has no max_new_tokens: the longest completion, a whole number"
    for method in ("problems", "verify"):
        if not callable(getattr(task, method, None)):
            yield f"the task has no method {method}()"


def _size(task: Any, split: str) -> int:
    """DRAWN, or all of a pool that is smaller."""
    return min(DRAWN, len(task.pool(split))) if isinstance(task, FiniteTask) else DRAWN


def _prompts(split: str, problems: list) -> Iterator[str]:
    if not problems:
        yield f"the split {split} is empty: give the task more items"
    for problem in problems:
        prompt = problem.prompt if isinstance(problem, Problem) else None
        if not isinstance(prompt, list) or not all(isinstance(m, dict) and m.get("content") for m in prompt):
            yield "problem() must return Problem([{'role': 'user', 'content': 'the question'}], answer)"
            return
        if prompt[-1].get("role") != "user":
            yield "the last message of a prompt must be the user's: the policy answers it"
            return


def _draws(task: Any, seed: int) -> Iterator[str]:
    n = _size(task, "train")
    once, again = ([p.prompt for p in task.problems("train", n, seed=seed)] for _ in range(2))
    if once != again:
        yield "the same split, n and seed gave other problems: draw with random.Random(seed), not with a global one"
    if not isinstance(task, FiniteTask):
        return
    try:
        task.problems("dev", len(task.pool("dev")) + 1, seed=0)
    except ValueError:
        return
    yield "more problems than the pool holds were given without a ValueError: repeated ones would count twice"


def _shared(task: Any, drawn: dict[str, list[Problem]]) -> Iterator[str]:
    """Questions with the same words, in any order, and the same answer on two sides."""
    seen: dict[tuple, str] = {}
    for split in SPLITS:
        problems = [task.problem(i) for i in task.pool(split)] if isinstance(task, FiniteTask) else drawn[split]
        for problem in problems:
            key = (tuple(sorted(_words(problem))), str(problem.answer))
            if seen.setdefault(key, split) != split:
                yield (
                    f"{problem.prompt[-1]['content']!r} is in {split}, and the same words with the same answer are in "
                    f"{seen[key]}: give both one key()"
                )
                return


def _words(problem: Problem) -> list[str]:
    """Numbers and words of the question."""
    text = problem.prompt[-1]["content"]
    return "".join(c if c.isalnum() else " " for c in text).split()


def _verdicts(task: Any, problems: list[Problem], seed: int) -> Iterator[str]:
    problem = problems[0]
    right = f"<answer>{problem.answer}</answer>"
    cases = [(text, {"problem": problem}) for text in (right, *NONSENSE)]
    for text in [*NONSENSE, None, *(mutant for mutant, _ in mutants(cases, n=300, seed=seed))]:
        try:
            verdict = task.verify(text, problem)
        except Exception as error:
            yield f"verify({text!r:.60}) raised {type(error).__name__}: a policy will write that; reject it instead"
            return
        if not isinstance(verdict, Verdict) or not 0 <= verdict.reward <= 1:
            yield "verify() must return Verdict(reward, reason) with a reward from 0 to 1"
            return
    if not isinstance(problem.answer, str | int | float):
        return  # how such an answer is written in a block only the task knows
    if task.verify(right, problem).reward < 1:
        yield f"the verifier rejects the task's own answer: {right!r}"
    for text, why in _wrong(problem, problems):
        if task.verify(text, problem).reward > 0:
            yield f"the verifier pays for {why}: {text!r}"
            return


def _wrong(problem: Problem, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    """Completions that no verifier should pay for, and what they are."""
    block = f"<answer>{problem.answer}</answer>"
    yield from ((text, "nonsense") for text in NONSENSE)
    for other in problems:
        if str(other.answer) != str(problem.answer):
            yield f"<answer>{other.answer}</answer>", "another problem's answer"
            yield f"<answer>{other.answer} or {problem.answer}</answer>", "two answers in one block"
            yield f"<answer>{other.answer}</answer>{block}", "two blocks"
    yield f"{problem.answer}", "an answer without a block"
    yield f"{block} ok", "words after the block"
