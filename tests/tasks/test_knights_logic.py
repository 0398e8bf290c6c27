import json
import random
from itertools import permutations, product
from pathlib import Path

import pytest

from grpo_lessons.tasks.knights_logic import (
    Puzzle,
    PuzzleError,
    fingerprint,
    random_statements,
    role_table,
    solutions,
    solve,
    truth_table,
)

A, B = ("knight", 0), ("knight", 1)


def truth(statement, world):
    """Independent of the bit tables: recursion over one world."""
    kind, *parts = statement
    if kind == "knight":
        return world[parts[0]]
    if kind == "knave":
        return not world[parts[0]]
    values = [truth(part, world) for part in parts]
    if kind == "not":
        return not values[0]
    if kind == "and":
        return all(values)
    if kind == "or":
        return any(values)
    return not values[0] or values[1] if kind == "if" else values[0] == values[1]


def brute_force(statements):
    worlds = product((True, False), repeat=len(statements))
    return {world for world in worlds if all(truth(s, world) == k for s, k in zip(statements, world, strict=True))}


@pytest.mark.parametrize(
    "statement, table",
    [  # worlds 0 to 3: nobody, A, B, both are knights; bit w is world w
        (A, 0b1010),
        (B, 0b1100),
        (("knave", 1), 0b0011),
        (("and", A, B), 0b1000),
        (("or", A, B), 0b1110),
        (("if", A, B), 0b1101),
        (("iff", A, B), 0b1001),
        (("not", ("and", A, B)), 0b0111),
    ],
)
def test_truth_tables_of_two_people(statement, table):
    assert truth_table(statement, 2) == table


def test_role_table_counts_each_person_in_half_of_the_worlds():
    assert [role_table(person, 3) for person in range(3)] == [0b10101010, 0b11001100, 0b11110000]


def test_a_puzzle_worked_out_by_hand():
    # Agnes: "We are both knaves." A knight cannot say it, so Agnes lies, and so Basil is a knight.
    # Basil: "Agnes is a knave." True, as it must be.
    puzzle = Puzzle(("Agnes", "Basil"), (("and", ("knave", 0), ("knave", 1)), ("knave", 0)))
    assert solve(puzzle) == {"Agnes": "knave", "Basil": "knight"}


def test_a_puzzle_without_a_solution_is_refused_with_the_reason():
    liar = Puzzle(("Agnes", "Basil"), (("knave", 0), ("knight", 0)))
    with pytest.raises(PuzzleError, match="no solution"):
        solve(liar)


def test_a_puzzle_with_several_solutions_is_refused_and_two_are_shown():
    echo = Puzzle(("Agnes", "Basil"), (("knight", 1), ("knight", 0)))
    with pytest.raises(
        PuzzleError,
        match="2 solutions, for example Agnes knave, Basil knave; Agnes knight, Basil knight",
    ):
        solve(echo)


@pytest.mark.parametrize(
    "statement",
    [("knight", 2), ("knight", -1), ("xor", A, B), ("and", A), ("if", A, B, A), ("not", A, B), ("iff", A), ("knight",)],
)
def test_what_is_not_a_statement_is_refused(statement):
    with pytest.raises(PuzzleError):
        truth_table(statement, 2)


@pytest.mark.parametrize(
    "names, statements",
    [(("Agnes", "Agnes"), (A, B)), (("Agnes",), (A, B)), ((), ()), (tuple("ABCDEFGHI"), (A,) * 9)],
)
def test_a_puzzle_needs_different_names_and_one_statement_each(names, statements):
    with pytest.raises(PuzzleError):
        Puzzle(names, statements)


def check_against_brute_force(puzzles, seed):
    rng = random.Random(seed)
    counts = {0: 0, 1: 0, 2: 0}
    for _ in range(puzzles):
        statements = random_statements(rng.randint(2, 8), rng)
        found = solutions(statements)
        assert set(found) == brute_force(statements)
        assert len(found) == len(set(found))
        counts[min(len(found), 2)] += 1
    return counts


def test_solutions_agree_with_brute_force():
    counts = check_against_brute_force(400, seed=0)
    assert min(counts.values()) > 40  # none, one and several solutions all occur


@pytest.mark.slow
def test_solutions_of_10_000_puzzles_agree_with_brute_force():
    check_against_brute_force(10_000, seed=1)


def from_reasoning_gym(statement):
    """Our form of a statement in reasoning-gym's form, read from JSON or not."""
    kinds = {"telling-truth": "knight", "lying": "knave", "->": "if", "<=>": "iff"}
    kind, *parts = statement
    return kinds.get(kind, kind), *(part if isinstance(part, int) else from_reasoning_gym(part) for part in parts)


def reasoning_gym_puzzles():
    """1 000 puzzles of 2 to 6 people, one to three levels deep, some with no or several solutions."""
    theirs = pytest.importorskip("reasoning_gym.logic.knights_knaves", reason="pip install 'grpo-lessons[peers]'")
    for people in range(2, 7):
        sampler = theirs.KKProblemSampler(people, people, depth_constraint=3, width_constraint=3)
        yield from sampler.sample_valid_problems(200, skip_no_solution=False, skip_multiple_solutions=False)


def test_solutions_of_1_000_recorded_puzzles_of_reasoning_gym_agree_with_its_own():
    """The file holds what reasoning_gym_puzzles() gave with reasoning-gym 0.1.25: [statements, solutions]."""
    puzzles = json.loads((Path(__file__).parent / "reasoning_gym_puzzles.json").read_text())
    assert len(puzzles) == 1000
    for statements, expected in puzzles:
        assert set(solutions(tuple(map(from_reasoning_gym, statements)))) == {tuple(world) for world in expected}


@pytest.mark.slow
def test_solutions_of_1_000_fresh_puzzles_of_reasoning_gym_agree_with_its_own():
    puzzles = list(reasoning_gym_puzzles())
    assert len(puzzles) == 1000
    for puzzle in puzzles:
        found = solutions(tuple(map(from_reasoning_gym, puzzle["statements"])))
        assert set(found) == set(puzzle["all_solutions"])


def renamed(statements, order):
    """The puzzle with person i called order[i]."""

    def rename(statement):
        kind, *parts = statement
        return kind, *(order[part] if isinstance(part, int) else rename(part) for part in parts)

    moved = {order[person]: rename(statement) for person, statement in enumerate(statements)}
    return tuple(moved[person] for person in range(len(statements)))


def test_renaming_people_never_changes_the_fingerprint():
    rng = random.Random(5)
    for people in (2, 3, 4):
        for _ in range(30):
            statements = random_statements(people, rng)
            for order in permutations(range(people)):
                assert fingerprint(renamed(statements, order)) == fingerprint(statements)


def test_the_fingerprint_ignores_the_order_within_and_but_not_within_if():
    def of(kind, *parts):
        return fingerprint(((kind, *parts), ("knave", 0)))

    assert of("and", A, B) == of("and", B, A)
    assert of("if", A, B) != of("if", B, A)
    assert of("and", A, B) != of("or", A, B)
    assert of("knight", 1) != of("knave", 1)
