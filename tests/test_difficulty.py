"""The survey before training: pass rates, and the groups that would rank nothing."""

from itertools import combinations

import pandas as pd
import pytest
import torch

from grpo_lessons.difficulty import choose, dead_share, survey
from grpo_lessons.policies import load_policy
from grpo_lessons.tasks import get_task


def test_dead_share_counts_the_groups_that_could_have_been_drawn():
    rewards = torch.tensor([[1.0, 1.0, 0.2, 0.0, 1.0, 0.2], [0.0] * 6])
    drawn = list(combinations(rewards[0].tolist(), 3))
    mixed = sum(len(set(group)) == 1 for group in drawn) / len(drawn)
    assert mixed == pytest.approx(1 / 20)
    assert dead_share(rewards, 3) == pytest.approx((mixed + 1) / 2)


def test_half_right_on_average_may_still_be_all_dead():
    split = torch.tensor([[1.0] * 8, [0.0] * 8])
    even = torch.tensor([[1.0] * 4 + [0.0] * 4] * 2)
    assert split.mean() == even.mean() == 0.5
    assert dead_share(split, 4) == 1.0
    assert dead_share(even, 4) == pytest.approx(2 / 70)


def test_more_than_was_sampled_cannot_be_predicted():
    with pytest.raises(ValueError, match="groups of 8 from 4 samples a problem; expected 2 <= G <= samples"):
        dead_share(torch.zeros(3, 4), 8)


def table(**levels):
    rows = [{"level": k, "pass_rate": p, "dead_4": a, "dead_8": b} for k, (p, a, b) in levels.items()]
    return pd.DataFrame(rows)


def test_the_hardest_level_that_is_alive_and_its_smallest_group():
    assert choose(table(easy=(0.9, 0.4, 0.2), middle=(0.4, 0.6, 0.3), hard=(0.0, 1.0, 1.0))) == ("middle", 8)


def test_no_level_alive_names_the_nearest_and_what_to_do():
    with pytest.raises(ValueError, match="nearest is 'easy' with 60% in groups of 8: take an easier level"):
        choose(table(easy=(0.99, 0.8, 0.6), hard=(0.0, 1.0, 1.0)))


def test_a_survey_of_nano_finds_its_sums_alive_and_three_digits_dead():
    levels = {"2 digits": get_task("addition"), "3 digits": get_task("addition", digits=3)}
    found = survey(load_policy("nano"), levels, n=8, samples=4, group_sizes=(2, 4), batch=16).set_index("level")
    assert found.dead_4["3 digits"] == 1.0 and found.pass_rate["3 digits"] == 0.0
    assert found.dead_4["2 digits"] < found.dead_2["2 digits"] < 1.0
    assert found.low["2 digits"] <= found.pass_rate["2 digits"] <= found.high["2 digits"]


def test_a_reward_with_more_values_leaves_fewer_groups_dead():
    def by_length(prompts, completions, **columns):
        return [float(len(text)) for text in completions]

    level = {"2 digits": get_task("addition")}
    plain, lengths = (
        survey(load_policy("nano"), level, n=8, samples=4, group_sizes=(4,), reward=reward)
        for reward in (None, by_length)
    )
    assert lengths.dead_4[0] < plain.dead_4[0]
    assert lengths.pass_rate[0] == plain.pass_rate[0]  # right is what the verifier calls right
