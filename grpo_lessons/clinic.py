"""Seven training runs, six of them sick, for lesson 10: recorded once, and ready to be trained again with a change.

    python -m grpo_lessons.clinic               records all of them into data/recorded/clinic/
    grpo-lessons diagnose data/recorded/clinic/run_a      and `show` read them like any run directory

The names of the runs say nothing. What was done to which stands in PATIENTS below: do the lesson first.

A recorded run is a run directory as `train` leaves it, with numbers rounded and without what no reader needs:
checkpoints, the trained policy, seconds, and the completions of most steps.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .adapters import LoraSpec
from .config import TrainConfig
from .paths import data_dir
from .runlog import RunLog, replace_file, write_json
from .verifiers import museum, reward_function, verify_integer

EVALUATION = {"eval_every": 10, "eval_n": 200, "eval_splits": ("held_out",)}
HEALTHY = TrainConfig(steps=40, prompts_per_step=16, checkpoint_every=0, **EVALUATION)
READ_AT = (1, 20, 40)  # steps whose completions are kept
DIGITS = 5  # significant digits of a recorded number

FAULTS = {
    "healthy": "nothing is wrong",
    "cut_off": "max_new_tokens is too small: no answer fits",
    "too_cold": "the temperature is too low: a group's completions are all the same",
    "too_hard": "the problems are too hard: hardly any completion is right",
    "rate_too_high": "the learning rate is too high: the policy breaks",
    "rate_too_low": "the learning rate is too low: the policy does not move",
    "hacked": "the reward function is wrong, and the policy has found out",
    "memorised": "too few training problems: they are learned by heart",
}


@dataclass(frozen=True)
class Patient:
    """fault: a key of FAULTS. finding: what `diagnose` calls it, None for no finding. changes: of HEALTHY's settings.

    verify: (completion, expected) -> verdict or number, the reward that it is trained on. lora: adapters, if any.
    """

    fault: str
    finding: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    verify: Callable = verify_integer
    lora: LoraSpec | None = None


# run_g has the rate of the DeepSeekMath paper, which trains all weights of a large model, on adapters of a tiny one.
PATIENTS = {
    "run_a": Patient("memorised", "the training problems are memorised", {"train_problems": 16}),
    "run_b": Patient("too_cold", "dead groups", {"temperature": 0.05}),
    "run_c": Patient("rate_too_high", "the learning rate is too high", {"learning_rate": 2e-3}),
    "run_d": Patient("healthy"),
    "run_e": Patient("cut_off", "the reward never differs", {"max_new_tokens": 3}),
    "run_f": Patient("hacked", "the reward is hacked", verify=museum.substring_match),
    "run_g": Patient("rate_too_low", "the learning rate is too low", {"learning_rate": 1e-6}, lora=LoraSpec()),
}


def folder(name: str = "") -> Path:
    """Where a recorded run lies, or all of them. ValueError for an unknown name."""
    if name and name not in PATIENTS:
        raise ValueError(f"no run is called {name!r}; the clinic has {', '.join(PATIENTS)}")
    return data_dir() / "recorded" / "clinic" / name


def load(name: str) -> RunLog:
    """A recorded run. FileNotFoundError if it was not recorded."""
    return RunLog.load(folder(name))


def caption() -> str:
    """Where and when the runs were recorded, for a figure's last line."""
    machine = json.loads((folder() / "about.json").read_text(encoding="utf-8"))["machine"]
    return f"recorded {machine['date']} on {machine['hardware']}, seed {HEALTHY.seed}"


def admit(name: str):
    """(policy, task, config, reward) of a run before its first step: what `train` needs to make it again."""
    from .policies import load_policy
    from .tasks import get_task

    folder(name)
    patient = PATIENTS[name]
    reward = reward_function(patient.verify, expected="answer")
    reward.__name__ = "reward"  # run.json keeps it, and the name of the verifier would be a label
    policy = load_policy("nano", lora=patient.lora, device="cpu")
    return policy, get_task("addition"), replace(HEALTHY, **patient.changes), reward


def record(name: str, into: Path) -> None:
    """Train a run and keep what a reader needs in the folder `into`."""
    from .trainer import train

    policy, task, config, reward = admit(name)
    with TemporaryDirectory() as scratch:
        train(policy, task, config, reward=reward, run_dir=Path(scratch) / "run")
        log = RunLog.load(Path(scratch) / "run")
    into.mkdir(parents=True, exist_ok=True)
    write_json(into / "run.json", {key: value for key, value in log.header.items() if key != "git"})
    kept = {
        "metrics": log.lines["metrics"],
        "evals": log.lines["evals"],
        "completions": [row for row in log.lines["completions"] if row["step"] in READ_AT],
        "events": log.lines["events"],
    }
    for stream, rows in kept.items():
        text = "".join(json.dumps(_rounded(row), ensure_ascii=False) + "\n" for row in rows)
        replace_file(into / f"{stream}.jsonl", text.encode())


def _rounded(row: dict) -> dict:
    return {key: float(f"{x:.{DIGITS}g}") if isinstance(x, float) else x for key, x in row.items()}


def write_about() -> None:
    """Say in about.json how the runs were recorded; the machine is that of the last one."""
    about = {
        "question": "What is wrong with these runs? One of them is healthy.",
        "command": "python -m grpo_lessons.clinic",
        "seeds": [HEALTHY.seed],
        "machine": load(list(PATIENTS)[-1]).header["machine"],
        "runs": list(PATIENTS),
        "settings": "run.json of each run",
        "kept": f"numbers to {DIGITS} significant digits; completions of the steps {', '.join(map(str, READ_AT))}",
    }
    write_json(folder() / "about.json", about)


def main() -> None:
    """Record every run."""
    import torch

    torch.set_num_threads(1)
    for name in PATIENTS:
        record(name, folder(name))
        print(name, "recorded", file=sys.stderr, flush=True)
    write_about()


if __name__ == "__main__":
    main()
