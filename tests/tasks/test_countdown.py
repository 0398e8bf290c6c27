import random
import re
from fractions import Fraction
from itertools import permutations, product

import pytest

from grpo_lessons.tasks.countdown import Countdown, random_expression, reachable, solve


def test_the_solver_finds_the_one_solution_that_needs_a_fraction():
    assert solve([8, 8, 3, 3], 24) == "8/(3-(8/3))"


def test_the_solver_says_when_there_is_no_solution():
    # 1 and 1 make 0, 1 and 2 only
    assert solve([1, 1], 3) is None
    assert set(reachable((1, 1))) == {Fraction(0), Fraction(1), Fraction(2)}


def test_reachable_values_agree_with_reverse_polish_enumeration():
    """Independent: every order of numbers, both shapes of a three-number expression, evaluated on a stack."""

    def apply(op, a, b):
        return {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else None}[op]

    for numbers in [(2, 3, 7), (1, 5, 5), (4, 4, 4)]:
        expected = set()
        for (a, b, c), (f, g) in product(permutations(map(Fraction, numbers)), product("+-*/", repeat=2)):
            inner = apply(f, a, b)
            if inner is not None:
                expected |= {apply(g, inner, c), apply(g, c, inner)} - {None}
        assert set(reachable(numbers)) == expected


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_stored_solution_is_right(count):
    task = Countdown(count=count)
    for problem in task.problems("dev", 15, seed=0):
        assert task.verify(f"<answer>{problem.answer}</answer>", problem).reason == "correct"


def test_a_number_left_out_is_wrong_even_if_the_value_is_right():
    problem = Countdown().problem([3, 5, 2], 10)
    task = Countdown()
    assert task.verify("<answer>3+5+2</answer>", problem).reason == "correct"
    assert task.verify("<answer>5*2</answer>", problem).reason == "wrong_numbers"
    assert task.verify("<answer>5+5</answer>", problem).reward == 0.0


def test_an_impossible_problem_is_refused():
    with pytest.raises(ValueError, match=r"99 cannot be made from \[1, 1\]"):
        Countdown().problem([1, 1], 99)


def test_splits_share_no_multiset_of_numbers():
    pools = {split: set(Countdown().pool(split)) for split in ("train", "dev", "held_out")}
    assert {split: len(pool) for split, pool in pools.items()} == {"train": 1078, "dev": 154, "held_out": 308}
    assert not pools["train"] & pools["dev"] | pools["train"] & pools["held_out"] | pools["dev"] & pools["held_out"]
    drawn = {tuple(sorted(p.data["numbers"])) for p in Countdown().problems("held_out", 100, seed=1)}
    assert len(drawn) == 100 and drawn <= pools["held_out"]


def test_problems_repeat_with_the_seed_and_stop_at_the_pool():
    task = Countdown(count=2, largest=6)
    assert task.problems("train", 5, seed=3) == task.problems("train", 5, seed=3)
    assert task.problems("train", 5, seed=3) != task.problems("train", 5, seed=4)
    with pytest.raises(ValueError, match="100 problems asked of 'dev', which has 2"):
        task.problems("dev", 100, seed=0)
    with pytest.raises(ValueError, match="unknown split 'test'"):
        task.problems("test", 1, seed=0)
    with pytest.raises(ValueError, match="2 to 5 numbers"):
        Countdown(count=6)
    with pytest.raises(ValueError, match="unknown form 'fr'; forms: en, compact"):
        Countdown(form="fr")


def test_the_compact_form():
    problem = Countdown(form="compact").problem([3, 5, 2], 16)
    assert problem.prompt == [{"role": "user", "content": "3 5 2=16?"}]


def test_a_random_expression_is_readable_and_uses_every_number_once():
    rng, task = random.Random(0), Countdown()
    problem = task.problem([3, 5, 2], 16)
    reasons = set()
    for _ in range(300):
        text = random_expression([3, 5, 2], rng)
        assert sorted(re.findall(r"\d", text)) == ["2", "3", "5"]
        reasons.add(task.verify(f"<answer>{text}</answer>", problem).reason)
    assert reasons == {"correct", "wrong"}
