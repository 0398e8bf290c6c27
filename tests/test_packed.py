"""The packed forward against the model's own, values and gradients, for every architecture it accepts."""

import pytest
import torch
from tiny import FAMILIES, stir_adapters, tiny_policy

from grpo_lessons.logprobs import token_logprobs
from grpo_lessons.packed import packable, packed_logprobs

GROUPS = torch.tensor([1, 0, 1, 0, 1])
LENGTHS = [3, 6, 1, 0, 5]


def inputs(equal_prompts=False):
    """Two prompts of 4 and 7 tokens (or both 7), five completions of up to 6; row 4 has a hole in its mask."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(10, 200, (2, 7), generator=generator)
    prompt_mask = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [1] * 7])
    if equal_prompts:
        prompt_mask = torch.ones_like(prompt_mask)
    completions = torch.randint(10, 200, (5, 6), generator=generator)
    mask = (torch.arange(6) < torch.tensor(LENGTHS)[:, None]).float()
    mask[4, 1:3] = 0
    return ids, prompt_mask, GROUPS, completions, mask


def whole_rows(model, ids, prompt_mask, groups, completions, mask, **options):
    """The same scores from the model's own forward on padded rows."""
    rows = torch.cat([ids[groups], completions], 1)
    attention = torch.cat([prompt_mask[groups], torch.ones_like(completions)], 1)
    return token_logprobs(model, rows, attention, completions.shape[1], mask=mask, **options)


def gradients(model, scores):
    model.zero_grad()
    weights = torch.linspace(-1, 1, scores.logp.numel()).view_as(scores.logp)
    (scores.logp * weights).sum().backward()
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize("equal_prompts", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_scores_and_gradients_equal_the_models_own_forward(family, equal_prompts):
    model, given = tiny_policy(family).model, inputs(equal_prompts)
    expected, found = whole_rows(model, *given, temperature=0.7), packed_logprobs(model, *given, temperature=0.7)
    for a, b in zip(expected, found, strict=True):
        torch.testing.assert_close(b, a, atol=2e-5, rtol=1e-5)
    wanted, got = gradients(model, expected), gradients(model, found)
    assert (got - wanted).abs().max() <= 1e-5 * wanted.abs().max()


@pytest.mark.parametrize("quantize", [None, "nf4"])
def test_adapters_and_4_bit_weights_are_the_models_own(quantize):
    policy = tiny_policy(lora=4, quantize=quantize)
    stir_adapters(policy)
    given = inputs()
    expected, found = whole_rows(policy.model, *given), packed_logprobs(policy.model, *given)
    torch.testing.assert_close(found.logp, expected.logp, atol=2e-5, rtol=1e-5)
    wanted, got = gradients(policy.model, expected), gradients(policy.model, found)
    assert wanted.abs().max() > 0
    assert (got - wanted).abs().max() <= 1e-4 * wanted.abs().max()


def test_bfloat16_differs_no_more_than_the_models_own_forward_does():
    exact, model, given = tiny_policy().model, tiny_policy(dtype=torch.bfloat16).model, inputs()
    with torch.no_grad():
        truth = whole_rows(exact, *given).logp
        own_error = (whole_rows(model, *given).logp - truth).abs().max()
        error = (packed_logprobs(model, *given).logp - truth).abs().max()
    assert 0 < error < 2 * own_error


def test_what_follows_the_last_kept_token_is_not_read():
    model, (ids, prompt_mask, groups, completions, mask) = tiny_policy().model, inputs()
    with torch.no_grad():
        before = packed_logprobs(model, ids, prompt_mask, groups, completions, mask)
        completions = completions.where(torch.arange(6) < torch.tensor(LENGTHS)[:, None], 0)
        after = packed_logprobs(model, ids, prompt_mask, groups, completions, mask)
    assert torch.equal(before.logp, after.logp)


def test_completions_of_one_token_and_nothing_to_score():
    model, (ids, prompt_mask, groups, completions, mask) = tiny_policy().model, inputs()
    mask = torch.zeros_like(mask)
    assert packed_logprobs(model, ids, prompt_mask, groups, completions, mask).logp.abs().sum() == 0
    mask[:, 0] = 1
    found = packed_logprobs(model, ids, prompt_mask, groups, completions, mask)
    expected = whole_rows(model, ids, prompt_mask, groups, completions, mask)
    torch.testing.assert_close(found.logp, expected.logp, atol=2e-5, rtol=1e-5)


def kept_activations(model, forward):
    """What forward() returns, and the bytes that autograd keeps for its backward, weights apart."""
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = forward()
    return result, sum(kept.values())


@pytest.mark.parametrize("lora", [None, 4])
@pytest.mark.parametrize("forward", ["packed", "transformers"])
def test_gradient_checkpointing_leaves_values_and_gradients_and_keeps_less(forward, lora):
    def run(gradient_checkpointing):
        policy = tiny_policy(lora=lora, num_hidden_layers=6)
        stir_adapters(policy)
        policy.model.train()
        given, options = inputs(), {}
        if forward == "packed":
            options = {"gradient_checkpointing": gradient_checkpointing}
        elif gradient_checkpointing:
            policy.model.gradient_checkpointing_enable({"use_reentrant": False})
        way = packed_logprobs if forward == "packed" else whole_rows
        scores, kept = kept_activations(policy.model, lambda: way(policy.model, *given, **options))
        return scores, gradients(policy.model, scores), kept

    (plain, expected, whole), (scores, found, less) = run(False), run(True)
    assert torch.equal(scores.logp, plain.logp) and torch.equal(found, expected)
    assert expected.abs().max() > 0
    assert less < 0.3 * whole


def test_gradient_checkpointing_computes_each_layer_again_in_backward():
    model, calls = tiny_policy(num_hidden_layers=3).model, []
    for layer in model.model.layers:
        layer.mlp.register_forward_pre_hook(lambda *_: calls.append(1))
    scores = packed_logprobs(model, *inputs(), gradient_checkpointing=True)
    assert len(calls) == 3
    gradients(model, scores)
    assert len(calls) == 6
    with torch.no_grad():
        packed_logprobs(model, *inputs(), gradient_checkpointing=True)
    assert len(calls) == 9


def test_a_patched_backend_keeps_its_own_forward():
    policy = tiny_policy()
    assert packable(policy)
    policy.backend = "unsloth"
    assert not packable(policy)
