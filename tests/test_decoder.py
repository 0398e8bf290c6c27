"""The fast decoder against transformers' own forward, on every architecture it accepts."""

import pytest
import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from grpo_lessons.decoder import CacheDecoder, FastDecoder, fast_decodable

SMALL = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
MODELS = {
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SMALL)),
    "qwen2 tied": lambda: Qwen2ForCausalLM(Qwen2Config(**SMALL, tie_word_embeddings=True)),
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SMALL)),
    "llama 3 rope": lambda: LlamaForCausalLM(LlamaConfig(**SMALL, rope_parameters=LLAMA3_ROPE)),
    "mistral": lambda: MistralForCausalLM(MistralConfig(**SMALL, sliding_window=None)),
}


def model_of(name):
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    with torch.no_grad():  # biases start at 0 and norms at 1: give them values that would show
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def padded_prompts():
    ids = torch.tensor([[1, 2, 3, 4, 5, 6], [0, 0, 0, 7, 8, 9], [0, 11, 12, 13, 14, 15]])
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1]])
    return ids, mask


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("padded", [True, False])
def test_logits_equal_transformers_after_prefill_expand_step_and_keep(name, padded):
    model = model_of(name)
    ids, mask = padded_prompts()
    if not padded:
        mask = torch.ones_like(mask)
    assert fast_decodable(model, 20)
    fast, slow = FastDecoder(model, 20), CacheDecoder(model, 20)
    torch.testing.assert_close(fast.prefill(ids, mask), slow.prefill(ids, mask), atol=1e-5, rtol=1e-5)
    for decoder in (fast, slow):
        decoder.expand(2)
    tokens = torch.tensor([20, 21, 22, 23, 24, 25])
    torch.testing.assert_close(fast.step(tokens), slow.step(tokens), atol=1e-5, rtol=1e-5)
    rows = torch.tensor([5, 0, 3])
    for decoder in (fast, slow):
        decoder.keep(rows)
    for _ in range(3):
        tokens = torch.tensor([30, 31, 32])
        torch.testing.assert_close(fast.step(tokens), slow.step(tokens), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("padded", [True, False])
def test_the_prompts_cache_is_kept_once_for_a_group_and_shrinks_with_the_last_groups(padded):
    model = model_of("qwen2")
    ids, mask = padded_prompts()
    if not padded:
        mask = torch.ones_like(mask)
    fast, slow = FastDecoder(model, 20), CacheDecoder(model, 20)
    for decoder in (fast, slow):
        decoder.prefill(ids, mask)
        decoder.expand(4)
        decoder.step(torch.arange(20, 32))
    assert [len(t) for t in fast.prompt_keys + fast.keys] == [3, 3, 12, 12]
    for rows in ([11, 2, 10, 8], [3, 2, 0]):  # sequences of prompts 2 and 0, then of prompt 2 alone
        for decoder in (fast, slow):
            decoder.keep(torch.tensor(rows))
        tokens = torch.arange(33, 33 + len(rows))
        torch.testing.assert_close(fast.step(tokens), slow.step(tokens), atol=1e-5, rtol=1e-5)
    assert [len(t) for t in fast.prompt_keys + fast.keys] == [1, 1, 3, 3]


def test_stepwise_logits_equal_one_forward_over_the_whole_sequence():
    model = model_of("qwen2")
    ids, mask = padded_prompts()
    more = torch.tensor([[21, 31], [22, 32], [23, 33]])
    whole = torch.cat([ids, more], 1)
    whole_mask = torch.cat([mask, torch.ones_like(more)], 1)
    positions = (whole_mask.cumsum(1) - 1).clamp_min(0)
    with torch.no_grad():
        expected = model(input_ids=whole, attention_mask=whole_mask, position_ids=positions).logits[:, 5:]
    decoder = FastDecoder(model, 8)
    logits = [decoder.prefill(ids, mask), decoder.step(more[:, 0]), decoder.step(more[:, 1])]
    torch.testing.assert_close(torch.stack(logits, 1), expected, atol=1e-5, rtol=1e-5)


def test_a_window_shorter_than_the_text_goes_to_the_general_engine():
    model = MistralForCausalLM(MistralConfig(**SMALL, sliding_window=8))
    assert fast_decodable(model, 8)
    assert not fast_decodable(model, 9)


def test_an_unknown_architecture_goes_to_the_general_engine():
    class Other(Qwen2ForCausalLM):
        pass

    assert not fast_decodable(Other(Qwen2Config(**SMALL)), 8)
