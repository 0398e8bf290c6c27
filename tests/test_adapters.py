"""LoRA: start, seeds, fingerprints, saving, loading, merging."""

import pytest
import torch
from tiny import stir_adapters, tiny_policy

from grpo_lessons.adapters import (
    LoraSpec,
    adapter_hash,
    merge_adapter,
    save_adapter,
    trainable_parameters,
    weights_hash,
)
from grpo_lessons.logprobs import token_logprobs
from grpo_lessons.policies import load_policy

pytest.importorskip("peft")


def scores(policy):
    ids = policy.tokenizer(["27+48=7+8=15, 2+4=6"], return_tensors="pt").input_ids
    with torch.no_grad():
        return token_logprobs(policy.model, ids, torch.ones_like(ids), 12).logp


def test_lora_starts_as_the_base_model_and_trains_adapters_only():
    plain = load_policy("nano", device="cpu")
    spec = LoraSpec(rank=4, alpha=8, targets=("q_proj", "v_proj"))
    policy = load_policy("nano", lora=spec, backend="transformers", device="cpu")
    hidden, layers = plain.model.config.hidden_size, plain.model.config.num_hidden_layers
    # per layer and target: A is rank x hidden, B is hidden x rank
    assert trainable_parameters(policy.model) == layers * 2 * 2 * 4 * hidden
    assert torch.equal(scores(policy), scores(plain))


def test_lora_seed_decides_the_adapters():
    def adapters(seed):
        return adapter_hash(load_policy("nano", lora=LoraSpec(rank=2), backend="transformers", seed=seed).model)

    assert adapters(0) == adapters(0) != adapters(1)


def test_hashes_see_one_changed_weight():
    policy = tiny_policy(lora=2)
    before = adapter_hash(policy.model), weights_hash(policy.model)
    with torch.no_grad():
        next(p for p in policy.model.parameters() if p.requires_grad)[0, 0] += 1e-4
    assert adapter_hash(policy.model) != before[0] and weights_hash(policy.model) != before[1]


def test_adapter_hash_without_adapters_is_an_error():
    with pytest.raises(ValueError, match="no LoRA weights"):
        adapter_hash(tiny_policy().model)


@pytest.mark.parametrize("broken", [{"rank": 0}, {"alpha": 0}, {"dropout": 1.0}, {"targets": ()}])
def test_a_spec_without_sense_is_refused(broken):
    with pytest.raises(ValueError, match="LoraSpec needs rank >= 1"):
        LoraSpec(**broken)


@pytest.mark.parametrize("quantize", [None, "nf4"])
def test_saved_adapters_come_back_on_their_base(tmp_path, quantize):
    if quantize:
        pytest.importorskip("bitsandbytes")
    options = {"quantize": quantize, "backend": "transformers", "device": "cpu"}
    policy = load_policy("nano", lora=LoraSpec(rank=4), **options)
    stir_adapters(policy)
    again = load_policy(str(save_adapter(policy, tmp_path / "adapter")), **options)
    assert adapter_hash(again.model) == adapter_hash(policy.model)
    assert trainable_parameters(again.model) == trainable_parameters(policy.model)
    assert torch.equal(scores(again), scores(policy))


def test_a_saved_adapter_names_its_base_and_no_path_of_this_machine(tmp_path):
    policy = load_policy("nano", lora=LoraSpec(rank=2), backend="transformers", device="cpu")
    save_adapter(policy, tmp_path)
    assert '"base_model_name_or_path": "nano"' in (tmp_path / "adapter_config.json").read_text()
    assert not list(tmp_path.glob("model*.safetensors"))


def test_adapters_on_adapters_are_refused(tmp_path):
    policy = load_policy("nano", lora=LoraSpec(rank=2), backend="transformers", device="cpu")
    save_adapter(policy, tmp_path)
    with pytest.raises(ValueError, match="holds adapters already"):
        load_policy(str(tmp_path), lora=LoraSpec(rank=2), backend="transformers", device="cpu")


# The largest difference of a log-probability that merging may make: rounding of sums in float32, of weights in 16 bits.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("quantize", [None, "nf4"])
@pytest.mark.parametrize("family", ["qwen2", "llama"])
def test_merged_weights_give_the_log_probabilities_of_adapter_and_base(family, quantize, dtype):
    if quantize:
        pytest.importorskip("bitsandbytes")
    policy = tiny_policy(family, lora=4, quantize=quantize)
    base = scores(policy)
    stir_adapters(policy)
    expected = scores(policy)
    assert (expected - base).abs().max() > 0.3  # the adapters matter
    merged = merge_adapter(policy, dtype=dtype)
    assert trainable_parameters(merged.model) == sum(p.numel() for p in merged.model.parameters())
    assert next(merged.model.parameters()).dtype == dtype
    torch.testing.assert_close(scores(merged), expected, atol=TOLERANCE[dtype], rtol=0)
    assert torch.equal(scores(policy), expected)  # the policy given is as it was


def test_merging_into_four_bits_is_refused_with_the_reason():
    with pytest.raises(ValueError, match=r"rounding would erase; merge into torch\.bfloat16"):
        merge_adapter(tiny_policy(lora=2), dtype=torch.uint8)


def test_a_small_update_disappears_in_four_bits():
    """Why the refusal: of an update of 1 % of the weights' size, nine tenths of the codes see nothing."""
    from grpo_lessons.quantization import quantize_nf4

    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(256, 256, generator=generator)
    low_rank = torch.randn(256, 4, generator=generator) @ torch.randn(4, 256, generator=generator)
    update = 0.01 * low_rank / low_rank.std()
    same = quantize_nf4(weight + update).codes == quantize_nf4(weight).codes
    assert same.float().mean() > 0.9


def test_merging_without_adapters_is_an_error():
    with pytest.raises(ValueError, match="no LoRA weights"):
        merge_adapter(tiny_policy())
