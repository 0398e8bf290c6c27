"""The colours of `token_credit` against weights worked out by hand for the first update, where every ratio is 1.

Rewards 1, 1, 0, 0: advantages ±1 / std, the same size a for all four. Lengths 4, 12, 4, 11, together 31.
"""

import pytest
import torch

from grpo_lessons.plots import credit_weights
from grpo_lessons.plots.credit import example

LENGTHS = (4, 12, 4, 11)
SIGNS = (1, 1, -1, -1)
A = 0.5 / (1 / 3) ** 0.5  # sample standard deviation of 1, 1, 0, 0 is sqrt(1/3)


def test_lengths_and_rewards_of_the_example():
    data = example()
    assert data["mask"].sum(1).tolist() == list(LENGTHS)
    assert data["rewards"].tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("method", ["grpo", "gspo", "gmpo"])
def test_a_token_counts_a_over_four_sequences_over_its_own_length(method):
    first = credit_weights(method, drift=0.0)[:, 0]
    assert first.tolist() == pytest.approx([s * A / 4 / n for s, n in zip(SIGNS, LENGTHS, strict=True)], rel=1e-4)


def test_dapo_counts_all_tokens_alike():
    assert credit_weights("dapo", drift=0.0)[:, 0].tolist() == pytest.approx([s * A / 31 for s in SIGNS], rel=1e-4)


def test_dr_grpo_divides_by_the_budget_and_not_by_std():
    """Centred rewards are ±0.5; four rows; a budget of 12 tokens."""
    assert credit_weights("dr_grpo", drift=0.0)[:, 0].tolist() == pytest.approx([s * 0.5 / 4 / 12 for s in SIGNS])


def test_grpo_sg_gives_the_sure_tokens_more():
    """Logit 24: 2 (sigmoid(24/9) - 0.25) = 1.3700; logit 9: 2 (sigmoid(1) - 0.25) = 0.962, raised to 1."""
    sure, unsure = credit_weights("grpo_sg", drift=0.0)[0, :2].tolist()
    assert (sure / unsure, unsure) == pytest.approx((1.3700, A / 16), rel=1e-3)


def test_clipped_tokens_lose_their_push():
    """Ratio e^0.9 of a right answer is above 1.2; ratio e^-0.3 of a wrong one is below 0.8."""
    weights = credit_weights("grpo")
    assert (weights[1, 4], weights[2, 1]) == (0, 0)


def test_gspo_clips_whole_sequences():
    """Mean log ratios -0.0125, 0.11, -0.078 and 0.025: the second and third leave the band on their clipped side."""
    assert (credit_weights("gspo") != 0).any(1).tolist() == [True, False, False, True]


@pytest.mark.parametrize("method", ["grpo", "dapo", "dr_grpo", "gspo", "gmpo", "grpo_sg", "lopti", "high_entropy"])
def test_nothing_after_the_end_is_pushed(method):
    assert torch.all(credit_weights(method)[example()["mask"] == 0] == 0)


def test_80_20_keeps_a_fifth_of_the_tokens():
    """20 % of 31 tokens: 6."""
    assert int((credit_weights("high_entropy", drift=0.0) != 0).sum()) == 6
