"""4-bit layers: the values are right, and training on them stays right after sampling."""

import pytest
import torch
from tiny import CPU, tiny_policy

from grpo_lessons.adapters import LoraSpec, trainable_parameters
from grpo_lessons.four_bit import block_for, is_four_bit, plain_weight, quantize_linears, weight_bytes
from grpo_lessons.policies import load_policy
from grpo_lessons.quantization import dequantize_nf4, nf4_bytes, quantize_nf4

bnb = pytest.importorskip("bitsandbytes")


def ids(policy, text="7+8="):
    return policy.tokenizer(text, return_tensors="pt").input_ids


def gradient(policy):
    policy.model.zero_grad()
    policy.model(ids(policy), labels=ids(policy)).loss.backward()
    return torch.cat([p.grad.flatten() for p in policy.model.parameters() if p.requires_grad])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_are_identical_before_and_after_sampling(dtype):
    """bitsandbytes 0.50 repacks CPU weights at the first forward without gradients; the guard stops it."""
    policy = tiny_policy(quantize="nf4", lora=4, dtype=dtype)
    before = gradient(policy)
    assert before.abs().max() > 0
    policy.model.generate(ids(policy), max_new_tokens=3, do_sample=False)
    assert torch.equal(gradient(policy), before)
    with torch.no_grad():
        policy.model(ids(policy))
    assert torch.equal(gradient(policy), before)


def test_every_linear_layer_but_the_head_is_in_four_bits_and_frozen():
    policy = tiny_policy("llama", quantize="nf4")
    four_bit = [m for m in policy.model.modules() if isinstance(m, bnb.nn.Linear4bit)]
    assert len(four_bit) == 2 * 7
    assert not any(m.support_avx512bf16_for_cpu for m in four_bit)
    assert type(policy.model.lm_head) is torch.nn.Linear
    assert trainable_parameters(policy.model) == 0
    assert is_four_bit(policy.model) and not is_four_bit(tiny_policy().model)


@pytest.mark.parametrize(("hidden", "block"), [(64, 64), (96, 32), (160, 32), (192, 64)])
def test_layers_compute_with_the_weights_that_their_codes_stand_for(hidden, block):
    """Rows that the block does not divide come out wrong from bitsandbytes 0.50 on AVX512, so the block is smaller."""
    assert block_for(hidden) == block
    plain, four_bit = tiny_policy(hidden_size=hidden), tiny_policy(hidden_size=hidden, quantize="nf4")
    weight = plain.model.model.layers[0].self_attn.q_proj.weight
    layer = four_bit.model.model.layers[0].self_attn.q_proj
    by_hand = dequantize_nf4(quantize_nf4(weight, block=block))
    torch.testing.assert_close(plain_weight(layer), by_hand, atol=1e-7, rtol=1e-5)
    x = torch.randn(3, hidden, generator=torch.Generator().manual_seed(1))
    expected = x @ by_hand.T + plain.model.model.layers[0].self_attn.q_proj.bias
    torch.testing.assert_close(layer(x), expected, atol=1e-5, rtol=1e-5)


def test_a_layer_with_odd_rows_is_refused_by_name_of_the_rule():
    with pytest.raises(ValueError, match="100 inputs cannot be quantised: NF4 here needs a multiple of 32"):
        block_for(100)


def test_the_nano_policy_in_four_bits_still_answers_like_itself():
    plain, four_bit = load_policy("nano", device="cpu"), load_policy("nano", quantize="nf4", device="cpu")
    with torch.no_grad():
        p, q = (policy.model(ids(policy)).logits.log_softmax(-1) for policy in (plain, four_bit))
    assert float((p.exp() * (p - q)).sum(-1).mean()) < 0.05  # nats; wrong scales give several times that


def test_bytes_of_a_quantised_model_are_those_of_its_tensors():
    policy = tiny_policy(quantize="nf4", hidden_size=64, intermediate_size=128)
    h, i, kv, vocabulary = 64, 128, 32, len(policy.tokenizer)
    linear = [h * h, h * kv, h * kv, h * h, h * i, h * i, h * i]
    biases = h + 2 * kv
    expected = 2 * (sum(map(nf4_bytes, linear)) + 4 * (biases + 2 * h)) + 4 * (h + vocabulary * h)
    assert weight_bytes(policy.model) == expected


def test_quantising_twice_changes_nothing():
    policy = tiny_policy(quantize="nf4")
    before = plain_weight(policy.model.model.layers[1].mlp.down_proj)
    quantize_linears(policy.model, device=CPU, compute_dtype=torch.float32)
    assert torch.equal(plain_weight(policy.model.model.layers[1].mlp.down_proj), before)


def test_a_saved_four_bit_model_loads_with_the_layout_that_can_be_trained(tmp_path):
    from transformers import BitsAndBytesConfig, Qwen2ForCausalLM

    plain = tiny_policy()
    plain.model.save_pretrained(tmp_path / "plain")
    config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)
    theirs = Qwen2ForCausalLM.from_pretrained(tmp_path / "plain", quantization_config=config, device_map="cpu")
    theirs.save_pretrained(tmp_path / "four")
    plain.tokenizer.save_pretrained(tmp_path / "four")
    policy = load_policy(str(tmp_path / "four"), lora=LoraSpec(rank=2), backend="transformers", device="cpu")
    assert is_four_bit(policy.model)
    before = gradient(policy)
    policy.model.generate(ids(policy), max_new_tokens=2, do_sample=False)
    assert torch.equal(gradient(policy), before)
