"""The recorded study of lesson 16: what a cost per call, the mask over results and GRPO-SG do, over seeds.

    python -m grpo_lessons.lookup_study          writes data/recorded/lookup/ (the files that `studies` describes)

results.csv holds, of the same held-out questions before and after: exact match, F1, calls for each completion, share
of completions with a call where the facts stand in the prompt (searched_note) and where they do not, accuracy by kind
of question, and faults for each 100 completions. result_logp: how likely the policy finds the words of results that
the untrained pupil read, in nats for a token.
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

import torch

from .config import TrainConfig
from .evaluation import wilson_interval
from .logprobs import token_logprobs
from .nano import sg_options
from .paths import data_dir
from .policies import load_policy
from .runlog import write_json
from .studies import Study, Variant, write_study
from .tasks.lookup_qa import CallCost, LookupQA
from .tasks.lookup_report import faults, observe
from .tool_rollouts import ToolRollouts
from .trainer import train

QUESTION = "When does a policy learn to search, and what does the mask over results do?"
PUPIL, SEEDS, N = "nano-lookup", (0, 1, 2), 300
COSTS = {"cost 0": 0.0, "cost 0.1": 0.1, "cost 0.2": 0.2}  # taken from the reward for each call
SETTINGS = TrainConfig(steps=40, prompts_per_step=16, group_size=8, minibatches=4, learning_rate=3e-4)


class Unmasked(LookupQA):
    """The fault that the mask prevents: the environment's words count as the policy's own."""

    def rollout(self, policy, problems, group_size: int, **options):
        """As in `LookupQA`, with a mask that is 1 on results too."""
        rollouts = super().rollout(policy, problems, group_size, **options)
        return replace(rollouts, mask=rollouts.mask + rollouts.read_mask)


def study(seeds: Sequence[int] = SEEDS) -> Study:
    """The runs, seed by seed. label: a method, or "no mask" for GRPO on `Unmasked`. setting: the cost of a call."""
    kinds = [
        *(("grpo", cost) for cost in COSTS),
        ("grpo_sg", "cost 0.1"),
        ("no mask", "cost 0"),
        ("no mask", "cost 0.1"),
    ]
    return Study(QUESTION, [Variant(label, cost, settings(label, seed)) for seed in seeds for label, cost in kinds], N)


def settings(label: str, seed: int) -> TrainConfig:
    """Results were not sampled, so without the mask their logp_old comes from a forward pass."""
    if label == "no mask":
        return replace(SETTINGS, seed=seed, old_logp="recompute")
    options = sg_options(data_dir() / PUPIL) if label == "grpo_sg" else {}
    return replace(SETTINGS, seed=seed, method=label, method_options=options)


def measures(rows) -> dict[str, float]:
    """Numbers of one evaluation, from the rows of `lookup_report.observe`."""
    hits, n = int(rows["correct"].sum()), len(rows)
    low, high = wilson_interval(hits, n)
    found = {"accuracy": hits / n, "low": low, "high": high, "f1": rows["f1"].mean(), "calls": rows["calls"].mean()}
    for note, part in rows.groupby("note"):
        found[f"searched_{'note' if note else 'no_note'}"] = part["searched"].mean()
    for (kind, note), part in rows.groupby(["kind", "note"]):
        found[f"accuracy_{kind.replace(' ', '_')}_{'note' if note else 'no_note'}"] = part["correct"].mean()
    return found | {f"per_100_{name.replace(': ', '_')}": value for name, value in faults(rows).items()}


@torch.no_grad()
def result_logp(policy, rollouts: ToolRollouts) -> float:
    """Mean log-probability that a policy gives to the environment's tokens of some rollouts, in nats."""
    ids = torch.cat([rollouts.prompt_ids, rollouts.completion_ids], 1)
    attention = torch.cat([rollouts.prompt_mask, torch.ones_like(rollouts.completion_ids)], 1)
    T = rollouts.completion_ids.shape[1]
    scores = token_logprobs(policy.model, ids, attention, T, mask=rollouts.read_mask)
    return float(scores.logp[rollouts.read_mask.bool()].mean())


def train_one(variant: Variant, n: int, scratch: Path) -> dict[str, Any]:
    """Observe, train, observe; {result, curves, machine}, kept as a JSON file in scratch. cpu_seconds: of training."""
    path = scratch / f"{variant.name.replace('|', '_').replace(' ', '-')}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    policy, task, seed = load_policy(PUPIL, device="cpu"), LookupQA("compact"), variant.config.seed
    read = task.rollout(policy, task.problems("dev", 60, 0), 1, max_new_tokens=task.max_new_tokens, seed=0)

    def observed() -> dict[str, float]:
        return measures(observe(policy, task, n=n, seed=seed)) | {"result_logp": result_logp(policy, read)}

    before, begin = observed(), time.process_time()
    trained_on = Unmasked("compact") if variant.label == "no mask" else task
    log = train(policy, trained_on, variant.config, reward=CallCost(COSTS[variant.setting]))
    cpu, after = time.process_time() - begin, observed()
    keys = {"run": variant.name, "label": variant.label, "setting": variant.setting, "seed": seed}
    result = {**keys, "n": n, **{f"{k}_before": v for k, v in before.items()}, **after}
    result |= {"steps": variant.config.steps, "cpu_seconds": round(cpu)}
    curves = [{**keys, **row} for row in log.lines["metrics"]]
    done = {"result": result, "curves": curves, "machine": log.header["machine"]}
    write_json(path, done)
    print(variant.name, f"{after['accuracy']:.1%}", f"{cpu:.0f} s", file=sys.stderr, flush=True)
    return done


def record(folder: Path, scratch: Path = Path("runs/studies/lookup")) -> Path:
    """Run the study and write it; finished runs wait in scratch until all are, so an interrupted one goes on."""
    scratch.mkdir(parents=True, exist_ok=True)
    planned = study()
    runs = [train_one(variant, planned.n, scratch) for variant in planned.variants]
    write_study(planned, runs, folder, "python -m grpo_lessons.lookup_study")
    shutil.rmtree(scratch)
    return folder


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(record(data_dir() / "recorded" / "lookup"))
