"""Knights and knaves as logic: statements, truth tables, the solver, a generator of puzzles with one solution.

Knights always tell the truth and knaves always lie, so in a solution each person is a knight exactly if what the
person says is true. Differs from the generator of Xie et al. 2024 (arXiv:2410.23123) in its solver, which holds the
truth of a statement in all 2^n worlds as the bits of one integer, and in that puzzles carry a fingerprint that
renaming does not change, by which they are split.

A statement is a nested tuple: ("knight", i) and ("knave", i) about person i, ("not", s), ("and", s, t, ...),
("or", s, t, ...), ("if", s, t) and ("iff", s, t).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache, reduce
from hashlib import blake2b
from operator import and_, or_

Statement = tuple
CONNECTIVES = ("and", "or", "if", "iff")
MOST_PEOPLE = 8


class PuzzleError(ValueError):
    """A puzzle that cannot be used; the message says why."""


@dataclass(frozen=True)
class Puzzle:
    """statements[i] is what person names[i] says. Names differ from each other."""

    names: tuple[str, ...]
    statements: tuple[Statement, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.names) <= MOST_PEOPLE or len(self.names) != len(self.statements):
            raise PuzzleError(
                f"{len(self.names)} names and {len(self.statements)} statements; "
                f"expected one statement for each of 1 to {MOST_PEOPLE} people"
            )
        if len(set(self.names)) < len(self.names):
            raise PuzzleError(f"two people have the same name in {self.names}; give each another one")


@cache
def role_table(person: int, people: int) -> int:
    """Bit w is 1 if the person is a knight in world w. World w makes person i a knight if bit i of w is 1."""
    return sum(1 << world for world in range(1 << people) if world >> person & 1)


def truth_table(statement: Statement, people: int) -> int:
    """Bit w is the truth of the statement in world w. Raises PuzzleError for what is not a statement."""
    everywhere = (1 << (1 << people)) - 1
    kind, *parts = statement
    if kind in ("knight", "knave") and len(parts) == 1 and parts[0] in range(people):
        knights = role_table(parts[0], people)
        return knights if kind == "knight" else everywhere ^ knights
    if kind not in ("not", *CONNECTIVES):
        raise PuzzleError(f"{statement!r} is not a statement about persons 0 to {people - 1}")
    tables = [truth_table(part, people) for part in parts]
    wanted = {"not": 1, "if": 2, "iff": 2}.get(kind)
    if len(tables) != wanted if wanted else len(tables) < 2:
        raise PuzzleError(f"{statement!r} has {len(tables)} parts, which is the wrong number for {kind!r}")
    if kind == "and":
        return reduce(and_, tables)
    if kind == "or":
        return reduce(or_, tables)
    if kind == "not":
        return everywhere ^ tables[0]
    if kind == "if":
        return everywhere ^ tables[0] | tables[1]
    return everywhere ^ tables[0] ^ tables[1]


def solutions(statements: tuple[Statement, ...]) -> list[tuple[bool, ...]]:
    """Every assignment in which each person is a knight (True) exactly if the person's statement is true."""
    n = len(statements)
    worlds = (1 << (1 << n)) - 1
    for person, statement in enumerate(statements):
        worlds &= ~(role_table(person, n) ^ truth_table(statement, n))
    return [tuple(bool(w >> i & 1) for i in range(n)) for w in range(1 << n) if worlds >> w & 1]


def solve(puzzle: Puzzle) -> dict[str, str]:
    """The role of each person: {"Zoey": "knight", ...}. PuzzleError unless there is exactly one solution."""
    found = [roles_of(puzzle, world) for world in solutions(puzzle.statements)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise PuzzleError("the puzzle has no solution: whoever lies, somebody's statement contradicts their own role")
    shown = "; ".join(", ".join(f"{name} {role}" for name, role in roles.items()) for roles in found[:2])
    raise PuzzleError(f"the puzzle has {len(found)} solutions, for example {shown}; it must have exactly one")


def roles_of(puzzle: Puzzle, world: tuple[bool, ...]) -> dict[str, str]:
    """{name: "knight" or "knave"} of an assignment."""
    return {name: "knight" if knight else "knave" for name, knight in zip(puzzle.names, world, strict=True)}


def holds(statement: Statement, world: tuple[bool, ...]) -> bool:
    """Whether a statement is true in one assignment."""
    index = sum(knight << person for person, knight in enumerate(world))
    return bool(truth_table(statement, len(world)) >> index & 1)


def fingerprint(statements: tuple[Statement, ...]) -> str:
    """The same for puzzles that differ only in names, in the order of people, or in the order within and/or/iff.

    Each person gets a colour that says what the statement is and who, by colour, is in it; n rounds spread this as
    far as statements reach. Two puzzles that are not renamings of each other may share a fingerprint, as with any
    colour refinement, which a split by fingerprint tolerates: it can only put more on the same side.
    """
    colours = [""] * len(statements)
    for _ in statements:
        colours = [_digest(_coloured(s, speaker, colours)) for speaker, s in enumerate(statements)]
    return _digest("".join(sorted(colours)))


def _coloured(statement: Statement, speaker: int, colours: list[str]) -> str:
    kind, *parts = statement
    if kind in ("knight", "knave"):
        return f"{kind}:{'self' if parts[0] == speaker else colours[parts[0]]}"
    inside = [_coloured(part, speaker, colours) for part in parts]
    return f"{kind}({','.join(inside if kind == 'if' else sorted(inside))})"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def random_statements(people: int, rng: random.Random) -> tuple[Statement, ...]:
    """One statement for each of n people: a simple one about somebody else, or a connective of two, perhaps denied."""
    return tuple(_random_statement(speaker, people, rng) for speaker in range(people))


def _random_statement(speaker: int, people: int, rng: random.Random) -> Statement:
    if rng.random() < 0.3:
        return rng.choice(("knight", "knave")), rng.choice([p for p in range(people) if p != speaker])
    first, second = ((rng.choice(("knight", "knave")), person) for person in rng.sample(range(people), 2))
    statement = (rng.choice(CONNECTIVES), first, second)
    return ("not", statement) if rng.random() < 0.15 else statement
