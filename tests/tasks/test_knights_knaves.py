import random

import pytest

from grpo_lessons.tasks import get_task
from grpo_lessons.tasks.knights_knaves import KnightsKnaves, split_of, verify_consistency
from grpo_lessons.tasks.knights_logic import Puzzle, PuzzleError, fingerprint
from grpo_lessons.tasks.knights_wording import ENGLISH, PORTUGUESE, compact, sentence

PUZZLE = Puzzle(("Agnes", "Basil"), (("and", ("knave", 0), ("knave", 1)), ("knave", 0)))


@pytest.mark.parametrize(
    "statement, english, portuguese",
    [
        (("knave", 1), "Basil is a knave", "Bruno é um patife"),
        (("and", ("knight", 0), ("knave", 1)), "I am a knight and Basil is a knave", None),
        (("or", ("knight", 1), ("knave", 0)), None, "Bruno é um cavaleiro ou eu sou uma patife"),
        (
            ("if", ("knight", 0), ("knight", 1)),
            "If I am a knight, then Basil is a knight",
            "Se eu sou uma cavaleira, então Bruno é um cavaleiro",
        ),
        (
            ("not", ("iff", ("knight", 1), ("knave", 0))),
            "It is not true that (Basil is a knight if and only if I am a knave)",
            "Não é verdade que (Bruno é um cavaleiro se e somente se eu sou uma patife)",
        ),
    ],
)
def test_statements_in_words(statement, english, portuguese):
    for expected, names, language in (
        (english, ("Agnes", "Basil"), ENGLISH),
        (portuguese, ("Alice", "Bruno"), PORTUGUESE),
    ):
        if expected:
            assert sentence(statement, 0, names, language) == expected


def test_three_parts_of_an_and_are_all_told():
    everybody = ("and", ("knight", 0), ("knave", 1), ("knight", 2))
    text = sentence(everybody, 0, ("Agnes", "Basil", "Clara"), ENGLISH)
    assert text == "I am a knight and Basil is a knave and Clara is a knight"


def test_the_compact_form():
    puzzle = Puzzle(("A", "B"), (("not", ("if", ("knight", 0), ("knave", 1))), ("knave", 0)))
    assert compact(puzzle) == "A:!(A+>B-);B:A-?"


@pytest.mark.parametrize("form", ["en", "pt", "compact"])
@pytest.mark.parametrize("people", [2, 5, 8])
def test_every_puzzle_has_the_answer_that_its_problem_stores(form, people):
    task = KnightsKnaves(people, form)
    for problem in task.problems("train", 5, seed=0):
        answer = ", ".join(f"{name} {role}" for name, role in problem.answer.items())
        assert len(problem.answer) == people
        assert task.verify(f"<answer>{answer}</answer>", problem).reason == "correct"
        names, statements = problem.data["names"], problem.data["statements"]
        assert verify_consistency(f"<answer>{answer}</answer>", names, statements).reason == "correct"
        assert all(name in problem.prompt[0]["content"] for name in names)


def test_portuguese_answers_are_read():
    (problem,) = KnightsKnaves(2, "pt").problems("dev", 1, seed=0)
    words = {"knight": "cavaleiro", "knave": "patife"}
    lines = "\n".join(f"{name}: {words[role]}" for name, role in problem.answer.items())
    assert KnightsKnaves(2, "pt").verify(f"<answer>{lines}</answer>", problem).reason == "correct"


@pytest.mark.parametrize(
    "answer, reason",
    [
        ("Agnes is a knave, Basil is a knight", "correct"),
        ("Agnes is a knave, Basil is a knave", "contradiction"),  # then "We are both knaves" would be true
        ("Agnes is a knight, Basil is a knight", "contradiction"),
        ("Agnes is a knave", "missing_person"),
        ("Agnes is a knave, Agnes is a knight, Basil is a knight", "contradiction"),
        ("maybe Basil", "unreadable"),
    ],
)
def test_consistency_needs_no_stored_solution(answer, reason):
    verdict = verify_consistency(f"<answer>{answer}</answer>", PUZZLE.names, PUZZLE.statements)
    assert (verdict.reason, verdict.reward) == (reason, float(reason == "correct"))


def test_a_puzzle_without_one_solution_makes_no_problem():
    echo = Puzzle(("Agnes", "Basil"), (("knight", 1), ("knight", 0)))
    with pytest.raises(PuzzleError, match="2 solutions"):
        KnightsKnaves().problem(echo, random.Random(0))


def test_no_held_out_puzzle_is_a_renaming_of_a_training_puzzle():
    task = KnightsKnaves(people=(2, 3), form="compact")
    drawn = {split: task.problems(split, 150, seed=0) for split in ("train", "dev", "held_out")}
    prints = {split: {fingerprint(tuple(p.data["statements"])) for p in ps} for split, ps in drawn.items()}
    assert not prints["train"] & prints["held_out"] | prints["train"] & prints["dev"]
    assert not prints["dev"] & prints["held_out"]
    assert all(split_of(tuple(p.data["statements"])) == split for split, ps in drawn.items() for p in ps)
    assert {len(p.answer) for p in drawn["train"]} == {2, 3}


def test_problems_differ_repeat_with_the_seed_and_run_out_with_an_error():
    task = get_task("knights_knaves", people=2, form="compact")
    problems = task.problems("held_out", 200, seed=1)
    assert len({p.prompt[0]["content"] for p in problems}) == 200
    assert problems[:9] == task.problems("held_out", 9, seed=1)
    with pytest.raises(ValueError, match="5000 problems asked of 'dev', but only"):
        task.problems("dev", 5000, seed=0)


@pytest.mark.parametrize("options", [{"people": 1}, {"people": 9}, {"people": ()}, {"form": "fr"}])
def test_wrong_options_are_refused(options):
    with pytest.raises(ValueError):
        KnightsKnaves(**options)
