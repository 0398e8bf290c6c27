"""Recorded studies: comparisons that take longer than a lesson, with all that is needed to make them again.

    python -m grpo_lessons.studies                    lists them
    python -m grpo_lessons.studies ladder             records one into data/recorded/ladder/

A study is a list of runs on nano and addition. It leaves three files:

    about.json    the question, command, versions, hardware, date, and every run's settings
    curves.csv    one row a step and run: the columns of `RunLog.table`, with `run`, `label`, `seed`, `setting`
    results.csv   one row a run: held-out accuracy before and after on `n` problems (low and high: Wilson 95 %),
                  accuracy on the problems it trained on, on three-digit sums it never met, and the same greedy
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .compare import options_for
from .config import TrainConfig
from .paths import data_dir
from .runlog import replace_file, write_json

SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Variant:
    """One run of a study. label: what is compared, such as a method. setting: where, such as a learning rate.

    critic: None trains with `train`, a kind of critic with `train_ppo`.
    """

    label: str
    setting: str
    config: TrainConfig
    critic: str | None = None

    @property
    def name(self) -> str:
        return f"{self.label}|{self.setting}|{self.config.seed}"


@dataclass(frozen=True)
class Study:
    """question: what the runs answer. variants: the runs. n: held-out problems of the final evaluation."""

    question: str
    variants: Sequence[Variant] = field(repr=False)
    n: int = 500


@dataclass(frozen=True)
class Recorded:
    """A study read back. about: the content of about.json. curves, results: DataFrames."""

    about: dict[str, Any]
    curves: Any
    results: Any

    @property
    def caption(self) -> str:
        """Where and when, for a figure's last line."""
        machine = self.about["machine"]
        return f"recorded {machine['date']} on {machine['hardware']}, seeds {', '.join(map(str, self.about['seeds']))}"


def grid(labels: dict[str, dict], settings: dict[str, dict], seeds: Sequence[int] = SEEDS) -> list[Variant]:
    """Every label with every setting and seed; both are changes of TrainConfig by name."""
    base = TrainConfig(eval_every=10, eval_n=200, eval_splits=("held_out",))
    return [
        Variant(label, setting, replace(base, seed=seed, **changes, **where))
        for label, changes in labels.items()
        for setting, where in settings.items()
        for seed in seeds
    ]


def methods(*names: str) -> dict[str, dict]:
    """Labels that are methods, with the options that suit nano."""
    return {name: {"method": name, "method_options": options_for("nano", name)} for name in names}


def studies() -> dict[str, Study]:
    """All recorded studies by name."""
    rates = {f"{rate:.0e}": {"learning_rate": rate, "steps": 60} for rate in (2e-4, 5e-4, 1e-3)}
    steep = {"1e-03": rates["1e-03"]}
    sizes = {f"{n} sums": {"steps": 60, "train_problems": n} for n in (16, 256)}
    more = {"64 sums": {"steps": 60, "train_problems": 64}, "all sums": {"steps": 60}}
    gmpo = methods("gmpo", "gmpo_no_clip", "gmpo_narrow", "gmpo_wide", "gmpo_sequence_clip")
    sharp = methods("grpo", "grpo_sg", "ar", "lopti", "high_entropy")
    second_hand = {"grpo_sg, second-hand constants": {"method": "grpo_sg", "method_options": {}}}
    short = {"30 steps": {"steps": 30}}
    ppo = grid({f"ppo_{critic}": {} for critic in ("separate", "shared", "none")}, short)
    return {
        "ladder": Study("How does each method bend as the learning rate rises?", grid(methods("grpo", "gmpo"), rates)),
        "gmpo_ablation": Study("What does GMPO's clip do, and where?", grid(gmpo, steep)),
        "sharpness": Study(
            "Do token weights help on sums that were never trained on?",
            [*grid(sharp | second_hand, sizes, seeds=(0, 1)), *grid(methods("grpo", "grpo_sg"), more, seeds=(0, 1))],
        ),
        "lengths": Study(
            "Do wrong answers grow longer under GRPO than under Dr. GRPO?",
            grid(methods("grpo", "dr_grpo", "dapo"), {"default": {"steps": 60}}, seeds=range(5)),
        ),
        "three_methods": Study(
            "Do GRPO, GMPO and GRPO-SG reach 95 % with default settings?",
            grid(methods("grpo", "gmpo", "grpo_sg"), {"default": {"steps": 80, "decay_to": 0.1}}, seeds=range(5)),
            n=1000,
        ),
        "ppo": Study(
            "What does a critic buy at the same number of completions?",
            [*grid(methods("grpo"), short), *(replace(v, critic=v.label.removeprefix("ppo_")) for v in ppo)],
        ),
    }


def load_recorded(name: str) -> Recorded:
    """Read data/recorded/NAME. FileNotFoundError if it was not recorded."""
    import pandas as pd

    folder = data_dir() / "recorded" / name
    if not (folder / "about.json").is_file():
        raise FileNotFoundError(f"no recorded study at {folder}; make it with `python -m grpo_lessons.studies {name}`")
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    tables = (pd.read_csv(folder / name, dtype={"setting": str}) for name in ("curves.csv", "results.csv"))
    return Recorded(about, *tables)  # a setting such as 1e-03 stays a name


def record(name: str, *, jobs: int | None = None) -> Path:
    """Run a study, `jobs` runs at a time, and write it to data/recorded/NAME; returns that folder.

    Finished runs are kept in runs/studies/NAME until the whole study is written, so an interrupted one goes on.
    """
    study = studies()[name]
    scratch, folder = Path("runs/studies") / name, data_dir() / "recorded" / name
    scratch.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs or os.cpu_count(), mp_context=context) as pool:
        runs = list(pool.map(_run, study.variants, [study.n] * len(study.variants), [scratch] * len(study.variants)))
    write_study(study, runs, folder, f"python -m grpo_lessons.studies {name}")
    shutil.rmtree(scratch)
    return folder


def _run(variant: Variant, n: int, scratch: Path) -> dict[str, Any]:
    """Train and evaluate one variant; returns {result, curves, machine}, kept as a JSON file of its own."""
    path = scratch / (variant.name.replace("|", "_").replace(" ", "-").replace("/", "-") + ".json")
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    import torch

    from .policies import load_policy
    from .ppo import train_ppo
    from .tasks import get_task
    from .trainer import train

    torch.set_num_threads(1)
    policy, task = load_policy("nano"), get_task("addition")
    before = _accuracies(policy, task, variant.config, n)
    log = (
        train_ppo(policy, task, variant.config, critic=variant.critic)
        if variant.critic
        else train(policy, task, variant.config)
    )
    after = _accuracies(policy, task, variant.config, n)
    keys = {"run": variant.name, "label": variant.label, "setting": variant.setting, "seed": variant.config.seed}
    evals = {row["step"]: row for row in log.lines["evals"]}
    curves = [{**keys, **row, "held_out": evals.get(row["step"], {}).get("accuracy")} for row in log.lines["metrics"]]
    result = {**keys, "n": n, **{f"{k}_before": v for k, v in before.items()}, **after, "steps": variant.config.steps}
    run = {"result": result, "curves": curves, "machine": log.header["machine"]}
    write_json(path, run)
    print(variant.name, f"{after['accuracy']:.1%}", file=sys.stderr, flush=True)
    return run


def _accuracies(policy, task, config: TrainConfig, n: int) -> dict[str, float]:
    """Sampled and greedy accuracy on held-out sums, sampled on the training sums and on three-digit sums."""
    from .evaluation import evaluate
    from .tasks import get_task

    held_out = evaluate(policy, task, n=n, seed=config.seed)
    seen = evaluate(policy, task, n=min(n, config.train_problems or n), seed=config.seed, split="train")
    return {
        "accuracy": held_out.accuracy,
        "low": held_out.interval[0],
        "high": held_out.interval[1],
        "greedy": evaluate(policy, task, n=n, seed=config.seed, temperature=0).accuracy,
        "train": seen.accuracy,
        "three_digits": evaluate(policy, get_task("addition", digits=3), n=200, seed=config.seed).accuracy,
        "length": held_out.length,
    }


def write_study(study: Study, runs: list[dict], folder: Path, command: str) -> None:
    """Write about.json, curves.csv and results.csv. runs: {result, curves, machine} of each variant, in order."""
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    curves = pd.DataFrame([row for run in runs for row in run["curves"]])
    shares = [c for c in curves if c.startswith(("reason_", "strategy_"))]
    curves = curves.fillna(dict.fromkeys(shares, 0.0))
    replace_file(folder / "curves.csv", curves.to_csv(index=False, float_format="%.5g").encode())
    results = pd.DataFrame([run["result"] for run in runs])
    replace_file(folder / "results.csv", results.to_csv(index=False, float_format="%.5g").encode())
    about = {
        "question": study.question,
        "command": command,
        "seeds": sorted({v.config.seed for v in study.variants}),
        "machine": runs[-1]["machine"],
        "runs": {v.name: v.config.to_dict() for v in study.variants},
    }
    write_json(folder / "about.json", about)


def main(arguments: list[str]) -> None:
    """`python -m grpo_lessons.studies [NAME ...]`."""
    known = studies()
    if not arguments or set(arguments) - set(known):
        print("\n".join(f"{name:16} {len(study.variants):3} runs  {study.question}" for name, study in known.items()))
        return
    for name in arguments:
        print(record(name))
    if "three_methods" in arguments:
        show_three_methods()


def show_three_methods() -> None:
    """Print the README's table and draw its figure, from the recorded runs."""
    from .plots import methods_overview
    from .pooled import markdown

    study = load_recorded("three_methods")
    print(markdown(study))
    methods_overview(study).savefig(data_dir() / "recorded" / "three_methods" / "training.png", dpi=130)


if __name__ == "__main__":
    main(sys.argv[1:])
