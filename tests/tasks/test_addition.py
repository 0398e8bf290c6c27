"""Splits of the addition task and what its verifier accepts."""

import pytest

from grpo_lessons.tasks import get_task
from grpo_lessons.tasks.addition import ordered_pairs, split_pairs

SPLITS = ("train", "dev", "held_out")


def test_every_unordered_pair_is_in_exactly_one_split():
    parts = [set(split_pairs(split)) for split in SPLITS]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 90 * 91 // 2


def test_both_orders_of_a_pair_are_on_the_same_side():
    for split in SPLITS:
        pairs = set(ordered_pairs(split))
        assert {(b, a) for a, b in pairs} == pairs


def test_problems_repeat_with_the_seed_and_never_within_a_draw():
    task = get_task("addition")
    first, again = task.problems("train", 300, 7), task.problems("train", 300, 7)
    assert first == again
    assert len({p.prompt[0]["content"] for p in first}) == 300
    assert task.problems("train", 300, 8) != first


def test_a_problem_holds_its_numbers_and_its_sum():
    problem = get_task("addition").problem(27, 48)
    assert problem.prompt == [{"role": "user", "content": "27+48="}]
    assert (problem.answer, problem.data) == (75, {"a": 27, "b": 48})


def test_more_problems_than_the_pool_has_says_how_many_there_are():
    with pytest.raises(ValueError, match=r"10000 problems asked of 'dev', which has 8\d\d"):
        get_task("addition").problems("dev", 10000, 0)


def test_three_digits_for_transfer_and_nothing_beyond():
    assert all(100 <= p.data["a"] <= 999 for p in get_task("addition", digits=3).problems("held_out", 20, 0))
    with pytest.raises(ValueError, match="digits is 4"):
        get_task("addition", digits=4)


@pytest.mark.parametrize(
    ("completion", "reward", "reason"),
    [("<answer>75</answer>", 1.0, "correct"), ("<answer>65</answer>", 0.0, "wrong"), ("75", 0.0, "no_answer")],
)
def test_verify_reads_the_answer_block(completion, reward, reason):
    task = get_task("addition")
    verdict = task.verify(completion, task.problem(27, 48))
    assert (verdict.reward, verdict.reason) == (reward, reason)
