"""Several methods, several seeds, the same problems: one table and one figure, also while the runs go on.

Each run is a process of its own with its own directory OUT/METHOD-seedN. The table is made from those directories
alone, so it can be made again later, or of runs that were trained one by one.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .config import TrainConfig
from .evaluation import accuracy_interval
from .runlog import RunLog, replace_file, write_json


def options_for(policy: str, method: str) -> dict[str, Any]:
    """Method options that suit a policy: GRPO-SG on nano takes constants from nano's own logits, mean weight 1."""
    if (policy, method) == ("nano", "grpo_sg"):
        from .nano import sg_options

        return sg_options()
    return {}


def train_and_evaluate(
    policy: str,
    task: str,
    config: TrainConfig,
    run_dir: Path,
    *,
    eval_n: int,
    resume: bool = False,
    allow_changes: Collection[str] = (),
    threads: int = 1,
) -> dict[str, Any]:
    """Evaluate, train, evaluate again on the same held-out problems; returns and writes run_dir/result.json.

    policy, task: names. resume, allow_changes: as for `train`. The random choices are those of config.seed.
    """
    import torch

    from .policies import load_policy
    from .tasks import get_task

    torch.set_num_threads(threads)
    loaded = load_policy(policy, seed=config.seed)
    training = {"resume": resume, "allow_changes": allow_changes}
    return measure_run(loaded, get_task(task), config, run_dir, eval_n=eval_n, **training)


def measure_run(
    loaded, problems, config: TrainConfig, run_dir: Path, *, eval_n: int, batch: int = 256, **training
) -> dict[str, Any]:
    """The same with a policy that is loaded and a task with its own options.

    batch: sequences sampled at once in an evaluation. training: more arguments of `train`.
    """
    from .evaluation import evaluate
    from .trainer import train

    evaluation = {"n": eval_n, "seed": config.seed, "max_new_tokens": config.max_new_tokens, "batch": batch}
    before = evaluate(loaded, problems, **evaluation)
    log = train(loaded, problems, config, run_dir=run_dir, **training)
    after = evaluate(loaded, problems, **evaluation)
    greedy = evaluate(loaded, problems, temperature=0, **evaluation)
    result = {
        "policy": loaded.name,
        "task": problems.name,
        "method": config.method,
        "method_options": config.method_options,
        "seed": config.seed,
        "steps": config.steps,
        "n": eval_n,
        "before": _accuracy(before),
        "after": _accuracy(after),
        "greedy": _accuracy(greedy),
        "train_accuracy": log.table["accuracy"].iloc[-1],
        "length": [before.length, after.length],
        "grad_norm_max": log.table["grad_norm_max"].max(),
        "correct": "".join("01"[int(c)] for c in after.correct[:, 0]),
        "seconds": round(float(log.system.filter(like="seconds_").to_numpy().sum()), 1),
        "machine": log.header["machine"],
    }
    write_json(run_dir / "result.json", result)
    return result


def _accuracy(report) -> list[float]:
    """[accuracy, low, high]."""
    return [report.accuracy, *report.interval]


def run_all(
    configs: Sequence[TrainConfig],
    out: Path,
    *,
    policy: str = "nano",
    task: str = "addition",
    eval_n: int = 500,
    jobs: int | None = None,
    on_result: Callable[[dict], None] = lambda result: None,
    poll: Callable[[dict[str, int]], None] = lambda done: None,
) -> list[dict]:
    """Train every configuration, `jobs` at a time (default: one per core), and return the results in order.

    A run whose result.json exists is not trained again; one that was interrupted goes on from its checkpoint.
    poll: called about once a second with {run name: steps done}.
    """
    directories = {run_name(config): out / run_name(config) for config in configs}
    if len(directories) < len(configs):
        raise ValueError("two of the runs have the same method and seed; give each its own")
    context = multiprocessing.get_context("spawn")  # fork after torch has started threads can hang
    with ProcessPoolExecutor(jobs or os.cpu_count() or 1, mp_context=context) as pool:
        futures = [
            pool.submit(train_and_evaluate, policy, task, c, directories[run_name(c)], eval_n=eval_n, resume=True)
            for c in configs
            if not (directories[run_name(c)] / "result.json").exists()
        ]
        waiting = set(futures)
        while waiting:
            try:
                for future in as_completed(waiting, timeout=1):
                    waiting.discard(future)
                    on_result(future.result())
            except TimeoutError:
                pass
            poll({name: steps_done(path) for name, path in directories.items()})
    return [json.loads((directories[run_name(c)] / "result.json").read_text()) for c in configs]


def run_name(config: TrainConfig) -> str:
    """The directory of a run: method and seed."""
    return f"{config.method}-seed{config.seed}"


def steps_done(run_dir: Path) -> int:
    """Lines of a run's metrics file so far."""
    path = run_dir / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def configurations(
    methods: Sequence[str], seeds: Sequence[int], base: TrainConfig, *, policy: str
) -> list[TrainConfig]:
    """Every method with every seed, with the method options that suit the policy."""
    return [
        replace(base, method=method, seed=seed, method_options=options_for(policy, method))
        for method in methods
        for seed in seeds
    ]


def summary(results: Sequence[dict]):
    """One row a method: mean held-out accuracy before and after with its 95 % interval, worst seed, seconds.

    The interval of several seeds is a bootstrap over problems and seeds together, which treats them as one sample;
    seeds of the same method also differ as runs, so `worst_seed` stands beside it.
    """
    import pandas as pd

    rows = []
    for method in dict.fromkeys(r["method"] for r in results):
        mine = [r for r in results if r["method"] == method]
        correct = np.concatenate([np.array(list(r["correct"]), dtype=int) for r in mine])
        low, high = accuracy_interval(correct[:, None])
        rows.append(
            {
                "method": method,
                "seeds": len(mine),
                "before": np.mean([r["before"][0] for r in mine]),
                "after": correct.mean(),
                "low": low,
                "high": high,
                "greedy": np.mean([r["greedy"][0] for r in mine]),
                "worst_seed": min(r["after"][0] for r in mine),
                "length_before": np.mean([r["length"][0] for r in mine]),
                "length_after": np.mean([r["length"][1] for r in mine]),
                "seconds": np.mean([r["seconds"] for r in mine]),
            }
        )
    return pd.DataFrame(rows)


def report(results: Sequence[dict], out: Path) -> tuple[Any, Path]:
    """Write OUT/results.csv and OUT/training.png; returns (summary table, path of the figure)."""
    import pandas as pd

    from . import plots

    table = summary(results)
    replace_file(out / "summary.csv", table.to_csv(index=False).encode())
    flat = pd.DataFrame([{k: v for k, v in r.items() if k not in ("correct", "machine")} for r in results])
    replace_file(out / "results.csv", flat.to_csv(index=False).encode())
    first = {}
    for r in results:
        first.setdefault(r["method"], RunLog.load(out / f"{r['method']}-seed{r['seed']}"))
    figure = plots.methods_panel(first)
    path = out / "training.png"
    figure.savefig(path, dpi=130)
    return table, path
