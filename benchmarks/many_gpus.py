"""The cost model of grpo_lessons.many_gpus beside what one and two processes of this CPU need.

    python -m benchmarks.many_gpus

Nano on addition through TRL, in one process and in two (gloo). Processor seconds of a step are the difference between a
long and a short run, so that starting up cancels out; on two processes, half of what both need. The model's device is
calibrated on one process and one size; what it says of the other size and of two processes is the prediction.
Prints a table and writes it to benchmarks/results/many_gpus.md.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from grpo_lessons.machine import describe_machine
from grpo_lessons.many_gpus import Device, Workload, step_seconds
from grpo_lessons.paths import launch_file

RESULTS = Path(__file__).parent / "results" / "many_gpus.md"
SHORT, LONG = 2, 14
# Nano answers with about 15 tokens to prompts of about 15; one forward holds a minibatch.
WORK = Workload(
    group_size=8, prompt_tokens=15, completion_tokens=15, updates=4, forwards=1, gradient_checkpointing=False
)


def processor_seconds(processes: int, prompts: int, steps: int) -> float:
    """Of a whole run, its processes together."""
    run = ["-m", "grpo_lessons.integrations.trl_run", "--out", tempfile.mkdtemp(), "--steps", str(steps)]
    run += ["--set", f"prompts_per_step={prompts}", "--set", "checkpoint_every=0"]
    start = ["-m", "accelerate.commands.launch", "--config_file", str(launch_file("cpu_2"))]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *(start if processes == 2 else []), *run], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(processes: int, prompts: int) -> float:
    """Processor seconds of a step, on each process."""
    long, short = (processor_seconds(processes, prompts, steps) for steps in (LONG, SHORT))
    return (long - short) / (LONG - SHORT) / processes


def predicted(processes: int, prompts: int, device: Device) -> float:
    work = replace(WORK, prompts=prompts, micro_batch=prompts * WORK.group_size // WORK.updates // processes)
    return step_seconds("nano", processes, "ddp", work, device, number=4).total


def main() -> None:
    settings = [(1, 32), (1, 64), (2, 32), (2, 64)]
    seconds = {setting: measured(*setting) for setting in settings}
    unit = Device("this CPU", 1, flops=1e9, bandwidth=1e30, link=1e30, training=1.0, decoding=1.0, linking=1.0)
    scale = predicted(1, 32, unit) / seconds[1, 32]
    device = replace(unit, flops=unit.flops * scale)
    machine = describe_machine()
    lines = [
        "# The cost model beside one and two processes",
        "",
        f"Nano through TRL; calibrated on the first row ({device.flops / 1e9:.1f} GFLOP/s reached). "
        f"{machine['hardware']}, torch {machine['torch']}, {machine['date']}.",
        "",
        "| processes | prompts x 8 | measured, s of each process | predicted | predicted / measured |",
        "|---|---|---|---|---|",
    ]
    for (processes, prompts), real in seconds.items():
        paper = predicted(processes, prompts, device)
        lines.append(f"| {processes} | {prompts} | {real:.2f} | {paper:.2f} | {paper / real:.2f} |")
    lines += [
        "",
        "Below 1 in the last column a step takes longer than its arithmetic says: calls cost the same for few rows as",
        "for many, and the model knows rows only.",
    ]
    print("\n".join(lines))
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
