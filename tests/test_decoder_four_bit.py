"""The fast decoder on 4-bit layers, adapters and 16-bit numbers: what a GPU run samples with."""

import pytest
import torch
from tiny import FAMILIES, stir_adapters, tiny_policy

from grpo_lessons.decoder import CacheDecoder, FastDecoder, fast_decodable
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.tasks import get_task

pytest.importorskip("bitsandbytes")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.bfloat16, 0.1)])
def test_logits_equal_transformers_on_quantised_layers_with_adapters(family, dtype, tolerance):
    policy = tiny_policy(family, quantize="nf4", lora=4, dtype=dtype)
    stir_adapters(policy)
    base = policy.model.get_base_model()
    assert fast_decodable(base, 16)
    ids = torch.tensor([[7, 8, 9, 10, 11], [2, 2, 12, 13, 14]])
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    fast, slow = FastDecoder(base, 16), CacheDecoder(policy.model, 16)
    torch.testing.assert_close(fast.prefill(ids, mask), slow.prefill(ids, mask), atol=tolerance, rtol=0)
    for decoder in (fast, slow):
        decoder.expand(2)
    for tokens in (torch.tensor([20, 21, 22, 23]), torch.tensor([30, 31, 32, 33])):
        torch.testing.assert_close(fast.step(tokens), slow.step(tokens), atol=tolerance, rtol=0)


def test_sampled_log_probabilities_are_those_of_the_adapted_four_bit_model():
    from grpo_lessons.logprobs import token_logprobs

    policy = tiny_policy(quantize="nf4", lora=4)
    stir_adapters(policy)
    task = get_task("addition")
    rollouts = sample_groups(policy, task.problems("train", 2, 0), 3, max_new_tokens=6, seed=0)
    ids = torch.cat([rollouts.prompt_ids, rollouts.completion_ids], 1)
    mask = torch.cat([rollouts.prompt_mask, torch.ones_like(rollouts.completion_ids)], 1)
    with torch.no_grad():
        scores = token_logprobs(policy.model, ids, mask, rollouts.completion_ids.shape[1])
    torch.testing.assert_close(rollouts.logp, scores.logp * rollouts.mask, atol=1e-4, rtol=0)
