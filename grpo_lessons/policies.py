"""Load a policy by name: the nano pupil, SmolLM2, Qwen2.5, or any hub id or folder of transformers.

One code path for all of them: a causal language model, a tokenizer with a chat template, a device. LoRA
adapters come from peft and 4-bit weights from bitsandbytes, or both from Unsloth; each is imported only when asked for.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from . import sources
from .adapters import (
    LoraSpec,
    adapter_hash,
    add_lora,
    load_adapter,
    merge_adapter,
    record_base,
    save_adapter,
    trainable_parameters,
    weights_hash,
)
from .four_bit import is_four_bit, keep_trainable_layout, quantize_linears
from .sources import HUB_POLICIES, POLICY_NAMES, Source, resolve

__all__ = [
    "HUB_POLICIES",
    "POLICY_NAMES",
    "LoraSpec",
    "Policy",
    "adapter_hash",
    "load_policy",
    "merge_adapter",
    "resolve",
    "save_adapter",
    "trainable_parameters",
    "weights_hash",
]

BACKENDS = ("auto", "transformers", "unsloth")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass
class Policy:
    """A model that answers and is trained.

    device: where its inputs must lie. name: as asked for. source: the files it came from. backend: the library that
    runs it. sampler: a backend's own way to sample, None for the library's (see `rollouts.sample_groups`).
    """

    model: torch.nn.Module
    tokenizer: Any
    device: torch.device
    name: str = "policy"
    source: str = ""
    backend: str = "transformers"
    sampler: Callable[..., torch.Tensor] | None = None


def load_policy(
    name: str = "nano",
    *,
    lora: LoraSpec | None = None,
    quantize: str | None = None,
    backend: str = "auto",
    device: str = "auto",
    dtype: str = "auto",
    max_length: int = 2048,
    fast_inference: bool = False,
    seed: int = 0,
) -> Policy:
    """Load a policy, ready to sample and to train.

    name: one of POLICY_NAMES, a folder with a saved model or saved adapters, or a hub id "owner/model". A repository
    with 4-bit weights, such as "unsloth/Qwen2.5-1.5B-Instruct-bnb-4bit", saves two thirds of the download.
    lora: train adapters only; None trains every weight. quantize: None or "nf4" (trainable with `lora` only).
    backend: "transformers", "unsloth", or "auto": Unsloth where it is installed and `lora` is asked for.
    device: "auto" (the GPU if there is one), "cpu", "cuda", ... dtype: of the weights that are not in 4 bits, see
    `dtype_for`. max_length: longest prompt + completion, which Unsloth prepares for. fast_inference: sample with vLLM
    (Unsloth on a GPU). seed: of the adapters' initial values.
    Raises ValueError for an unknown or contradictory option, OSError (one sentence) for missing files.
    """
    backend = choose_backend(backend, lora)
    if quantize not in (None, "nf4"):
        raise ValueError(f"unknown quantize {quantize!r}; use None or 'nf4'")
    if fast_inference and backend != "unsloth":
        raise ValueError("fast_inference=True is Unsloth's vLLM engine; it needs backend='unsloth' and lora=LoraSpec()")
    place = place_of(device)
    number = dtype_for(dtype, place, trains_all=lora is None and quantize is None)
    if backend == "unsloth":
        from .integrations import unsloth

        policy = unsloth.load(name, lora, quantize, place, number, max_length, fast_inference, seed)
    else:
        policy = _from_transformers(name, lora, quantize, place, number, seed)
    policy.model.eval()
    return policy


def place_of(device: str) -> torch.device:
    """The device that "auto" means: the GPU if there is one. ValueError for a GPU that is not there."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device={device!r} and PyTorch sees no CUDA GPU: use device='auto' or 'cpu'")
    return torch.device(device)


def choose_backend(backend: str, lora: LoraSpec | None) -> str:
    """The backend that "auto" means; ValueError for an unknown one or for Unsloth without adapters."""
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend {backend!r}; backends: {', '.join(BACKENDS)}")
    if backend == "unsloth" and lora is None:
        raise ValueError("backend='unsloth' trains adapters: give lora=LoraSpec(), or use backend='transformers'")
    if backend == "auto":
        return "unsloth" if lora is not None and importlib.util.find_spec("unsloth") else "transformers"
    return backend


def dtype_for(dtype: str, place: torch.device, *, trains_all: bool) -> torch.dtype:
    """The number format of weights that are not in 4 bits.

    "auto": float32 on a CPU and for weights that are trained themselves, whose small updates 16 bits would round
    away; else bfloat16 where the GPU computes it, float16 where it does not (T4 and older).
    """
    if dtype != "auto":
        if dtype not in DTYPES:
            raise ValueError(f"unknown dtype {dtype!r}; use 'auto', {', '.join(map(repr, DTYPES))}")
        return DTYPES[dtype]
    if place.type != "cuda" or trains_all:
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16


def _from_transformers(name, lora, quantize, place: torch.device, dtype: torch.dtype, seed: int) -> Policy:
    source = sources.find(name)
    base = sources.adapter_base(source.location) if source.is_folder else None
    if base is not None and lora is not None:
        raise ValueError(f"{source.location} holds adapters already: load it without lora=")
    model, tokenizer = sources.load(sources.find(base) if base else source, dtype)
    model = finish(model, quantize, place, dtype)
    if base is not None:
        model = load_adapter(model, source.location)
    elif lora is not None:
        model = add_lora(model, lora, seed=seed)
        record_base(model, *recorded_name(source))
    return Policy(model, tokenizer, place, name, str(source))


def finish(model, quantize: str | None, place: torch.device, dtype: torch.dtype):
    """A model read on the CPU, quantised if asked for and moved to its device."""
    if quantize == "nf4":
        return quantize_linears(model, device=place, compute_dtype=dtype)
    if is_four_bit(model):  # the repository holds 4-bit weights
        keep_trainable_layout(model)
        return model.requires_grad_(False)
    return model.to(place)


def recorded_name(source: Source) -> tuple[str, str | None]:
    """What a saved adapter calls its base: a hub id with its revision, a name of ours, or a folder."""
    if source.name in POLICY_NAMES or source.name.startswith("nano-"):
        return HUB_POLICIES.get(source.name, (source.name, None))
    return source.location, source.revision
