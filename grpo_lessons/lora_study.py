"""A recorded study: GRPO on nano, training every weight, LoRA adapters, or LoRA on a base in 4 bits.

    python -m grpo_lessons.lora_study          writes data/recorded/lora/ (the files that `studies` describes)

20 steps, after which nobody is at the ceiling. Adapters bear a larger learning rate than whole matrices: 2e-3 against
2e-4 or 5e-4. Not searched further; 1000 times the rate of the papers, as everywhere with so small a policy.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from .adapters import LoraSpec, trainable_parameters
from .config import TrainConfig
from .evaluation import evaluate
from .four_bit import weight_bytes
from .paths import data_dir
from .policies import load_policy
from .runlog import write_json
from .studies import SEEDS, Study, Variant, write_study
from .tasks import get_task
from .trainer import train

N = 500
QUESTION = "Does GRPO learn less with adapters, or on a base in 4 bits, and what does it cost in processor time?"
EIGHT, ONE = LoraSpec(rank=8, alpha=16), LoraSpec(rank=1, alpha=2)
# label -> (options of load_policy, learning rate)
WAYS: dict[str, tuple[dict[str, Any], float]] = {
    "every weight": ({}, 2e-4),
    "every weight, 5e-4": ({}, 5e-4),
    "LoRA, rank 8": ({"lora": EIGHT}, 2e-3),
    "LoRA, rank 1": ({"lora": ONE}, 2e-3),
    "QLoRA, rank 8": ({"lora": EIGHT, "quantize": "nf4"}, 2e-3),
}


def variants(seeds: Sequence[int] = SEEDS, steps: int = 20) -> list[Variant]:
    """The study's runs, seed by seed."""
    return [
        Variant(label, f"{steps} steps", TrainConfig(steps=steps, learning_rate=rate, seed=seed))
        for seed in seeds
        for label, (_, rate) in WAYS.items()
    ]


def train_one(variant: Variant, n: int, scratch: Path) -> dict[str, Any]:
    """Evaluate, train, evaluate; {result, curves, machine}, kept as a JSON file in scratch.

    cpu_seconds: processor time of training alone. trainable: numbers that training moves. weight_bytes: of all weights,
    adapters and quantisation state included.
    """
    path = scratch / f"{variant.name.replace('|', '_').replace(' ', '-')}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    policy, task = (
        load_policy("nano", backend="transformers", device="cpu", **WAYS[variant.label][0]),
        get_task("addition"),
    )
    before = evaluate(policy, task, n=n, seed=variant.config.seed)
    size = {"trainable": trainable_parameters(policy.model), "weight_bytes": weight_bytes(policy.model)}
    begin = time.process_time()
    log = train(policy, task, variant.config)
    cpu = time.process_time() - begin
    after = evaluate(policy, task, n=n, seed=variant.config.seed)
    keys = {"run": variant.name, "label": variant.label, "setting": variant.setting, "seed": variant.config.seed}
    low, high = after.interval
    shares = {"accuracy_before": before.accuracy, "accuracy": after.accuracy, "low": low, "high": high}
    done = {
        "result": {**keys, "n": n, **shares, **size, "cpu_seconds": round(cpu, 1), "length": after.length},
        "curves": [{**keys, **row} for row in log.lines["metrics"]],
        "machine": log.header["machine"],
    }
    write_json(path, done)
    print(variant.name, after, f"{cpu:.0f} s", file=sys.stderr, flush=True)
    return done


def record(folder: Path, planned: Sequence[Variant], scratch: Path = Path("runs/studies/lora"), n: int = N) -> Path:
    """Run the study and write its three files; finished runs wait in scratch until all are."""
    scratch.mkdir(parents=True, exist_ok=True)
    done = [train_one(variant, n, scratch) for variant in planned]
    write_study(Study(QUESTION, planned, n), done, folder, "python -m grpo_lessons.lora_study")
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    about["policies"] = {label: {**options, **_plain(options)} for label, (options, _) in WAYS.items()}
    write_json(folder / "about.json", about)
    shutil.rmtree(scratch)
    return folder


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    return {"lora": asdict(options["lora"])} if "lora" in options else {}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(record(data_dir() / "recorded" / "lora", variants()))
