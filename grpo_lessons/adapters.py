"""What is trained: LoRA adapters, 4-bit layers that stay trainable, and fingerprints of trainable weights."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass

import torch

LORA_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class LoraSpec:
    """Low-rank adapters: the update of a weight is (alpha / rank) * B A, with B starting at 0."""

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: tuple[str, ...] = LORA_TARGETS


def need(package: str, purpose: str) -> None:
    """ImportError with the remedy if an optional package is absent."""
    if importlib.util.find_spec(package) is None:
        raise ImportError(f"{purpose} needs {package}: pip install 'grpo-lessons[qlora]'")


def keep_trainable_layout(model: torch.nn.Module) -> None:
    """Stop bitsandbytes from repacking 4-bit weights in place at the first forward without gradients.

    On CPUs with AVX512-BF16, bitsandbytes 0.50 repacks them for inference; a backward after that is wrong.
    """
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False


def add_lora(model: torch.nn.Module, lora: LoraSpec, *, seed: int = 0) -> torch.nn.Module:
    """The model with LoRA adapters (peft), its other weights frozen; global random state untouched."""
    need("peft", "lora=LoraSpec()")
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.targets),
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return get_peft_model(model, config)


def trainable_parameters(model: torch.nn.Module) -> int:
    """How many numbers an optimizer would change."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def weights_hash(model: torch.nn.Module) -> str:
    """SHA-256 of the trainable weights, names included: equal hashes mean that training changed nothing."""
    return _hash((name, p) for name, p in model.named_parameters() if p.requires_grad)


def adapter_hash(model: torch.nn.Module) -> str:
    """SHA-256 of the LoRA weights, trainable or not; ValueError if the model has none."""
    adapters = [(name, p) for name, p in model.named_parameters() if "lora_" in name]
    if not adapters:
        raise ValueError("the model has no LoRA weights: load it with lora=LoraSpec(), or use weights_hash")
    return _hash(adapters)


def _hash(named: Iterable[tuple[str, torch.Tensor]]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(named, key=lambda pair: pair[0]):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
