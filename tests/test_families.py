"""Llama and Mistral go through scoring, adapters, 4 bits and an update exactly like Qwen2."""

import pytest
import torch
from tiny import FAMILIES, tiny_policy

from grpo_lessons.adapters import adapter_hash, weights_hash
from grpo_lessons.config import TrainConfig
from grpo_lessons.logprobs import token_logprobs
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.tasks import get_task
from grpo_lessons.update import Updater


def update(policy, method):
    rollouts = sample_groups(policy, get_task("addition").problems("train", 2, 0), 2, max_new_tokens=6, seed=0)
    rewards = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    config = TrainConfig(method=method, prompts_per_step=2, group_size=2, minibatches=2, learning_rate=1e-3)
    updater = Updater(policy, config, 6)
    return updater.update(rollouts, rewards, updater.method.advantages(rewards), 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_log_probabilities_are_those_of_the_whole_softmax(family):
    policy = tiny_policy(family, lora=2)
    ids = policy.tokenizer(["12+34=46 and so on"], return_tensors="pt").input_ids
    with torch.no_grad():
        expected = policy.model(ids).logits.log_softmax(-1)[:, -6:-1].gather(-1, ids[:, -5:, None])[..., 0]
        scores = token_logprobs(policy.model, ids, torch.ones_like(ids), 5)
    torch.testing.assert_close(scores.logp, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("method", ["grpo", "gmpo", "grpo_sg"])
@pytest.mark.parametrize("quantize", [None, "nf4"])
@pytest.mark.parametrize("family", FAMILIES)
def test_one_update_changes_the_adapters_and_nothing_else(family, quantize, method):
    if quantize:
        pytest.importorskip("bitsandbytes")
    policy = tiny_policy(family, lora=2, quantize=quantize)
    frozen = {n: p.detach().clone() for n, p in policy.model.named_parameters() if not p.requires_grad}
    before = adapter_hash(policy.model)
    assert update(policy, method)["grad_norm"] > 0
    assert adapter_hash(policy.model) != before
    assert all(torch.equal(p, frozen[n]) for n, p in policy.model.named_parameters() if n in frozen)


@pytest.mark.parametrize("family", FAMILIES)
def test_one_update_without_adapters_changes_the_weights(family):
    policy = tiny_policy(family)
    before = weights_hash(policy.model)
    assert update(policy, "grpo")["grad_norm"] > 0
    assert weights_hash(policy.model) != before
