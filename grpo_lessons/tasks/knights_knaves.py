"""Knights and knaves: who tells the truth? Puzzles of 2 to 8 people with exactly one solution.

The splits share no puzzle up to renaming: a puzzle's split follows from its fingerprint (`knights_logic`), which
neither names nor the order of people change. Difficulty is the number of people.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from grpo_lessons.verifiers import Verdict
from grpo_lessons.verifiers.logic import verify_knights

from .base import SPLITS, Problem
from .knights_logic import MOST_PEOPLE, Puzzle, Statement, fingerprint, holds, random_statements, solutions, solve
from .knights_wording import LANGUAGES, draw_names, tell

FORMS = (*LANGUAGES, "compact")
PATIENCE = 500  # draws in a row without a new puzzle before the pool counts as exhausted


class KnightsKnaves:
    """people: 2 to 8, or several numbers to draw from. form: "en", "pt" or "compact" (for the nano policies)."""

    name = "knights_knaves"

    def __init__(self, people: int | Sequence[int] = 2, form: str = "en"):
        self.people = (people,) if isinstance(people, int) else tuple(people)
        if not self.people or not all(2 <= n <= MOST_PEOPLE for n in self.people):
            raise ValueError(f"people={people}; a puzzle has 2 to {MOST_PEOPLE} people")
        if form not in FORMS:
            raise ValueError(f"unknown form {form!r}; forms: {', '.join(FORMS)}")
        self.form = form
        most = max(self.people)
        self.max_new_tokens = 30 + 12 * most + most * 2**most if form == "compact" else 400 + 100 * most

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n puzzles with different texts; ValueError when a split has no more of them."""
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r}; splits: {', '.join(SPLITS)}")
        rng = random.Random(f"{split}-{seed}")
        found: dict[tuple, Problem] = {}
        misses = 0
        while len(found) < n and misses < PATIENCE:
            puzzle = self._draw(split, rng)
            key = (puzzle.names, puzzle.statements)
            misses = misses + 1 if key in found else 0
            found.setdefault(key, self.problem(puzzle, rng))
        if len(found) < n:
            raise ValueError(
                f"{n} problems asked of {split!r}, but only {len(found)} puzzles were found; ask for fewer, "
                "or for more people"
            )
        return list(found.values())

    def _draw(self, split: str, rng: random.Random) -> Puzzle:
        """A puzzle of the split with exactly one solution."""
        while True:
            people = rng.choice(self.people)
            statements = random_statements(people, rng)
            if len(solutions(statements)) == 1 and split_of(statements) == split:
                return Puzzle(draw_names(self.form, people, rng), statements)

    def problem(self, puzzle: Puzzle, rng: random.Random) -> Problem:
        """The problem of a puzzle; PuzzleError, with the reason, unless it has exactly one solution."""
        roles = solve(puzzle)
        data = {"names": list(puzzle.names), "statements": list(puzzle.statements)}
        return Problem([{"role": "user", "content": tell(puzzle, self.form, rng)}], roles, data)

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """Everybody's role, read strictly and compared with the solution."""
        return verify_knights(completion, problem.answer)

    def strategy(self, completion: str, problem: Problem) -> str:
        """What a completion in the compact form does (see `knights_homework`)."""
        from .knights_homework import strategy  # here, because the homework is drawn from this task

        return strategy(completion, problem)


def split_of(statements: tuple[Statement, ...]) -> str:
    """70 % train, 10 % dev, 20 % held out, by the fingerprint: the same for every renaming of a puzzle."""
    draw = int(fingerprint(statements), 16) % 100
    return "dev" if draw < 10 else "held_out" if draw < 30 else "train"


def verify_consistency(completion: str, names: Sequence[str], statements: Sequence[Statement]) -> Verdict:
    """Reward 1 if the answer gives every person a role that fits what everybody says; needs no stored solution.

    The reason is "contradiction" too if a role does not fit the person's own statement; otherwise as `verify_knights`.
    """
    verdict = verify_knights(completion, dict.fromkeys(names, "knight"))  # for its reading, not for its comparison
    if verdict.reason not in ("correct", "wrong"):
        return verdict
    world = tuple(verdict.answer[name] == "knight" for name in names)
    fits = all(holds(statement, world) == knight for statement, knight in zip(statements, world, strict=True))
    return Verdict(1.0, "correct", verdict.answer) if fits else Verdict(0.0, "contradiction", verdict.answer)
