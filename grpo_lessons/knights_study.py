"""The recorded study of lesson 14: token weights on logic puzzles, and what to train on.

    python -m grpo_lessons.knights_study          writes data/recorded/knights/ (the files that `studies` describes)

label: the method. setting: the people in the puzzles that were trained on, in the order of training; all settings take
the same number of steps. results.csv holds, of the same held-out puzzles before and after: accuracy with 2 and with 3
people (two_people, three_people), sampled with its 95 % interval (_low, _high) and greedy (_greedy), the share of
completions that checked every speaker (_checked) and their mean length (_length); tokens: sampled while training.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .config import TrainConfig
from .evaluation import evaluate
from .nano import sg_options
from .paths import data_dir
from .policies import load_policy
from .runlog import write_json
from .studies import Recorded, Study, Variant, write_study
from .tasks.knights_knaves import KnightsKnaves
from .trainer import train

PUPIL, N = "nano-knights", 300
COLUMNS = {2: "two_people", 3: "three_people"}
METHODS = ("grpo", "grpo_sg", "ar", "lopti")
# setting -> the people of each stage of training, one after the other
STAGES: dict[str, tuple[tuple[int, ...], ...]] = {
    "2 people": ((2,),),
    "3 people": ((3,),),
    "2, then 3": ((2,), (3,)),
    "2 and 3 mixed": ((2, 3),),
}
SETTINGS = TrainConfig(steps=40, prompts_per_step=16, group_size=8, learning_rate=3e-4)


def study(seeds: Sequence[int] = (0, 1)) -> Study:
    """Every method on two people, and GRPO on every setting, seed by seed."""
    kinds = [*((method, "2 people") for method in METHODS), *(("grpo", setting) for setting in list(STAGES)[1:])]
    variants = [Variant(method, setting, config_of(method, seed)) for seed in seeds for method, setting in kinds]
    return Study("Do token weights help on logic puzzles, and do small puzzles teach larger ones?", variants, n=N)


def config_of(method: str, seed: int) -> TrainConfig:
    """The settings of a run; GRPO-SG takes its constants from the pupil's own logits, with weights of mean 1."""
    options = sg_options(data_dir() / PUPIL) if method == "grpo_sg" else {}
    return replace(SETTINGS, method=method, method_options=options, seed=seed)


def train_stages(policy, setting: str, config: TrainConfig) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Train in place, stage after stage, the steps shared equally; returns the metrics of all steps and the machine."""
    rows: list[dict[str, Any]] = []
    stages = STAGES[setting]
    for people in stages:
        log = train(policy, KnightsKnaves(people, "compact"), replace(config, steps=config.steps // len(stages)))
        done = len(rows)
        rows += [
            {**row, "step": done + row["step"], "people": "+".join(map(str, people))} for row in log.lines["metrics"]
        ]
    return rows, log.header["machine"]


def measures(policy, *, n: int, seed: int) -> dict[str, float]:
    """The numbers of one evaluation, on n held-out puzzles of each size."""
    found: dict[str, float] = {}
    for people, name in COLUMNS.items():
        task = KnightsKnaves(people, "compact")
        report = evaluate(policy, task, n=n, seed=seed)
        kinds = [task.strategy(*pair) for pair in zip(report.texts, task.problems("held_out", n, seed), strict=True)]
        found[name] = report.accuracy
        found[f"{name}_low"], found[f"{name}_high"] = report.interval
        found[f"{name}_greedy"] = evaluate(policy, task, n=n, temperature=0, seed=seed).accuracy
        found[f"{name}_checked"] = kinds.count("checked every speaker") / n
        found[f"{name}_length"] = report.length
    return found


def train_one(variant: Variant, before: dict[str, float], n: int, scratch: Path) -> dict[str, Any]:
    """Train and measure; {result, curves, machine}, kept as a JSON file in scratch.

    before: the measures of the untrained pupil on the same puzzles. cpu_seconds in the result: of training.
    """
    path = scratch / f"{variant.name.replace('|', '_').replace(' ', '-')}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    policy, begin = load_policy(PUPIL, device="cpu"), time.process_time()
    rows, machine = train_stages(policy, variant.setting, variant.config)
    cpu = time.process_time() - begin
    after = measures(policy, n=n, seed=variant.config.seed)
    keys = {"run": variant.name, "label": variant.label, "setting": variant.setting, "seed": variant.config.seed}
    result = {**keys, "n": n, **after, **{f"{k}_before": v for k, v in before.items()}}
    result |= {"steps": len(rows), "tokens": sum(row["tokens"] for row in rows), "cpu_seconds": round(cpu)}
    done = {"result": result, "curves": [{**keys, **row} for row in rows], "machine": machine}
    write_json(path, done)
    print(
        variant.name, *(f"{after[name]:.1%}" for name in COLUMNS.values()), f"{cpu:.0f} s", file=sys.stderr, flush=True
    )
    return done


def record(folder: Path, scratch: Path = Path("runs/studies/knights")) -> Path:
    """Run the study and write it; finished runs wait in scratch until all are, so an interrupted one goes on."""
    scratch.mkdir(parents=True, exist_ok=True)
    planned = study()
    seeds = {variant.config.seed for variant in planned.variants}
    before = {seed: measures(load_policy(PUPIL, device="cpu"), n=planned.n, seed=seed) for seed in seeds}
    runs = [train_one(variant, before[variant.config.seed], planned.n, scratch) for variant in planned.variants]
    write_study(planned, runs, folder, "python -m grpo_lessons.knights_study")
    shutil.rmtree(scratch)
    return folder


def curricula(recorded: Recorded) -> Recorded:
    """GRPO's runs with label and setting exchanged, so that what was trained on is what is compared."""
    exchanged = {"label": "setting", "setting": "label"}
    tables = (
        table[table["label"] == "grpo"].rename(columns=exchanged) for table in (recorded.curves, recorded.results)
    )
    return Recorded(recorded.about, *tables)


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    print(record(data_dir() / "recorded" / "knights"))
