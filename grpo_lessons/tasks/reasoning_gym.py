"""Any data set of the library reasoning-gym as a task: `get_task("reasoning_gym:leg_counting")`.

The library makes problems from seeds and scores answers; this adapter splits them by a hash of the question, so that
no problem is in two splits, and asks for the answer in an `<answer>` block.
"""

from __future__ import annotations

import hashlib
import random

from grpo_lessons.verifiers import Verdict, read_answer

from .base import SPLITS, Problem

SYSTEM_PROMPT = "Solve the problem. Think in a few short steps. Then write the answer between <answer> and </answer>."
PATIENCE = 50  # questions drawn for each one that is wanted, before a split counts as exhausted


class ReasoningGym:
    """dataset: a name of reasoning-gym's registry. settings: passed to its generator, such as min_animals=3.

    Raises ImportError (one sentence) without the library, ValueError for a name that it does not know.
    """

    max_new_tokens = 300

    def __init__(self, dataset: str, **settings):
        try:
            import reasoning_gym
        except ImportError as error:
            message = f"task 'reasoning_gym:{dataset}' needs reasoning-gym: pip install reasoning-gym"
            raise ImportError(message) from error
        self.name, self.dataset, self.settings = f"reasoning_gym:{dataset}", dataset, settings
        self._create = reasoning_gym.create_dataset
        try:
            self._scorer = self._create(dataset, size=1, seed=0, **settings)
        except (ValueError, KeyError) as error:
            raise ValueError(f"reasoning-gym has no data set {dataset!r} with these settings: {error}") from error

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n different problems of a split; ValueError if the generator repeats itself before there are n."""
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r}; splits: {', '.join(SPLITS)}")
        found: dict[str, Problem] = {}
        source_seed = random.Random(f"{split}-{seed}").randrange(2**31)
        entries = self._create(self.dataset, size=max(1, n * PATIENCE), seed=source_seed, **self.settings)
        for index in range(n * PATIENCE):
            if len(found) == n:
                break
            entry = entries[index]
            if split_of(entry["question"]) == split:
                found.setdefault(entry["question"], self._problem(entry))
        if len(found) < n:
            raise ValueError(f"{n} problems asked of {split!r}, and {self.name} gave only {len(found)} different ones")
        return list(found.values())

    @staticmethod
    def _problem(entry: dict) -> Problem:
        prompt = [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": entry["question"]}]
        return Problem(prompt, entry["answer"], {"entry": entry})

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """The library's score of the answer block: "correct" at 1, "wrong" below, partial scores kept."""
        text, reason = read_answer(completion)
        if text is None:
            return Verdict(0.0, reason)
        try:
            score = float(self._scorer.score_answer(answer=text, entry=problem.data["entry"]))
        except Exception:  # a scorer of the library may stumble over what a model writes
            return Verdict(0.0, "unreadable", text)
        return Verdict(min(1.0, max(0.0, score)), "correct" if score >= 1.0 else "wrong", text)


def split_of(question: str) -> str:
    """70 % train, 10 % dev, 20 % held out, by the question alone."""
    tenth = hashlib.sha256(question.encode()).digest()[0] % 10
    return "dev" if tenth == 0 else "held_out" if tenth <= 2 else "train"
