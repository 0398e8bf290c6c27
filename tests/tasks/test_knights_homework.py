import random

from grpo_lessons.tasks.knights_homework import STRATEGIES, checked_worlds, knights_homework, strategy, written_truths
from grpo_lessons.tasks.knights_knaves import KnightsKnaves
from grpo_lessons.tasks.knights_logic import Puzzle

# A: "B is a knave." B: "We are both knaves." Worlds in order ++, +-, -+, --:
# ++ both false; +- A true, B false: fits.
PUZZLE = Puzzle(("A", "B"), (("knave", 1), ("and", ("knave", 0), ("knave", 1))))


def test_a_checked_line_stops_at_the_world_whose_truths_match_its_roles():
    assert checked_worlds(PUZZLE, lambda world, truths: truths == world) == ("++ff +-tf", (True, False))


def test_forgetting_that_knaves_lie_finds_the_world_in_which_everything_is_true():
    assert checked_worlds(PUZZLE, lambda world, truths: all(truths)) == ("++ff +-tf -+ff --tt", (False, False))


def test_strategies_are_told_apart():
    problem = KnightsKnaves(2, "compact").problem(PUZZLE, random.Random(0))
    answer = "<answer>A knight, B knave</answer>"
    assert strategy(answer, problem) == "guess"
    assert strategy(f"++ff +-tf {answer}", problem) == "checked every speaker"
    assert strategy(f"++ff +-tf -+ff --tt {answer}", problem) == "forgot that knaves lie"
    assert strategy(f"++ff +-tt {answer}", problem) == "forgot that knaves lie"
    assert strategy(f"++tf {answer}", problem) == "first speaker only"
    assert strategy(f"++ff +-tf {answer} sure", problem) == "bad format"


def test_written_truths_are_compared_with_the_statements():
    problem = KnightsKnaves(2, "compact").problem(PUZZLE, random.Random(0))
    assert written_truths("++ff +-tf <answer>A knight, B knave</answer>", problem) == (4, 4)
    assert written_truths("++tf +-tf", problem) == (3, 4)  # in ++, A's "B is a knave" is false
    assert written_truths("<answer>A knight, B knave</answer>", problem) == (0, 0)


def test_homework_is_flawed_but_not_hopeless():
    task, right = KnightsKnaves((2, 3), "compact"), 0
    rng = random.Random(0)
    solved = {p.prompt[0]["content"]: p for p in task.problems("train", 1500, seed=0)}
    kinds, lines = set(), 0
    while lines < 400:
        prompt, line = knights_homework(rng)
        problem = solved.get(prompt[0]["content"])
        if problem:
            lines += 1
            right += task.verify(line, problem).reward
            kinds.add(strategy(line, problem))
    assert kinds == set(STRATEGIES)
    assert 0.3 < right / lines < 0.5
