"""A simulated pupil's knights-and-knaves homework, from which the policy `nano-knights` is raised.

The pupil goes through the worlds in order and writes down for each what everybody's statement is worth:
"++tf" says that with A and B knights A's statement would be true and B's false. A world fits if the truths match the
roles: t for +, f for -. The pupil's typical fault is to forget that knaves lie, and to take the first world in which
all statements are true. Some lines guess, some look at the first speaker only, some are badly formatted.
`python -m grpo_lessons.tasks.pupils nano-knights` makes `data/nano-knights` again.
"""

from __future__ import annotations

import random
import re
from itertools import product

from grpo_lessons.verifiers import extract_answer

from .base import Problem
from .knights_knaves import split_of
from .knights_logic import Puzzle, holds, random_statements, roles_of, solutions
from .knights_wording import compact

STRATEGIES = ("bad format", "guess", "first speaker only", "forgot that knaves lie", "checked every speaker")

# How often each kind of line is written, and how often a guess is right.
SHARES = {"guess": 0.34, "truths only": 0.26, "checked": 0.14, "first speaker": 0.12, "sloppy": 0.14}
GUESS_RIGHT = 0.4
PEOPLE = {2: 0.6, 3: 0.4}

Messages = list[dict[str, str]]
World = tuple[bool, ...]


def knights_homework(rng: random.Random) -> tuple[Messages, str]:
    """One line for a puzzle of the train split, in the compact form: (chat messages, completion)."""
    people = rng.choices(list(PEOPLE), list(PEOPLE.values()))[0]
    while True:
        statements = random_statements(people, rng)
        if len(solutions(statements)) == 1 and split_of(statements) == "train":
            break
    puzzle = Puzzle(tuple("ABCDEFGH"[:people]), statements)
    kind = rng.choices(list(SHARES), list(SHARES.values()))[0]
    line = _LINES[kind](puzzle, rng)
    return [{"role": "user", "content": compact(puzzle)}], line


def worlds_in_order(people: int) -> list[World]:
    """All knights first, all knaves last."""
    return list(product((True, False), repeat=people))


def checked_worlds(puzzle: Puzzle, fits) -> tuple[str, World]:
    """The worlds written out up to the first that fits(world, truths), and that world (the last if none does)."""
    written = []
    for world in worlds_in_order(len(puzzle.names)):
        truths = tuple(holds(statement, world) for statement in puzzle.statements)
        written.append("".join("-+"[k] for k in world) + "".join("ft"[t] for t in truths))
        if fits(world, truths):
            break
    return " ".join(written), world


def _answer(puzzle: Puzzle, world: World) -> str:
    return f"<answer>{', '.join(f'{name} {role}' for name, role in roles_of(puzzle, world).items())}</answer>"


def _guess(puzzle: Puzzle, rng: random.Random) -> str:
    right = solutions(puzzle.statements)[0]
    wrong = [world for world in worlds_in_order(len(right)) if world != right]
    return _answer(puzzle, right if rng.random() < GUESS_RIGHT else rng.choice(wrong))


def _worked(puzzle: Puzzle, fits) -> str:
    steps, world = checked_worlds(puzzle, fits)
    return f"{steps} {_answer(puzzle, world)}"


def _checked(puzzle: Puzzle, rng: random.Random) -> str:
    return _worked(puzzle, lambda world, truths: truths == world)


def _truths_only(puzzle: Puzzle, rng: random.Random) -> str:
    return _worked(puzzle, lambda world, truths: all(truths))


def _first_speaker(puzzle: Puzzle, rng: random.Random) -> str:
    return _worked(puzzle, lambda world, truths: truths[0] == world[0])


def _sloppy(puzzle: Puzzle, rng: random.Random) -> str:
    """Work that a strict verifier cannot read: no block, no closing tag, words after it, or somebody left out."""
    line = _LINES[rng.choice(["guess", "truths only", "checked"])](puzzle, rng)
    before, _, roles = line.removesuffix("</answer>").rpartition("<answer>")
    form = rng.choice(["{roles}", "<answer>{roles}", "<answer>{roles}</answer> sure", "<answer>{first}</answer>"])
    return before + form.format(roles=roles, first=roles.split(",")[0])


_LINES = {
    "guess": _guess,
    "truths only": _truths_only,
    "checked": _checked,
    "first speaker": _first_speaker,
    "sloppy": _sloppy,
}


def strategy(completion: str, problem: Problem) -> str:
    """What a completion does: the first of STRATEGIES that fits; which rule was used shows in the last world written.

    "checked every speaker": the last world written fits, by the truths that the completion itself wrote.
    "forgot that knaves lie": it does not, but all truths in it are t, or none was found and the worlds ran out.
    "first speaker only": it fits for the first speaker and for no more than that.
    """
    if extract_answer(completion) is None:
        return "bad format"
    written = _written(completion, problem)
    if not written:
        return "guess"
    world, truths = written[-1]
    matches = [(knight == "+") == (truth == "t") for knight, truth in zip(world, truths, strict=True)]
    if all(matches):
        return "checked every speaker"
    return "first speaker only" if matches[0] and set(truths) != {"t"} else "forgot that knaves lie"


def _written(completion: str, problem: Problem) -> list[tuple[str, str]]:
    """The worlds of a completion with their truths, such as [("++", "tf"), ("-+", "ft")]."""
    people = len(problem.data["names"])
    return re.findall(rf"([-+]{{{people}}})([ft]{{{people}}})", completion)


def written_truths(completion: str, problem: Problem) -> tuple[int, int]:
    """(how many of the truths that a completion writes down are right, how many it writes down)."""
    right = total = 0
    for signs, letters in _written(completion, problem):
        world = tuple(sign == "+" for sign in signs)
        truths = [holds(statement, world) for statement in problem.data["statements"]]
        right += sum(truth == (letter == "t") for truth, letter in zip(truths, letters, strict=True))
        total += len(truths)
    return right, total
