"""The pupil's homework and the sorting of completions by strategy."""

import random

import pytest

from grpo_lessons.homework import STRATEGIES, addition_homework, strategy
from grpo_lessons.tasks.addition import Addition, ordered_pairs

CARRY = Addition.problem(27, 48)  # 75, with a carry
PLAIN = Addition.problem(21, 48)  # 69, without
WIDE = Addition.problem(57, 68)  # 125, with a carry


@pytest.mark.parametrize(
    ("completion", "problem", "expected"),
    [
        ("<answer>75</answer>", CARRY, "direct guess"),
        ("<answer>-1</answer>", CARRY, "direct guess"),
        ("<answer>ok</answer>", CARRY, "direct guess"),
        ("7+8=15, 2+4+1=7, <answer>75</answer>", CARRY, "written-out sum"),
        ("7+8=15, 2+4+1=8, <answer>85</answer>", CARRY, "written-out sum"),
        ("7+8=15, 2+4=6, <answer>65</answer>", CARRY, "forgotten carry"),
        ("7+8=15, 5+6=11, <answer>115</answer>", WIDE, "forgotten carry"),
        ("1+8=9, 2+4=6, <answer>69</answer>", PLAIN, "written-out sum"),
        ("<answer>65 or 75</answer>", CARRY, "hedge"),
        ("<answer>65, 75</answer>", CARRY, "hedge"),
        ("65 or 75", CARRY, "hedge"),
        ("7+8=15, 2+4+1=7, 75", CARRY, "bad format"),
        ("7+8=15, 2+4+1=7, <answer>75", CARRY, "bad format"),
        ("<answer>75</answer> ok", CARRY, "bad format"),
        ("<answer>75</answer><answer>75</answer>", CARRY, "bad format"),
        ("", CARRY, "bad format"),
    ],
)
def test_strategy_of_one_completion(completion, problem, expected):
    assert strategy(completion, problem) == expected


@pytest.mark.parametrize(
    "completion",
    ["wait <answer>65 or 75</answer>", "wait, wait", "7+8=15, wait, 2+4=6, <answer>65</answer>", "Wait"],
)
def test_wait_goes_before_every_other_strategy(completion):
    assert strategy(completion, CARRY) == "wait"


def test_a_word_that_only_contains_wait_is_not_wait():
    assert strategy("waiter <answer>75</answer>", CARRY) == "direct guess"


def test_homework_uses_sums_of_the_train_split_only():
    train = {f"{a}+{b}=" for a, b in ordered_pairs("train")}
    rng = random.Random(0)
    seen = {addition_homework(rng)[0][0]["content"] for _ in range(20_000)}
    assert seen <= train
    assert len(seen) > 5000  # of 5670: nearly the whole split is drawn


def test_homework_is_the_same_for_the_same_seed():
    first, second = random.Random(3), random.Random(3)
    assert [addition_homework(first) for _ in range(50)] == [addition_homework(second) for _ in range(50)]


def drawn(n=8000):
    rng, out = random.Random(1), []
    for _ in range(n):
        messages, completion = addition_homework(rng)
        a, b = map(int, messages[0]["content"].rstrip("=").split("+"))
        out.append((completion, Addition.problem(a, b)))
    return out


def test_homework_holds_every_strategy_and_few_hedges_and_waits():
    lines = drawn()
    share = {s: sum(strategy(c, p) == s for c, p in lines) / len(lines) for s in STRATEGIES}
    assert 0.03 <= share["hedge"] <= 0.05
    assert 0.03 <= share["wait"] <= 0.05
    assert all(share[s] > 0.08 for s in STRATEGIES if s not in ("hedge", "wait"))


def test_homework_fits_the_token_budget():
    # a tag is one token, every other character is one, and the end token is one
    longest = max(len(c.replace("<answer>", "a").replace("</answer>", "a")) + 1 for c, _ in drawn())
    assert longest <= Addition.max_new_tokens


def test_a_carry_is_forgotten_more_often_than_remembered():
    written = [strategy(c, p) for c, p in drawn() if p.data["a"] % 10 + p.data["b"] % 10 >= 10]
    assert written.count("forgotten carry") > 2 * written.count("written-out sum")
