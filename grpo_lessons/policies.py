"""Load a policy by name: the nano pupil, SmolLM2, Qwen2.5, or any hub id or folder of transformers.

One code path for all of them: a causal language model, a tokenizer with a chat template, a device. LoRA
adapters come from peft and 4-bit weights from bitsandbytes; both are imported only when asked for.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from transformers.utils import logging as transformers_logging

from .paths import data_dir

# name -> (hub id, revision); nano is a folder of this repository.
HUB_POLICIES = {
    "smollm2": ("HuggingFaceTB/SmolLM2-135M-Instruct", "12fd25f77366fa6b3b4b768ec3050bf629380bac"),
    "qwen2.5-1.5b": ("Qwen/Qwen2.5-1.5B-Instruct", "989aa7980e4cf806f80c7fef2b1adb7bc71aa306"),
}
POLICY_NAMES = ("nano", *HUB_POLICIES)
BACKENDS = ("auto", "transformers")
LORA_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass
class Policy:
    """A model that answers and is trained. device: where its inputs must lie. name: as asked for."""

    model: torch.nn.Module
    tokenizer: Any
    device: torch.device
    name: str = "policy"


@dataclass(frozen=True)
class LoraSpec:
    """Low-rank adapters: the update of a weight is (alpha / rank) * B A, with B starting at 0."""

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: tuple[str, ...] = field(default=LORA_TARGETS)


def load_policy(
    name: str = "nano",
    *,
    lora: LoraSpec | None = None,
    quantize: str | None = None,
    backend: str = "auto",
    device: str = "auto",
    seed: int = 0,
) -> Policy:
    """Load a policy, ready to sample and to train.

    name: one of POLICY_NAMES, a folder with a saved model, or a hub id "owner/model".
    lora: train adapters only; None trains every weight. quantize: None or "nf4" (trainable with `lora` only).
    backend: "auto" or "transformers". device: "auto" (the GPU if there is one), "cpu", "cuda", ...
    seed: of the adapters' initial values. Weights are float32 on CPU and for nano, else bfloat16.
    Raises ValueError for an unknown name, backend or quantisation, OSError (one sentence) for missing files.
    """
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend {backend!r}; backends: {', '.join(BACKENDS)}")
    if quantize not in (None, "nf4"):
        raise ValueError(f"unknown quantize {quantize!r}; use None or 'nf4'")
    place = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)
    source, revision = resolve(name)
    model, tokenizer = _from_transformers(name, source, revision, quantize, place)
    if lora is not None:
        model = add_lora(model, lora, seed=seed)
    elif quantize:
        model.requires_grad_(False)
    model.eval()
    return Policy(model, tokenizer, place, name)


def resolve(name: str) -> tuple[str, str | None]:
    """The folder or hub id behind a policy's name, and the pinned revision (None where there is none)."""
    if name == "nano":
        return str(data_dir() / "nano"), None
    if name in HUB_POLICIES:
        return HUB_POLICIES[name]
    if Path(name).expanduser().is_dir():
        return str(Path(name).expanduser()), None
    if name.count("/") == 1 and all(name.split("/")) and not name.startswith((".", "~")):
        return name, None
    raise ValueError(
        f"unknown policy {name!r}; known: {', '.join(POLICY_NAMES)}, a folder with a saved model, "
        "or a hub id such as 'Qwen/Qwen2.5-0.5B-Instruct'"
    )


def _from_transformers(name: str, source: str, revision: str | None, quantize: str | None, place: torch.device):
    small = name == "nano" or place.type == "cpu"
    options: dict[str, Any] = {"dtype": torch.float32 if small else torch.bfloat16}
    if quantize == "nf4":
        _need("bitsandbytes", "quantize='nf4'")
        options["device_map"] = {"": place}
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=options["dtype"],
        )
    folder = Path(source).is_dir()
    if folder and not (Path(source) / "config.json").is_file():
        raise OSError(f"policy {name!r}: {source} has no config.json, so it is no model that transformers can read")
    files = {"revision": revision, "local_files_only": folder or _offline()}
    try:
        with _progress_bars(not folder):
            tokenizer = AutoTokenizer.from_pretrained(source, **files)
            model = AutoModelForCausalLM.from_pretrained(source, **files, **options)
    except OSError as error:
        raise OSError(_missing(name, source)) from error
    tokenizer.padding_side = "left"
    if quantize == "nf4":
        keep_trainable_layout(model)
        return model, tokenizer
    return model.to(place), tokenizer


def _need(package: str, purpose: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ImportError(f"{purpose} needs {package}: pip install 'grpo-lessons[qlora]'")


def _offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "ON", "YES", "TRUE"}


def _missing(name: str, source: str) -> str:
    if Path(source).is_dir():
        return f"policy {name!r}: {source} lacks files of a model and its tokenizer; save both there, or remake it"
    return (
        f"policy {name!r} is neither in the local cache nor within reach: connect to the internet and "
        f"fetch it once with `hf download {source}`, or use 'nano', which ships with the course"
    )


@contextmanager
def _progress_bars(shown: bool):
    """Hide the bars of transformers for files that are already here; the setting is put back."""
    before = transformers_logging.is_progress_bar_enabled()
    if not shown:
        transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if before:
            transformers_logging.enable_progress_bar()


def keep_trainable_layout(model: torch.nn.Module) -> None:
    """Stop bitsandbytes from repacking 4-bit weights in place at the first forward without gradients.

    On CPUs with AVX512-BF16, bitsandbytes 0.50 repacks them for inference; a backward after that is wrong.
    """
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False


def add_lora(model: torch.nn.Module, lora: LoraSpec, *, seed: int = 0) -> torch.nn.Module:
    """The model with LoRA adapters (peft), its other weights frozen; global random state untouched."""
    _need("peft", "lora=LoraSpec()")
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
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
