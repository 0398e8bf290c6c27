"""How the cost of a step grows: processor seconds of each phase against group size, completion length and width.

    python -m benchmarks.scaling [--repeats 3]

Random models of nano's shape, whose completions run to the length limit, so that the work is known. For each axis the
exponent of time (slope of log seconds on log size, least squares) stands beside the exponent of the arithmetic,
counted on the same step: an exponent of time above it would mean that something besides arithmetic grows.
Prints a table and writes it to benchmarks/results/scaling.md.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.engine import ATTENTION_OPERATIONS
from grpo_lessons.config import TrainConfig
from grpo_lessons.machine import describe_machine
from grpo_lessons.nano import build_model, build_tokenizer
from grpo_lessons.policies import Policy
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.tasks import get_task
from grpo_lessons.update import Updater

RESULTS = Path(__file__).parent / "results" / "scaling.md"
BASE = {"group_size": 8, "completion": 32, "width": 96}
AXES = {
    "group_size": [4, 8, 16, 32],
    "completion": [16, 32, 64, 128],
    "width": [48, 96, 192],
}


def step_of(group_size: int, completion: int, width: int):
    """A function that does one step of 16 prompts and yields (phase, call) pairs to measure."""
    tokenizer = build_tokenizer()
    policy = Policy(build_model(tokenizer, seed=0, hidden=width), tokenizer, torch.device("cpu"))
    problems = get_task("addition").problems("train", 16, 0)
    updater = Updater(policy, TrainConfig(prompts_per_step=16, group_size=group_size), completion)
    rewards = torch.arange(16 * group_size).view(16, group_size) % 2.0  # no group is dead
    made = {}

    def sample():
        made["rollouts"] = sample_groups(policy, problems, group_size, max_new_tokens=completion, seed=0)

    def update():
        updater.update(made["rollouts"], rewards, updater.method.advantages(rewards), 1)

    return {"sample": sample, "update": update}


def measure(size: dict, repeats: int) -> dict[str, tuple[float, int]]:
    """Phase -> (processor seconds, floating-point operations)."""
    phases = step_of(**size)
    seconds, operations = defaultdict(list), {}
    for name, call in phases.items():
        with FlopCounterMode(display=False, custom_mapping=ATTENTION_OPERATIONS) as counter:
            call()
        operations[name] = counter.get_total_flops()
    for _ in range(repeats):
        for name, call in phases.items():
            begin = time.process_time()
            call()
            seconds[name].append(time.process_time() - begin)
    return {name: (median(seconds[name]), operations[name]) for name in phases}


def exponent(sizes: list[int], values: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    lines = [
        "| axis | sizes | phase | seconds | exponent of time | exponent of arithmetic |",
        "|---|---|---|---|---|---|",
    ]
    for axis, sizes in AXES.items():
        results = [measure({**BASE, axis: size}, args.repeats) for size in sizes]
        for phase in results[0]:
            seconds, operations = zip(*(r[phase] for r in results), strict=True)
            shown = ", ".join(f"{s:.3f}" for s in seconds)
            slopes = f"{exponent(sizes, seconds):.2f} | {exponent(sizes, operations):.2f}"
            lines.append(f"| {axis} | {', '.join(map(str, sizes))} | {phase} | {shown} | {slopes} |")
            print(lines[-1], flush=True)
    machine = describe_machine()
    base = ", ".join(f"{name} {size}" for name, size in BASE.items())
    title = f"16 prompts, 4 minibatches, {base} where an axis does not say otherwise, 1 thread. "
    title += f"{machine['hardware']}, torch {machine['torch']}, {machine['date']}."
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(
        "# How the cost of a step grows\n\n" + title + "\n\n" + "\n".join(lines) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
