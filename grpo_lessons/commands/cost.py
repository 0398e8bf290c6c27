"""`grpo-lessons cost`: a step on many GPUs, on paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

PARTS = ("prefill", "decode", "scoring", "training", "communication")


def cost(
    model: Annotated[str, typer.Option(help="qwen2.5-1.5b, qwen2.5-7b, qwen2.5-32b, or a folder with config.json.")],
    gpus: Annotated[int, typer.Option(help="GPUs in all.")] = 8,
    device: Annotated[str, typer.Option(help="RTX 4090, A100 80GB or H100 80GB.")] = "H100 80GB",
    prompts: Annotated[int, typer.Option(help="Prompts of a rollout.")] = 128,
    group_size: Annotated[int, typer.Option(help="Completions for each prompt.")] = 8,
    prompt_tokens: Annotated[int, typer.Option(help="Of the longest prompt.")] = 256,
    completion_tokens: Annotated[int, typer.Option(help="Of the longest completion.")] = 1024,
    micro_batch: Annotated[int, typer.Option(help="Sequences in one forward of a GPU.")] = 1,
    sampler_gpus: Annotated[int, typer.Option(help="GPUs that share one copy of the sampler's weights.")] = 1,
) -> None:
    """Bytes on each GPU and seconds of a step under DDP, ZeRO-2 and ZeRO-3 (FSDP), every weight trained. Arithmetic."""
    from grpo_lessons.many_gpus import DEVICES, SHARDINGS, Workload, bytes_per_gpu, step_seconds

    if device not in DEVICES:
        raise ValueError(f"device is {device!r}; known: {', '.join(DEVICES)}")
    work = replace(
        Workload(),
        prompts=prompts,
        group_size=group_size,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        micro_batch=micro_batch,
    )
    table = Table("sharding", "states GiB", "all GiB", f"fits {DEVICES[device].memory:g}", "seconds", *PARTS)
    for sharding in SHARDINGS:
        held = bytes_per_gpu(model, gpus, sharding, work, sampler_gpus=sampler_gpus)
        time = step_seconds(model, gpus, sharding, work, DEVICES[device])
        fits = "yes" if held.total <= DEVICES[device].memory * 2**30 else "no"
        parts = (f"{getattr(time, part):.1f}" for part in PARTS)
        row = f"{held.states / 2**30:.1f}", f"{held.total / 2**30:.1f}", fits, f"{time.total:.0f}"
        table.add_row(sharding, *row, *parts)
    console = Console()
    console.print(table)
    console.print("Not measured: counted from data sheets and stated shares of them (grpo_lessons.many_gpus).")
