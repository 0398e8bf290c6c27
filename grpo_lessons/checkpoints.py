"""Checkpoints that are whole or absent: tensors in safetensors, the rest in JSON, nothing that executes on loading.

    checkpoints/step-000020/weights.safetensors     the trainable tensors
                            optimizer.safetensors   AdamW's state
                            state.json              step, score on dev, sha256 of both files

A checkpoint is written under a temporary name, flushed to disk and renamed. Random numbers need no saving: every
step derives its own from the seed and its number.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import load, save

from .adapters import save_model
from .runlog import write_json

PREFIX = "step-"


def trainable(model) -> dict[str, torch.nn.Parameter]:
    """The parameters that training moves, by name; a tied weight appears once."""
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def save_checkpoint(directory: Path, step: int, model, optimizer, *, dev_accuracy: float | None = None) -> Path:
    """Write checkpoints/step-NNNNNN below a run directory; returns its path."""
    final = directory / "checkpoints" / f"{PREFIX}{step:06d}"
    temporary = final.with_name(f"writing-{final.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    digests = {
        "weights": _write(temporary / "weights.safetensors", trainable(model)),
        "optimizer": _write(temporary / "optimizer.safetensors", optimizer_tensors(optimizer)),
    }
    write_json(temporary / "state.json", {"step": step, "dev_accuracy": dev_accuracy, "sha256": digests})
    _move_into_place(temporary, final)
    return final


def save_policy(final: Path, policy) -> None:
    """Write model and tokenizer for `load_policy`: the whole folder is there or none."""
    temporary = final.with_name(f"writing-{final.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    with no_progress_bars():
        save_model(policy.model, temporary)
    policy.tokenizer.save_pretrained(temporary)
    for path in temporary.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    _move_into_place(temporary, final)


@contextmanager
def no_progress_bars():
    """Without the bars of transformers, which would show "1/1 shards" at the end of every run."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _move_into_place(temporary: Path, final: Path) -> None:
    _flush_directory(temporary)
    shutil.rmtree(final, ignore_errors=True)
    os.replace(temporary, final)
    _flush_directory(final.parent)


def load_latest(directory: Path, model, optimizer) -> int:
    """Load the newest whole checkpoint into model and optimizer; returns its step, 0 if there is none.

    A damaged checkpoint is named in a warning and passed over for the one before; nothing is loaded from it.
    """
    for path in reversed(list_checkpoints(directory)):
        try:
            state, weights, moments = read_checkpoint(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            warnings.warn(f"checkpoint {path.name} is damaged ({error}); trying the one before", stacklevel=2)
            continue
        parameters = trainable(model)
        if weights.keys() != parameters.keys():
            raise ValueError(f"{path} holds other parameters than this policy: was it loaded with another LoRA?")
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(weights[name])
        restore_optimizer(optimizer, moments)
        return state["step"]
    return 0


def read_checkpoint(path: Path) -> tuple[dict, dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """state.json, weights and optimizer tensors; an error if a part is missing or is not what was written."""
    state = json.loads((path / "state.json").read_text())
    if path.name != f"{PREFIX}{state['step']:06d}":
        raise ValueError(f"state.json names step {state['step']}")
    return state, *(_read(path / f"{part}.safetensors", state["sha256"][part]) for part in ("weights", "optimizer"))


def list_checkpoints(directory: Path) -> list[Path]:
    """The checkpoints of a run directory, oldest first."""
    return sorted((directory / "checkpoints").glob(f"{PREFIX}[0-9]*"))


def prune(directory: Path, keep: int) -> None:
    """Delete all but the newest `keep` checkpoints and the one that scored best on dev."""
    paths = list_checkpoints(directory)
    scores = {path: _dev_accuracy(path) for path in paths}
    scored = [path for path in paths if scores[path] is not None]
    best = max(scored, key=lambda path: scores[path], default=None)
    leftovers = list((directory / "checkpoints").glob("writing-*"))
    for path in [*(path for path in paths[:-keep] if path != best), *leftovers]:
        shutil.rmtree(path, ignore_errors=True)


def _dev_accuracy(path: Path) -> float | None:
    try:
        return json.loads((path / "state.json").read_text())["dev_accuracy"]
    except (OSError, ValueError, KeyError):
        return None


def optimizer_tensors(optimizer) -> dict[str, torch.Tensor]:
    """AdamW's state as flat tensors: "3.exp_avg" belongs to the fourth parameter."""
    state = optimizer.state_dict()["state"]
    return {f"{index}.{name}": torch.as_tensor(value) for index, item in state.items() for name, value in item.items()}


def restore_optimizer(optimizer, tensors: dict[str, torch.Tensor]) -> None:
    """The inverse of `optimizer_tensors`."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _write(path: Path, tensors: dict[str, torch.Tensor]) -> str:
    content = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return hashlib.sha256(content).hexdigest()


def _read(path: Path, digest: str) -> dict[str, torch.Tensor]:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{path.name} has another content than when it was written")
    return load(content)


def _flush_directory(path: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
