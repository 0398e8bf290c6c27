"""What each way to save work brings: our loop with one of them switched off at a time.

    python -m benchmarks.ways [--steps 6] [--repeats 2]

The first rollouts of nano on addition, as in benchmarks/engine.py. All loops take turns; the smallest processor time of
the repeats counts, since on a shared machine other work only adds. Prints a table and writes it to
benchmarks/results/ways.md.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from benchmarks import loops
from grpo_lessons.decoder import CacheDecoder
from grpo_lessons.machine import describe_machine
from grpo_lessons.rollouts import sample_groups

RESULTS = Path(__file__).parent / "results" / "ways.md"


def every_row(self, minibatch, mask):
    """`Updater._micro_batches` without its test for rows that add nothing."""
    rows = mask.bool().any(1).nonzero()[:, 0]
    rows = rows[minibatch.lengths[rows].argsort(stable=True)]
    return rows.split(self.config.micro_batch or len(rows)) if len(rows) else ()


def every_prompt(policy, task, problems, group_size, **options):
    """`roll_out` that reads a group's prompt once for each of its completions."""
    rollouts = sample_groups(policy, [p for p in problems for _ in range(group_size)], 1, **options)
    return replace(rollouts, problems=list(problems), group_size=group_size)


@dataclass(frozen=True)
class Way:
    """What is switched off, what happens instead, and how: a target to replace, or settings."""

    name: str
    instead: str
    target: str = ""
    replacement: Any = None
    settings: dict = field(default_factory=dict)

    def measure(self, steps: int) -> Counter:
        """Processor seconds in all and by phase."""
        work = replace(loops.NANO, config=replace(loops.NANO.config, **self.settings))
        policy = work.load()
        with patch(self.target, self.replacement) if self.target else nullcontext():
            begin = time.process_time()
            phases = loops.ours(work, policy, steps, 0, lambda done: None)
            return Counter({"all": time.process_time() - begin, **phases})


WAYS = (
    Way("nothing", ""),
    Way("our decoder", "transformers' forward and cache", "grpo_lessons.rollouts.make_decoder", CacheDecoder),
    Way("a group's prompt is read once", "once a completion", "grpo_lessons.trainer.roll_out", every_prompt),
    Way("finished rows leave the batch", "they stay until the last is done", "grpo_lessons.rollouts.SHRINK", 0.0),
    Way(
        "packed training forward",
        "padded rows, each with its prompt",
        "grpo_lessons.update.packable",
        lambda policy: False,
    ),
    Way("dead groups take no forward", "they take one", "grpo_lessons.update.Updater._micro_batches", every_row),
    Way("the sampler's log-probabilities serve", "a forward finds them again", settings={"old_logp": "recompute"}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    WAYS[0].measure(1)
    turns = [[way.measure(args.steps) for way in WAYS] for _ in range(args.repeats)]
    least = [min(runs, key=lambda run: run["all"]) for runs in zip(*turns, strict=True)]
    machine = describe_machine()
    lines = [
        "# What each way to save work brings",
        "",
        f"The first {args.steps} rollouts of nano on addition, 32 x 8 completions, four minibatches; one way off "
        f"at a time; processor seconds, the smallest of {args.repeats} runs in turns. 1 thread, {machine['hardware']}, "
        f"torch {machine['torch']}, {machine['date']}.",
        "",
        "| switched off | instead | all | ratio | sample | update |",
        "|---|---|---|---|---|---|",
    ]
    for way, run in zip(WAYS, least, strict=True):
        cells = f"{run['all']:.2f} | {run['all'] / least[0]['all']:.2f} | {run['sample']:.2f} | {run['update']:.2f}"
        lines.append(f"| {way.name} | {way.instead} | {cells} |")
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
