"""Random policies of several families, small enough for a unit test; their tokenizer is the nano policy's."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM

from grpo_lessons.adapters import LoraSpec, add_lora
from grpo_lessons.four_bit import quantize_linears
from grpo_lessons.nano import build_tokenizer
from grpo_lessons.policies import Policy

SHAPE = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "bos_token_id": None,
}
FAMILIES = {
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, {"tie_word_embeddings": True}),
    "llama": (LlamaConfig, LlamaForCausalLM, {}),
    "mistral": (MistralConfig, MistralForCausalLM, {"sliding_window": None}),
}
CPU = torch.device("cpu")


def tiny_policy(family="qwen2", *, lora=None, quantize=None, dtype=torch.float32, **shape) -> Policy:
    """A random policy. All of its weights, biases and norms included, have values that would show."""
    config_class, model_class, extra = FAMILIES[family]
    tokenizer = build_tokenizer()
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = model_class(config_class(vocab_size=len(tokenizer), **{**SHAPE, **ends, **extra, **shape}))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.05 * torch.randn_like(parameter))
    model = model.to(dtype).eval()
    if quantize:
        model = quantize_linears(model, device=CPU, compute_dtype=dtype)
    if lora:
        model = add_lora(model, LoraSpec(rank=lora, alpha=2 * lora)).eval()
    return Policy(model, tokenizer, CPU, f"tiny {family}")


def stir_adapters(policy, scale=0.05, seed=0):
    """Give the B matrices, which start at 0, random values, as training would."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in policy.model.named_parameters():
            if "lora_B" in name:
                parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
