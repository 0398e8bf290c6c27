import numpy as np
import pytest
import torch

from grpo_lessons.advantages import dead_group_probability
from grpo_lessons.planning import dead_group_share, token_budget


def test_one_problem_by_hand():
    """Four samples, one right: of the six pairs three are all wrong and none is all right."""
    assert dead_group_share([[1, 0, 0, 0]], 2) == pytest.approx(3 / 6)


def test_two_problems_by_hand():
    """Two of four right: one pair of six all wrong, one all right. None right: every pair is dead."""
    assert dead_group_share([[1, 1, 0, 0], [0, 0, 0, 0]], 2) == pytest.approx((2 / 6 + 1) / 2)


def test_it_is_unbiased_where_the_mean_pass_rate_misleads():
    rng = np.random.default_rng(0)
    rates = np.repeat([0.05, 0.95], 20_000)
    truth = 0.05**4 + 0.95**4  # the same for both rates
    correct = rng.random((40_000, 8)) < rates[:, None]
    assert dead_group_share(correct, 4) == pytest.approx(truth, abs=0.005)
    assert dead_group_probability(0.5, 4) == 0.125


@pytest.mark.parametrize("group_size", [1, 5])
def test_a_group_larger_than_the_samples_is_refused(group_size):
    with pytest.raises(ValueError, match=r"\(1, 4\); it must be"):
        dead_group_share([[1, 0, 0, 0]], group_size)


def test_a_budget_that_cuts_off_one_in_ten():
    lengths = [5, 6, 7, 8, 9, 10, 11, 12, 13, 40]
    assert token_budget(lengths, [True] * 10, cut_off=0.1) == 13
    assert token_budget(lengths, [True] * 10, cut_off=0.0) == 40


def test_an_unfinished_completion_counts_as_the_longest():
    lengths = [5, 6, 7, 8, 9, 10, 11, 12, 13, 40]
    assert token_budget(lengths, [True] * 9 + [False], cut_off=0.1) == 13
    assert token_budget(lengths, [True] * 8 + [False] * 2, cut_off=0.1) is None
    assert token_budget([40, 5], [False, True], cut_off=0.5) == 5


def test_lengths_may_be_a_tensor():
    assert token_budget(torch.tensor([3.0, 4.0]), torch.tensor([True, True])) == 4


def test_without_completions_there_is_no_budget():
    assert token_budget([], []) is None
