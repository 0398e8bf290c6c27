"""Literal values: sigmoid(1) = 0.73105858, sigmoid(2) = 0.88079708, sigmoid(3) = 0.95257413."""

import pytest
import torch

from grpo_lessons.weights import (
    advantage_reweighting,
    constants_from_quantiles,
    high_entropy_mask,
    low_probability_split,
    normalize_weights,
    sharpness_weights,
)


def close(actual, expected, tolerance=1e-5):
    torch.testing.assert_close(actual, torch.tensor(expected), rtol=0, atol=tolerance)


def test_sharpness_weights_at_the_defaults():
    # 2 * (sigmoid(h / 9) - 0.25): h 18 gives 1.261594, h 27 gives 1.405 (cut to 1.4), h 9 gives 0.962 (cut to 1)
    close(sharpness_weights(torch.tensor([18.0, 27.0, 9.0, -30.0])), [1.261594, 1.4, 1.0, 1.0])


def test_default_weights_start_to_rise_at_logit_9_9_and_end_at_26_5():
    close(sharpness_weights(torch.tensor([9.88, 9.90, 26.3, 26.5])), [1.0, 1.0005, 1.3978, 1.4], 1e-3)
    assert sharpness_weights(torch.tensor(9.88)) == 1.0
    assert sharpness_weights(torch.tensor(9.90)) > 1.0


def test_probabilities_in_place_of_logits_are_a_silent_no_op():
    assert sharpness_weights(torch.linspace(0, 1, 101)).unique().tolist() == [1.0]


def test_weights_carry_no_gradient():
    logits = torch.tensor([18.0], requires_grad=True)
    assert not sharpness_weights(logits).requires_grad
    assert not advantage_reweighting(torch.tensor([0.5], requires_grad=True)).requires_grad
    assert not normalize_weights(logits.exp(), torch.ones(1)).requires_grad


def test_normalised_weights_have_mean_one_over_the_kept_tokens_only():
    weights = torch.tensor([[1.0, 3.0, 100.0], [2.0, float("nan"), float("inf")]])
    close(normalize_weights(weights, torch.tensor([[1, 1, 0], [1, 0, 0]])), [[0.5, 1.5, 0.0], [1.0, 0.0, 0.0]])


def test_normalising_weights_of_an_empty_mask_gives_zeros():
    assert normalize_weights(torch.ones(2, 2), torch.zeros(2, 2)).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_constants_from_quantiles_by_hand():
    # the quantiles 0 and 1 of 1..3 are a = 1, b = 3: tau 1, alpha 0.4 / (sigmoid(3) - sigmoid(1)) = 1.8057423
    constants = constants_from_quantiles(torch.tensor([1.0, 2.0, 3.0]), q_low=0, q_high=1)
    assert constants == pytest.approx(
        {"tau": 1.0, "alpha": 1.8057423, "mu": 0.1772697, "low": 1.0, "high": 1.4}, abs=1e-6
    )


@pytest.mark.parametrize("centre, spread", [(0.0, 1.0), (20.0, 3.0), (-15.0, 0.5), (3.0, 30.0)])
def test_fitted_weights_reach_low_and_high_at_the_quantiles_of_the_policy(centre, spread):
    logits = centre + spread * torch.linspace(-1, 1, 1001)
    weights = sharpness_weights(logits, **constants_from_quantiles(logits))
    assert (weights < 1.0005).float().mean().item() == pytest.approx(0.1, abs=0.01)
    assert (weights > 1.3995).float().mean().item() == pytest.approx(0.1, abs=0.01)


def test_constants_ignore_masked_logits():
    logits = torch.tensor([[1.0, 2.0, 3.0, float("nan"), 1e9]])
    mask = torch.tensor([[1, 1, 1, 0, 0]])
    assert constants_from_quantiles(logits, mask) == constants_from_quantiles(logits[:, :3])


def test_logits_without_a_range_have_no_constants():
    with pytest.raises(ValueError, match="no range"):
        constants_from_quantiles(torch.full((5,), 7.0))


@pytest.mark.parametrize("wrong", [{"low": 2.0}, {"q_low": 0.9, "q_high": 0.1}, {"q_high": 90}])
def test_constants_refuse_a_range_upside_down(wrong):
    with pytest.raises(ValueError, match="expected some logits, low < high"):
        constants_from_quantiles(torch.arange(5.0), **wrong)


def test_advantage_reweighting_by_hand():
    # 0.2 p + 0.8
    close(advantage_reweighting(torch.tensor([0.0, 0.5, 1.0])), [0.8, 0.9, 1.0])


def test_lopti_takes_the_unlikely_tokens_first_and_the_masks_add_up():
    prob = torch.tensor([[0.39, 0.4, 0.9, float("nan")]])
    unlikely, rest = low_probability_split(prob, torch.tensor([[1.0, 1.0, 1.0, 0.0]]))
    assert unlikely.tolist() == [[1.0, 0.0, 0.0, 0.0]]
    assert rest.tolist() == [[0.0, 1.0, 1.0, 0.0]]


def test_high_entropy_mask_ranks_over_the_batch_and_not_the_row():
    entropy = torch.tensor([[0.1, 0.2, 0.3, 0.4, 0.5], [1.0, 2.0, 0.0, 0.0, 99.0]])
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
    assert high_entropy_mask(entropy, mask, top=0.3).tolist() == [[0, 0, 0, 0, 1], [1, 1, 0, 0, 0]]


def test_high_entropy_mask_keeps_the_share_with_ties_and_nan_outside():
    entropy = torch.tensor([[1.0] * 10 + [float("nan")]])
    mask = torch.tensor([[1.0] * 10 + [0.0]])
    chosen = high_entropy_mask(entropy, mask)
    assert chosen.sum() == 2 and chosen[0, 10] == 0


def test_high_entropy_mask_keeps_one_token_of_a_short_batch_and_none_of_an_empty_one():
    assert high_entropy_mask(torch.tensor([[3.0, 4.0]]), torch.ones(1, 2)).tolist() == [[0.0, 1.0]]
    assert high_entropy_mask(torch.tensor([[3.0, 4.0]]), torch.zeros(1, 2)).tolist() == [[0.0, 0.0]]


def test_high_entropy_mask_refuses_a_percentage():
    with pytest.raises(ValueError, match="top is 20"):
        high_entropy_mask(torch.ones(1, 2), torch.ones(1, 2), top=20)
