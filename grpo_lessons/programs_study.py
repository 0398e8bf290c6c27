"""The recorded study of lesson 15: one pupil under three ways to pay for tests.

    python -m grpo_lessons.programs_study          writes data/recorded/programs/ (the files that `studies` describes)

label: what is paid. "shown examples": 1 if the examples of the prompt pass. "all tests": 1 if they and the hidden
tests pass. "share of tests": the share of all tests that pass. setting: the method. results.csv holds, from the same
exam of all held-out problems before and after: right (all tests pass), shown (the examples pass), both with 95 %
intervals over functions, right with greedy decoding, right by degree, and the share of each way of answering.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .config import TrainConfig
from .nano import sg_options
from .paths import data_dir
from .policies import load_policy
from .runlog import write_json
from .studies import Study, Variant, write_study
from .tasks.programs import Programs, share_reward, visible_suite_reward
from .tasks.programs_homework import STRATEGIES
from .tasks.programs_report import share_with_interval, sit_exam
from .trainer import train

PUPIL = "nano-programs"
REWARDS: dict[str, Callable | None] = {
    "shown examples": visible_suite_reward,
    "all tests": None,  # the task's own verifier
    "share of tests": share_reward,
}
SETTINGS = TrainConfig(steps=40, prompts_per_step=16, group_size=8, learning_rate=3e-4)


def study(seeds: Sequence[int] = (0, 1)) -> Study:
    """The study's runs: every reward under GRPO, then the full suite under GRPO-SG, each with every seed."""
    plain, weighted = ("grpo", {}), ("grpo_sg", sg_options(data_dir() / PUPIL))
    kinds = [*((label, plain) for label in REWARDS), ("all tests", weighted)]
    variants = [
        Variant(label, method, replace(SETTINGS, method=method, method_options=options, seed=seed))
        for label, (method, options) in kinds
        for seed in seeds
    ]
    return Study("What does a policy learn from shown tests, from hidden ones, and from partial credit?", variants)


def measures(policy, task: Programs, seed: int) -> dict[str, float]:
    """The numbers of one exam, sampled, and the share that is right with greedy decoding."""
    rows = sit_exam(policy, task, seed=seed)
    found = {}
    for column in ("right", "shown"):
        share, (low, high) = share_with_interval(rows, column)
        found |= {column: share, f"{column}_low": low, f"{column}_high": high}
    for degree, part in rows.groupby("degree"):
        found[f"right_degree_{degree}"] = part["right"].mean()
    for name in STRATEGIES:
        found[f"share_{name.replace(' ', '_')}"] = (rows["strategy"] == name).mean()
    found["right_greedy"] = sit_exam(policy, task, temperature=0, seed=seed)["right"].mean()
    return found | {"n": len(rows)}


def train_one(variant: Variant, scratch: Path) -> dict[str, Any]:
    """Exam, training, exam; {result, curves, machine}, kept as a JSON file in scratch. cpu_seconds: of training."""
    path = scratch / f"{variant.name.replace('|', '_').replace(' ', '-')}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    policy, task, seed = load_policy(PUPIL, device="cpu"), Programs("compact"), variant.config.seed
    before, begin = measures(policy, task, seed), time.process_time()
    log = train(policy, task, variant.config, reward=REWARDS[variant.label])
    cpu = time.process_time() - begin
    after = measures(policy, task, seed)
    keys = {"run": variant.name, "label": variant.label, "setting": variant.setting, "seed": seed}
    result = {**keys, **after, **{f"{k}_before": v for k, v in before.items() if k != "n"}}
    result |= {"steps": variant.config.steps, "cpu_seconds": round(cpu)}
    curves = [{**keys, **row} for row in log.lines["metrics"]]
    done = {"result": result, "curves": curves, "machine": log.header["machine"]}
    write_json(path, done)
    print(variant.name, f"right {after['right']:.1%}, shown {after['shown']:.1%}, {cpu:.0f} s", file=sys.stderr)
    return done


def record(folder: Path, scratch: Path = Path("runs/studies/programs")) -> Path:
    """Run the study and write it; finished runs wait in scratch until all are, so an interrupted one goes on."""
    scratch.mkdir(parents=True, exist_ok=True)
    planned = study()
    runs = [train_one(variant, scratch) for variant in planned.variants]
    write_study(planned, runs, folder, "python -m grpo_lessons.programs_study")
    shutil.rmtree(scratch)
    return folder


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    print(record(data_dir() / "recorded" / "programs"))
