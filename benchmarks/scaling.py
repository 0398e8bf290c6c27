"""How the cost of a step grows: processor seconds of each phase against group size, completion length and model size.

    python -m benchmarks.scaling [--repeats 5]

Models with random weights; the end token is never drawn, so that every completion has its full length and the work is
known. Each time is the smallest of the repeats, which take turns over all sizes: on a shared machine other work only
adds. The exponent is the slope of log seconds on log size, least squares. Beside it stand those of the arithmetic,
counted on the same step, and of the limit: arithmetic at the rate of a large matrix product + the traffic of the cache
at the rate of reading memory, both measured here. (Each step of sampling reads all keys and values so far, each for one
multiplication, which no processor does at the rate of a matrix product.) A phase that grew faster than its limit would
do something besides its arithmetic. Prints a table and writes it to benchmarks/results/scaling.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM

from benchmarks.engine import ATTENTION_OPERATIONS, matmul_rate
from grpo_lessons.architecture import Architecture, config_path
from grpo_lessons.config import TrainConfig
from grpo_lessons.machine import describe_machine
from grpo_lessons.nano import build_model, build_tokenizer
from grpo_lessons.policies import Policy
from grpo_lessons.rollouts import encode_prompts, sample_groups
from grpo_lessons.tasks import get_task
from grpo_lessons.update import Updater

RESULTS = Path(__file__).parent / "results" / "scaling.md"
BASE = {"prompts": 16, "group_size": 8, "completion": 32, "width": 96}
SMALL = {"prompts": 4, "group_size": 4, "completion": 16}  # what SmolLM2 does in seconds
AXES = {
    "group_size": [{**BASE, "group_size": size} for size in (4, 8, 16, 32)],
    "completion": [{**BASE, "completion": size} for size in (16, 32, 64, 128)],
    "width": [{**BASE, "width": size} for size in (48, 96, 192)],
    "parameters": [{**SMALL, "width": width} for width in (48, 96, 192, None)],  # None: SmolLM2's shape
}
PHASES = ("sample", "update")


@dataclass
class Size:
    """One point of an axis: its phases as calls, and what they cost."""

    calls: dict[str, Callable[[], None]]
    value: int
    cache_bytes: int
    operations: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def count(self) -> None:
        for name, call in self.calls.items():
            with FlopCounterMode(display=False, custom_mapping=ATTENTION_OPERATIONS) as counter:
                call()
            self.operations[name] = counter.get_total_flops()

    def measure(self) -> None:
        for name, call in self.calls.items():
            begin = time.process_time()
            call()
            self.seconds[name] = min(time.process_time() - begin, self.seconds.get(name, np.inf))

    def limit(self, phase: str, rate: float, bandwidth: float) -> float:
        traffic = self.cache_bytes / bandwidth if phase == "sample" else 0.0
        return self.operations[phase] / rate + traffic


def build(axis: str, prompts: int, group_size: int, completion: int, width: int | None) -> Size:
    """One step of these sizes."""
    tokenizer = build_tokenizer()
    if width:
        model = build_model(tokenizer, seed=0, hidden=width)
    else:
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(config_path("smollm2").parent))
    policy = Policy(model.float().eval(), tokenizer, torch.device("cpu"))
    problems = get_task("addition").problems("train", prompts, 0)
    updater = Updater(policy, TrainConfig(prompts_per_step=prompts, group_size=group_size), completion)
    rewards = torch.arange(prompts * group_size).view(prompts, group_size) % 2.0  # no group is dead
    made = {}

    def sample():
        with patch("grpo_lessons.rollouts.eos_ids", return_value=[-1]):
            made["rollouts"] = sample_groups(policy, problems, group_size, max_new_tokens=completion, seed=0)

    def update():
        updater.update(made["rollouts"], rewards, updater.method.advantages(rewards), 1)

    a, steps = Architecture.of(model), completion - 1
    prompt_tokens = encode_prompts(policy, problems)[0].shape[1]
    positions = prompts * (steps * prompt_tokens + group_size * steps * (steps + 1) // 2)
    sizes = {"group_size": group_size, "completion": completion, "width": width, "parameters": a.parameters}
    return Size({"sample": sample, "update": update}, sizes[axis], positions * a.layers * 2 * a.key * 4)


def memory_rate(megabytes: int = 200) -> float:
    """Bytes a processor second of reading memory that no cache holds."""
    values, times = torch.ones(megabytes * 250_000), []
    for _ in range(5):
        begin = time.process_time()
        values.sum()
        times.append(time.process_time() - begin)
    return megabytes * 1e6 / min(times)


def exponent(sizes: list[int], values: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def table(points: dict[str, list[Size]], rate: float, bandwidth: float) -> list[str]:
    lines = [
        "| axis | sizes | phase | seconds | exponent of time | of arithmetic | of the limit | limit / time |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for axis, sizes in points.items():
        values = [size.value for size in sizes]
        for phase in PHASES:
            seconds, operations = ([getattr(s, name)[phase] for s in sizes] for name in ("seconds", "operations"))
            limits = [s.limit(phase, rate, bandwidth) for s in sizes]
            slopes = " | ".join(f"{exponent(values, y):.2f}" for y in (seconds, operations, limits))
            shown = (
                ", ".join(f"{s:.3f}" for s in seconds),
                f"{limits[0] / seconds[0]:.2f} to {limits[-1] / seconds[-1]:.2f}",
            )
            lines.append(f"| {axis} | {', '.join(map(str, values))} | {phase} | {shown[0]} | {slopes} | {shown[1]} |")
    return lines


def verdict(points: dict[str, list[Size]], rate: float, bandwidth: float) -> str:
    """Which phases grew faster than their limit, 0.05 allowed for noise."""
    faster = [
        f"{phase} with {axis}"
        for axis, sizes in points.items()
        for phase in PHASES
        if exponent([s.value for s in sizes], [s.seconds[phase] for s in sizes])
        > exponent([s.value for s in sizes], [s.limit(phase, rate, bandwidth) for s in sizes]) + 0.05
    ]
    return f"Faster than the limit grew: {', '.join(faster)}." if faster else "No phase grew faster than its limit."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    points = {axis: [build(axis, **size) for size in sizes] for axis, sizes in AXES.items()}
    every = [size for sizes in points.values() for size in sizes]
    for size in every:
        size.count()
    for _ in range(args.repeats):
        for size in every:
            size.measure()
    rate, bandwidth = matmul_rate(torch.float32), memory_rate()
    machine = describe_machine()
    lines = [
        "# How the cost of a step grows",
        "",
        "16 prompts, groups of 8, 32 tokens, width 96, four minibatches where an axis does not say otherwise; for "
        "`parameters` 4 prompts, groups of 4, 16 tokens: nano at widths 48, 96 and 192, and the shape of SmolLM2-135M. "
        f"float32, 1 thread, smallest of {args.repeats} processor times. {machine['hardware']}, torch "
        f"{machine['torch']}, {machine['date']}.",
        "",
        *table(points, rate, bandwidth),
        "",
        f"The limit is arithmetic at {rate / 1e9:.0f} G operations a second, in sampling also the traffic of the cache "
        f"at {bandwidth / 1e9:.0f} GB a second. A new token reads every key and value before it for one multiplication "
        "each: this is why sampling can grow faster with the length than its count of operations. "
        + verdict(points, rate, bandwidth),
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
