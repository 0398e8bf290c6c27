"""Load a policy by name: the nano pupil, SmolLM2, Qwen2.5, or any hub id or folder of transformers.

One code path for all of them: a causal language model, a tokenizer with a chat template, a device. LoRA
adapters come from peft and 4-bit weights from bitsandbytes; both are imported only when asked for.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import torch
from huggingface_hub import constants, get_session
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from transformers.utils import logging as transformers_logging

from .adapters import (
    LoraSpec,
    adapter_hash,
    add_lora,
    keep_trainable_layout,
    need,
    trainable_parameters,
    weights_hash,
)
from .paths import data_dir

__all__ = ["LoraSpec", "Policy", "adapter_hash", "load_policy", "trainable_parameters", "weights_hash"]

# name -> (hub id, revision); nano is a folder of this repository.
HUB_POLICIES = {
    "smollm2": ("HuggingFaceTB/SmolLM2-135M-Instruct", "12fd25f77366fa6b3b4b768ec3050bf629380bac"),
    "qwen2.5-1.5b": ("Qwen/Qwen2.5-1.5B-Instruct", "989aa7980e4cf806f80c7fef2b1adb7bc71aa306"),
}
POLICY_NAMES = ("nano", *HUB_POLICIES)
BACKENDS = ("auto", "transformers")


@dataclass
class Policy:
    """A model that answers and is trained. device: where its inputs must lie. name: as asked for."""

    model: torch.nn.Module
    tokenizer: Any
    device: torch.device
    name: str = "policy"


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
        need("bitsandbytes", "quantize='nf4'")
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
    files = {"revision": revision, "local_files_only": folder or not hub_reachable()}
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


def hub_reachable() -> bool:
    """Does the hub answer? One request and no retry, none at all if HF_HUB_OFFLINE is set: a class has bad Wi-Fi."""
    if os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "ON", "YES", "TRUE"}:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=5)
    except httpx.HTTPError:
        return False
    return True


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
