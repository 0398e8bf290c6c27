"""Ranks by hand, and copies of a policy with other matrices."""

import pytest
import torch
from tiny import tiny_policy

from grpo_lessons.low_rank import best_of_rank, captured, matrices, with_matrices


def test_a_diagonal_matrix_shows_its_own_shares():
    # squares 16, 4, 1 of 21
    assert captured(torch.diag(torch.tensor([2.0, 4.0, 1.0]))).tolist() == pytest.approx([16 / 21, 20 / 21, 1])


def test_an_outer_product_has_rank_one():
    matrix = torch.outer(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, -1.0]))
    assert captured(matrix)[0] == pytest.approx(1)
    torch.testing.assert_close(best_of_rank(matrix, 1), matrix)


def test_the_best_approximation_keeps_the_largest_direction():
    expected = torch.diag(torch.tensor([0.0, 4.0, 0.0]))
    torch.testing.assert_close(best_of_rank(torch.diag(torch.tensor([2.0, 4.0, 1.0])), 1), expected)
    assert (best_of_rank(expected, 0) == 0).all()


def test_matrices_are_the_seven_of_each_layer_and_not_the_head():
    names = matrices(tiny_policy("llama").model)
    assert len(names) == 2 * 7
    assert names["model.layers.0.self_attn.k_proj"].shape == (32, 64)
    assert not any("lm_head" in name for name in names)


def test_matrices_of_a_four_bit_model_are_what_its_codes_stand_for():
    pytest.importorskip("bitsandbytes")
    plain, four_bit = (matrices(tiny_policy(quantize=q).model) for q in (None, "nf4"))
    assert plain.keys() == four_bit.keys()
    for name, weight in plain.items():
        assert 0 < (four_bit[name] - weight).abs().max() < 0.2 * weight.abs().max()


def test_a_copy_gets_the_new_matrices_and_the_policy_keeps_its_own():
    policy = tiny_policy()
    before = matrices(policy.model)
    changed = with_matrices(policy, lambda name, w: 2 * w if "down" in name else w)
    after = matrices(changed.model)
    for name, weight in before.items():
        assert torch.equal(after[name], 2 * weight if "down" in name else weight)
        assert torch.equal(matrices(policy.model)[name], weight)
    bias = changed.model.model.layers[0].self_attn.q_proj.bias
    assert torch.equal(bias, policy.model.model.layers[0].self_attn.q_proj.bias)


@pytest.mark.parametrize("options", [{"lora": 2}, {"quantize": "nf4"}])
def test_adapters_and_four_bit_weights_are_refused(options):
    pytest.importorskip("bitsandbytes")
    with pytest.raises(ValueError, match="use merge_adapter"):
        with_matrices(tiny_policy(**options), lambda name, w: w)
