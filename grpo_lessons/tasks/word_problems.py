"""Word problems: stories of two to four steps with numbers that do not matter, in English and Brazilian Portuguese.

Made here, so the answer is known exactly and no model has read them. The splits share no sentence: train, dev and
held-out problems come from different scenes (`word_scenes`), so a held-out score cannot come from known wording.
"""

from __future__ import annotations

import random

from grpo_lessons.verifiers import Verdict, verify_number

from .answer_format import SYSTEM_PROMPTS, chat
from .base import SPLITS, Problem
from .word_scenes import NAMES, SCENES

POOL = 100_000  # problems of one split and seed that may be asked for
FACTORS = (2, 3, 4, 5)


class WordProblems:
    """steps: operations of a story, (least, most). distractors: most sentences beside the point. language: "en", "pt".

    Raises ValueError for an unknown language or steps outside 1 to 4.
    """

    name = "word_problems"
    max_new_tokens = 200

    def __init__(self, language: str = "en", steps: tuple[int, int] = (2, 4), distractors: int = 2):
        if language not in SYSTEM_PROMPTS:
            raise ValueError(f"unknown language {language!r}; known: {', '.join(SYSTEM_PROMPTS)}")
        if not 1 <= steps[0] <= steps[1] <= 4 or not 0 <= distractors <= 2:
            raise ValueError(f"steps={steps}, distractors={distractors}; expected 1 <= least <= most <= 4, and 0 to 2")
        self.language, self.steps, self.distractors = language, tuple(steps), distractors

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n different problems of a split; ValueError for more than POOL."""
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r}; splits: {', '.join(SPLITS)}")
        if not 0 <= n <= POOL:
            raise ValueError(f"{n} problems asked of {split!r}; ask for 0 to {POOL}")
        rng = random.Random(f"{self.language}-{split}-{seed}")
        found: dict[str, Problem] = {}
        while len(found) < n:
            problem = self.problem(split, rng)
            found.setdefault(problem.prompt[-1]["content"], problem)
        return list(found.values())

    def problem(self, split: str, rng: random.Random) -> Problem:
        """One story: an opening, operations that keep the count a whole positive number, and sentences beside."""
        scene, who = rng.choice(SCENES[self.language][split]), rng.choice(NAMES[self.language])
        start, operations, answer = plot(rng.randint(*self.steps), rng)
        sentences = [scene.opening.format(who=who, n=start)]
        sentences += [getattr(scene, kind).format(who=who, n=number, k=number) for kind, number in operations]
        beside = rng.sample(scene.beside, rng.randint(0, self.distractors))
        for sentence in beside:
            sentences.insert(rng.randint(1, len(sentences)), sentence.format(who=who, n=rng.randint(2, 60)))
        text = " ".join([*sentences, scene.question.format(who=who)])
        data = {"start": start, "operations": operations, "distractors": len(beside), "language": self.language}
        return Problem(chat(text, self.language), answer, data)

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """The number in the one answer block, compared exactly."""
        return verify_number(completion, problem.answer)


def plot(steps: int, rng: random.Random) -> tuple[int, list[tuple[str, int]], int]:
    """(first count, operations, last count); each kind of operation at most once, all counts from 1 to 200."""
    while True:
        count = start = rng.randint(4, 40)
        operations: list[tuple[str, int]] = []
        while len(operations) < steps:
            possible = possible_steps(count, rng)
            kinds = sorted(set(possible) - {kind for kind, _ in operations})
            if not kinds:
                break  # nothing divides this count: begin anew
            kind = rng.choice(kinds)
            operations.append((kind, possible[kind]))
            count = apply(count, kind, possible[kind])
        else:
            return start, operations, count


def possible_steps(count: int, rng: random.Random) -> dict[str, int]:
    """{kind: number} of the steps that leave a count from 1 to 200."""
    steps = {"plus": rng.randint(2, 30)} if count <= 170 else {}
    if count > 3:
        steps["minus"] = rng.randint(2, count - 1)
    if count <= 40:
        steps["times"] = rng.choice(FACTORS)
    if divisors := [k for k in FACTORS if count % k == 0]:
        steps["share"] = rng.choice(divisors)
    return steps


def apply(count: int, kind: str, number: int) -> int:
    """The count after a step."""
    match kind:
        case "plus":
            return count + number
        case "minus":
            return count - number
        case "times":
            return count * number
        case "share":
            return count // number
    raise ValueError(f"unknown step {kind!r}")
