"""What this machine can run, what to install for what is missing, and whether one training step works."""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# library -> what it is for; the second column tells a reader what goes without it
LIBRARIES = {
    "torch": "everything",
    "transformers": "policies",
    "matplotlib": "figures",
    "pandas": "run tables",
    "jupyterlab": "the lessons (extra: lab)",
    "peft": "LoRA (extra: qlora)",
    "bitsandbytes": "4-bit weights (extra: qlora)",
    "unsloth": "fast QLoRA on a GPU (extra: unsloth)",
    "trl": "comparison with TRL (extra: scale)",
}


@dataclass(frozen=True)
class Check:
    """One line of the doctor's table. status: "ok", "note" (works, with a limit) or "missing"."""

    what: str
    found: str
    status: str
    advice: str = ""


def examine() -> list[Check]:
    """Look at the processor, memory, GPU and libraries."""
    return [*_machine(), *_gpu(), *_libraries()]


def train_one_step() -> Check:
    """Load the nano policy and train one step of 8 sums x 4 completions; "missing" says what went wrong."""
    what, start = "one training step", time.perf_counter()
    try:
        from .config import TrainConfig
        from .policies import load_policy
        from .tasks import get_task
        from .trainer import train

        config = TrainConfig(steps=1, prompts_per_step=8, group_size=4, minibatches=1)
        norm = train(load_policy("nano"), get_task("addition"), config).table["grad_norm"].iloc[0]
    except Exception as error:  # whatever breaks here would break in the first lesson: the reader sees its name
        return Check(what, f"{type(error).__name__}: {error}", "missing", "the lessons will not train; see the error")
    found = f"gradient norm {norm:.2f}, {time.perf_counter() - start:.1f} s"
    if not 0 < norm < math.inf:
        return Check(what, found, "missing", "the gradient should be a positive number")
    return Check(what, found, "ok")


def _machine() -> list[Check]:
    import psutil

    from .machine import cpu_name

    memory = psutil.virtual_memory().total / 2**30
    python_ok = sys.version_info >= (3, 11)
    return [
        Check("Python", platform.python_version(), "ok" if python_ok else "missing", "" if python_ok else "need 3.11+"),
        Check("processor", f"{cpu_name()}, {os.cpu_count()} cores", "ok"),
        Check(
            "memory",
            f"{memory:.0f} GiB",
            "ok" if memory >= 7 else "note",
            "" if memory >= 7 else "nano lessons fit; larger policies may not",
        ),
    ]


def _gpu() -> list[Check]:
    import torch

    if not torch.cuda.is_available():
        advice = "no lesson needs one; larger policies do"
        return [Check("GPU", "none that CUDA sees", "note", advice)]
    properties = torch.cuda.get_device_properties(0)
    bf16 = torch.cuda.is_bf16_supported()
    return [
        Check("GPU", f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB", "ok"),
        Check("bfloat16", "yes" if bf16 else "no", "ok" if bf16 else "note", "" if bf16 else "float16 is used instead"),
    ]


def _libraries() -> list[Check]:
    pins = read_pins()
    return [_library(name, purpose, pins.get(name)) for name, purpose in LIBRARIES.items()]


def _library(name: str, purpose: str, pin: str | None) -> Check:
    try:
        found = version(name)
    except PackageNotFoundError:
        extra = purpose.partition("(extra: ")[2].rstrip(")")
        install = f"pip install -e '.[{extra}]'" if extra else "pip install -e ."
        return Check(name, "not installed", "missing", f"for {purpose.partition(' (')[0]}: {install}")
    if pin and found.split("+")[0] != pin:
        return Check(name, found, "note", f"tested with {pin}")
    return Check(name, found, "ok")


def read_pins() -> dict[str, str]:
    """{library: version} of constraints.txt; empty where the repository is not at hand."""
    path = Path(__file__).parents[1] / "constraints.txt"
    if not path.is_file():
        return {}
    pairs = (line.split("==") for line in path.read_text().split("\n") if "==" in line)
    return {name.strip(): pin.strip() for name, pin in pairs}
