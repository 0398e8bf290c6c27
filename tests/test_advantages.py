"""Expected values are worked out by hand, or by the statistics module of the standard library."""

import statistics

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_lessons.advantages import dead_group_probability, group_advantages

HALF_ROOT_THREE, HALF_ROOT_TWO = 0.8660254, 0.70710678


def close(actual, expected, tolerance=1e-6):
    torch.testing.assert_close(actual, torch.tensor(expected), rtol=0, atol=tolerance)


def test_sample_std_divides_by_g_minus_one():
    close(group_advantages([[1, 0, 1, 0]], eps=0), [[HALF_ROOT_THREE, -HALF_ROOT_THREE] * 2])


def test_population_std_divides_by_g():
    close(group_advantages([[1, 0, 1, 0]], std="population", eps=0), [[1.0, -1.0, 1.0, -1.0]])


def test_std_none_only_centres():
    close(group_advantages([[1, 0, 0, 0]], std="none"), [[0.75, -0.25, -0.25, -0.25]])


def test_statistics_are_those_of_the_group_and_not_of_the_batch():
    close(group_advantages([[1, 0], [1, 1]], eps=0), [[HALF_ROOT_TWO, -HALF_ROOT_TWO], [0.0, 0.0]])


def test_eps_is_outside_the_root():
    # std 0.001 and eps 0.001: 0.001 / 0.002; inside the root it would be 0.03
    close(group_advantages([[0.0, 0.002]], std="population", eps=0.001), [[-0.5, 0.5]])


@pytest.mark.parametrize("std", ["sample", "population", "none"])
@pytest.mark.parametrize("rewards", [[0.7] * 8, [0.1 + 0.2, 0.3], [0.0, 0.0], [1000.0, 1000.0005]])
def test_equal_rewards_up_to_float_noise_give_exactly_zero(rewards, std):
    assert group_advantages([rewards], std=std, eps=0).tolist() == [[0.0] * len(rewards)]


def test_a_small_real_difference_is_no_float_noise():
    close(group_advantages([[1000.0, 1000.01]], eps=0), [[-HALF_ROOT_TWO, HALF_ROOT_TWO]])


def test_unscored_completion_is_left_out_of_the_statistics():
    nan = float("nan")
    close(group_advantages([[1, nan, 0, nan]], eps=0), [[HALF_ROOT_TWO, 0.0, -HALF_ROOT_TWO, 0.0]])


@pytest.mark.parametrize("group", [[float("nan")] * 3, [float("nan"), 5.0, float("nan")]])
def test_fewer_than_two_scored_completions_give_zero(group):
    assert group_advantages([group]).tolist() == [[0.0, 0.0, 0.0]]


def test_result_is_float32_whatever_the_rewards_are():
    assert group_advantages(torch.tensor([[1, 0]])).dtype == torch.float32


@pytest.mark.parametrize("rewards", [[1.0], [[[1.0, 0.0]]], 1.0])
def test_wrong_rank_is_refused_with_the_expected_shape(rewards):
    with pytest.raises(ValueError, match=r"expected \(P, G\)"):
        group_advantages(rewards)


def test_a_group_of_one_is_refused_with_its_shape():
    with pytest.raises(ValueError, match=r"\(3, 1\).*at least 2"):
        group_advantages(torch.ones(3, 1))


def test_infinite_reward_is_refused():
    with pytest.raises(ValueError, match="infinite"):
        group_advantages([[float("inf"), 0.0]])


def test_unknown_std_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'batch'.*sample, population, none"):
        group_advantages([[1.0, 0.0]], std="batch")


def test_dead_group_probability_of_a_coin_and_eight_throws():
    assert dead_group_probability(0.5, 8) == 2 / 256
    assert dead_group_probability(0.0, 8) == 1.0
    assert dead_group_probability(0.9, 2) == pytest.approx(0.82)


def test_dead_group_probability_refuses_a_percentage():
    with pytest.raises(ValueError, match="45"):
        dead_group_probability(45, 8)


# Properties

rewards_of_a_group = st.lists(st.integers(-20, 20).map(lambda x: x / 4), min_size=2, max_size=9)
rules = st.sampled_from(["sample", "population", "none"])


@given(rewards_of_a_group, rules)
@settings(deadline=None)
def test_agrees_with_the_statistics_module(rewards, std):
    mean = statistics.fmean(rewards)
    scale = {"sample": statistics.stdev, "population": statistics.pstdev, "none": lambda _: 1.0}[std](rewards)
    expected = [0.0 if len(set(rewards)) == 1 else (r - mean) / scale for r in rewards]
    close(group_advantages([rewards], std=std, eps=0)[0], expected, 1e-5)


@given(rewards_of_a_group, rules)
@settings(deadline=None)
def test_advantages_of_a_group_add_up_to_zero(rewards, std):
    assert abs(group_advantages([rewards], std=std).sum()) < 1e-4


@given(rewards_of_a_group, rules, st.integers(-50, 50))
@settings(deadline=None)
def test_adding_a_constant_to_all_rewards_changes_nothing(rewards, std, shift):
    moved = group_advantages([[r + shift for r in rewards]], std=std)
    torch.testing.assert_close(moved, group_advantages([rewards], std=std), rtol=1e-5, atol=1e-5)


@given(rewards_of_a_group, st.sampled_from(["sample", "population"]), st.sampled_from([0.25, 2.0, 10.0]))
@settings(deadline=None)
def test_with_eps_zero_the_unit_of_the_reward_does_not_matter(rewards, std, factor):
    scaled = group_advantages([[r * factor for r in rewards]], std=std, eps=0)
    torch.testing.assert_close(scaled, group_advantages([rewards], std=std, eps=0), rtol=1e-5, atol=1e-5)


@given(rewards_of_a_group, rules, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_order_within_the_group_does_not_matter(rewards, std, random):
    order = random.sample(range(len(rewards)), len(rewards))
    permuted = group_advantages([[rewards[i] for i in order]], std=std)
    torch.testing.assert_close(permuted, group_advantages([rewards], std=std)[:, order], rtol=1e-5, atol=1e-6)
