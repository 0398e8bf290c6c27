"""A backend that samples in its own way: the tokens are its, the log-probabilities ours."""

import sys
from types import ModuleType, SimpleNamespace

import torch
from tiny import tiny_policy

from grpo_lessons.integrations.unsloth import UnslothSampler
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.tasks import get_task


class Fast:
    """Stands for unsloth.FastLanguageModel: notes the switches."""

    def __init__(self):
        self.calls = []

    def for_inference(self, model):
        self.calls.append("inference")
        model.eval()

    def for_training(self, model, use_gradient_checkpointing):
        self.calls.append(f"training {use_gradient_checkpointing}")
        model.train()


def test_own_generation_is_switched_on_and_off_and_its_tokens_are_scored_by_our_forward():
    policy, task = tiny_policy(lora=2), get_task("addition")
    problems = task.problems("train", 2, 0)
    ours = sample_groups(policy, problems, 2, max_new_tokens=5, temperature=0, seed=0)
    fast = Fast()
    policy.sampler = UnslothSampler(fast, policy.model, policy.tokenizer, vllm=False)
    theirs = sample_groups(policy, problems, 2, max_new_tokens=5, temperature=0, seed=0)
    assert fast.calls == ["inference", "training False"]
    assert not policy.model.training  # as it was before
    assert theirs.texts == ours.texts
    torch.testing.assert_close(theirs.logp, ours.logp, atol=1e-4, rtol=0)
    torch.testing.assert_close(theirs.entropy, ours.entropy, atol=1e-4, rtol=0)


def test_own_generation_repeats_with_the_seed_and_leaves_the_random_state_alone():
    policy, task = tiny_policy(lora=2), get_task("addition")
    policy.sampler = UnslothSampler(Fast(), policy.model, policy.tokenizer, vllm=False)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    texts = [sample_groups(policy, task.problems("train", 2, 0), 4, max_new_tokens=6, seed=s).texts for s in (1, 1, 2)]
    assert torch.equal(torch.rand(1), expected)
    assert texts[0] == texts[1] != texts[2]


def test_vllm_gets_unpadded_prompts_the_adapters_and_a_group_for_each(monkeypatch):
    asked = {}
    vllm = ModuleType("vllm")
    vllm.SamplingParams = lambda **settings: settings
    monkeypatch.setitem(sys.modules, "vllm", vllm)

    class Model:
        def save_lora(self, folder):
            asked["saved"] = folder

        def load_lora(self, folder):
            return ("adapters of", folder)

        def fast_generate(self, prompts, sampling_params, lora_request, use_tqdm):
            asked.update(prompts=prompts, params=sampling_params, lora=lora_request)
            answers = [[SimpleNamespace(token_ids=(5, 6)), SimpleNamespace(token_ids=(7,))] for _ in prompts]
            return [SimpleNamespace(outputs=outputs) for outputs in answers]

    sampler = UnslothSampler(Fast(), Model(), SimpleNamespace(pad_token_id=0), vllm=True)
    ids, mask = torch.tensor([[0, 0, 3], [1, 2, 3]]), torch.tensor([[0, 0, 1], [1, 1, 1]])
    rows = sampler(ids, mask, 2, max_new_tokens=4, temperature=0.7, seed=9)
    assert rows.tolist() == [[5, 6], [7, 0], [5, 6], [7, 0]]
    assert asked["prompts"] == [{"prompt_token_ids": [3]}, {"prompt_token_ids": [1, 2, 3]}]
    assert asked["params"] == {"n": 2, "temperature": 0.7, "max_tokens": 4, "seed": 9}
    assert asked["lora"] == ("adapters of", asked["saved"])
