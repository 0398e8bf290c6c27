"""A recorded study: GRPO with LoRA teaches SmolLM2-135M to give small sums in the answer format, on a laptop CPU.

    python -m grpo_lessons.smollm2_study          writes data/recorded/smollm2/ (the files that `studies` describes)

Two runs. "bare" asks the question and nothing else: no completion holds an answer block, all rewards are equal, every
group is dead, nothing can be learned. "shown" puts two worked examples before the question and pays 0.2 for the layout;
from there GRPO goes on. Accuracy is the strict verdict on sums of pairs that were never trained on, without the bonus.
The settings were fixed after one trial of three steps; a step of "shown" takes about half a CPU minute on one core.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .config import TrainConfig
from .paths import data_dir
from .runlog import replace_file, write_json
from .tasks.answer_format import correct_and_format
from .tasks.instructed import Instructed
from .tasks.small_sums import EXAMPLES, SmallSums
from .verifiers import verify_integer

QUESTION = "Can GRPO teach a 135 M parameter language model on a laptop, and what does it need to begin?"
SHOWN = TrainConfig(
    steps=10,
    prompts_per_step=6,
    group_size=8,
    minibatches=2,
    learning_rate=5e-4,
    max_new_tokens=16,
)
BARE = TrainConfig(steps=1, prompts_per_step=4, group_size=8, minibatches=1, learning_rate=5e-4, max_new_tokens=24)
RANK = 16


@dataclass(frozen=True)
class Run:
    """One of the two: its label, what is asked, the reward (None: the verdict alone) and the settings."""

    label: str
    task: Any
    reward: Any
    config: TrainConfig


def runs() -> list[Run]:
    """The study's runs."""
    return [
        Run("bare", Instructed(SmallSums(), max_new_tokens=24), None, BARE),
        Run("shown", Instructed(SmallSums(), examples=EXAMPLES), correct_and_format(verify_integer), SHOWN),
    ]


def train_one(run: Run, policy_name: str, n: int, samples: int) -> dict[str, Any]:
    """Evaluate, train, evaluate; {result, curves, machine}. seconds are of training alone, cpu_seconds of all cores."""
    from .adapters import LoraSpec
    from .evaluation import evaluate
    from .policies import load_policy
    from .trainer import train

    policy = load_policy(policy_name, lora=LoraSpec(rank=RANK, alpha=2 * RANK), backend="transformers", device="cpu")
    before = evaluate(policy, run.task, n=n, samples=samples)
    begin, cpu = time.perf_counter(), time.process_time()
    log = train(policy, run.task, run.config, reward=run.reward, on_step=show_progress)
    seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu
    after = evaluate(policy, run.task, n=n, samples=samples)
    keys = {"run": f"{run.label}|small sums|{run.config.seed}", "label": run.label, "setting": "small sums"}
    keys["seed"] = run.config.seed
    result = {**keys, "policy": policy_name, "source": Path(policy.source).name, "n": n, "samples": samples}
    for name, report in (("before", before), ("after", after)):
        low, high = report.interval
        result |= {f"accuracy_{name}": report.accuracy, f"low_{name}": low, f"high_{name}": high}
    result |= {"steps": run.config.steps, "seconds": round(seconds), "cpu_seconds": round(cpu_seconds)}
    return {
        "result": result,
        "curves": [{**keys, **row} for row in log.lines["metrics"]],
        "machine": log.header["machine"],
    }


def show_progress(log) -> None:
    """One line a step, for whoever waits."""
    if rows := log.lines["metrics"]:
        row = rows[-1]
        print(f"step {row['step']:3}  reward {row['reward_mean']:.2f}  right {row['accuracy']:.0%}", file=sys.stderr)


def record(folder: Path, policy_name: str = "smollm2", n: int = 30, samples: int = 2) -> Path:
    """Run the study and write about.json, curves.csv and results.csv into a folder."""
    import pandas as pd

    done = [train_one(run, policy_name, n, samples) for run in runs()]
    folder.mkdir(parents=True, exist_ok=True)
    curves = pd.DataFrame([row for run in done for row in run["curves"]])
    shares = [c for c in curves if c.startswith("reason_")]
    curves = curves.fillna(dict.fromkeys(shares, 0.0))
    replace_file(folder / "curves.csv", curves.to_csv(index=False, float_format="%.5g").encode())
    results = pd.DataFrame([run["result"] for run in done])
    replace_file(folder / "results.csv", results.to_csv(index=False, float_format="%.5g").encode())
    about = {
        "question": QUESTION,
        "command": "python -m grpo_lessons.smollm2_study",
        "seeds": [0],
        "machine": done[-1]["machine"],
        "policy": {"name": policy_name, "source": done[-1]["result"]["source"], "lora_rank": RANK},
        "examples": [list(pair) for pair in EXAMPLES],
        "runs": {run["result"]["run"]: r.config.to_dict() for run, r in zip(done, runs(), strict=True)},
    }
    write_json(folder / "about.json", about)
    return folder


if __name__ == "__main__":
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1))
    print(record(data_dir() / "recorded" / "smollm2"))
