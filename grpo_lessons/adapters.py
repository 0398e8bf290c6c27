"""LoRA adapters (Hu et al. 2021, arXiv 2106.09685) through peft: add, save, merge, and tell whether they changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn

from .four_bit import need, plain_weight

LORA_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class LoraSpec:
    """Low-rank adapters: the update of a weight is (alpha / rank) * B A, with B starting at 0."""

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: tuple[str, ...] = field(default=LORA_TARGETS)

    def __post_init__(self) -> None:
        if self.rank < 1 or self.alpha <= 0 or not 0 <= self.dropout < 1 or not self.targets:
            raise ValueError(
                "LoraSpec needs rank >= 1, alpha > 0, 0 <= dropout < 1 and at least one target; "
                f"got {self.rank}, {self.alpha}, {self.dropout} and {self.targets}"
            )


def add_lora(model: nn.Module, lora: LoraSpec, *, seed: int = 0) -> nn.Module:
    """The model with LoRA adapters (float32), its other weights frozen; global random state untouched."""
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


def record_base(model: nn.Module, name: str, revision: str | None) -> None:
    """Write into the adapters' settings which policy they belong to, so that a saved folder finds its base again."""
    for config in getattr(model, "peft_config", {}).values():
        config.base_model_name_or_path, config.revision = name, revision


def load_adapter(model: nn.Module, folder: str | Path) -> nn.Module:
    """The model with the adapters saved in a folder, trainable."""
    need("peft", f"the adapter in {folder}")
    from peft import PeftModel

    return PeftModel.from_pretrained(model, str(folder), is_trainable=True)


def save_adapter(policy, folder: str | Path) -> Path:
    """Save the adapters and the tokenizer; `load_policy(folder)` puts them on their base again.

    Raises ValueError for a policy without adapters.
    """
    adapter_hash(policy.model)
    save_model(policy.model, folder)
    policy.tokenizer.save_pretrained(folder)
    return Path(folder)


def save_model(model: nn.Module, folder: str | Path) -> None:
    """`save_pretrained` without peft's search on the hub for a changed vocabulary, which ours never is."""
    options = {"save_embedding_layers": False} if hasattr(model, "peft_config") else {}
    model.save_pretrained(folder, **options)


def merge_adapter(policy, *, dtype: torch.dtype = torch.bfloat16):
    """A plain policy whose weights are base + (alpha / rank) * B A, on the CPU; the policy given stays as it is.

    A 4-bit base is expanded first, so the result is the function that was trained, up to rounding to `dtype`.
    dtype: bfloat16, float16 or float32. Raises ValueError for anything smaller: an update below half the distance of
    two NF4 levels would be rounded away (lesson 11 shows how much of it, by size); quantise the merged model again
    only if its accuracy is then measured. Also for a policy without adapters.
    """
    from transformers import AutoModelForCausalLM

    if dtype not in (torch.bfloat16, torch.float16, torch.float32):
        raise ValueError(
            f"merging into {dtype} is refused: the gaps between 4-bit levels are far wider than a LoRA update, which "
            "rounding would erase; merge into torch.bfloat16, torch.float16 or torch.float32"
        )
    adapter_hash(policy.model)
    base = policy.model.get_base_model()
    model = AutoModelForCausalLM.from_config(base.config, dtype=dtype)
    model.load_state_dict(merged_weights(base), strict=False)
    model.generation_config = base.generation_config
    return type(policy)(model.eval(), policy.tokenizer, torch.device("cpu"), f"{policy.name} merged")


def merged_weights(base: nn.Module) -> dict[str, torch.Tensor]:
    """{name in the plain model: weight in float32} of a model with adapters in it."""
    weights = {}
    for name, module in base.named_modules():
        if hasattr(module, "base_layer"):
            deltas = [module.get_delta_weight(a).float() for a in module.active_adapters if a in module.lora_A]
            weights[f"{name}.weight"] = (plain_weight(module.base_layer) + sum(deltas)).cpu()
            if module.base_layer.bias is not None:
                weights[f"{name}.bias"] = module.base_layer.bias.detach().cpu()
        elif isinstance(getattr(module, "weight", None), nn.Parameter) and ".base_layer" not in name:
            if "lora_" in name:
                continue
            weights[f"{name}.weight"] = plain_weight(module).cpu()
            if getattr(module, "bias", None) is not None:
                weights[f"{name}.bias"] = module.bias.detach().cpu()
    return weights


def trainable_parameters(model: nn.Module) -> int:
    """How many numbers an optimizer would change."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def weights_hash(model: nn.Module) -> str:
    """SHA-256 of the trainable weights, names included: equal hashes mean that training changed nothing."""
    return _hash((name, p) for name, p in model.named_parameters() if p.requires_grad)


def adapter_hash(model: nn.Module) -> str:
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
