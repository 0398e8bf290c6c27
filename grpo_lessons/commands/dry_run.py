"""`grpo-lessons dry-run`: the real architecture with random weights, every phase once."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table


def dry_run(
    policy: Annotated[str, typer.Option(help="qwen2.5-1.5b, smollm2, nano, or a folder with config.json.")],
    methods: Annotated[str, typer.Option(help="Comma-separated names.")] = "grpo,gmpo,grpo_sg",
    lora_rank: Annotated[int, typer.Option(help="Rank of the adapters.")] = 16,
    quantize: Annotated[str, typer.Option(help="nf4, or none.")] = "nf4",
    prompts: Annotated[int, typer.Option(help="Prompts sampled.")] = 1,
    group_size: Annotated[int, typer.Option(help="Completions for each.")] = 4,
    max_new_tokens: Annotated[int, typer.Option(help="Tokens of each completion.")] = 16,
    seed: int = 0,
) -> None:
    """Take a full-size model with random weights through every phase: seconds and bytes, before any download."""
    from grpo_lessons.adapters import LoraSpec
    from grpo_lessons.dry_run import dry_run as run

    result = run(
        policy,
        methods=[name.strip() for name in methods.split(",")],
        lora=LoraSpec(rank=lora_rank, alpha=2 * lora_rank),
        quantize=None if quantize == "none" else quantize,
        prompts=prompts,
        group_size=group_size,
        max_new_tokens=max_new_tokens,
        seed=seed,
    )
    console = Console()
    table = Table("phase", "seconds", "peak, GiB" if result.device.startswith("cuda") else "process, GiB")
    for phase in result.phases:
        table.add_row(phase.name, f"{phase.seconds:.1f}", f"{phase.memory / 2**30:.2f}")
    console.print(f"{policy} with random weights on {result.device}")
    console.print(table)
    console.print(
        f"{result.parameters:,} parameters, {result.trainable:,} trainable; weights {result.weights / 1e9:.3f} GB "
        f"({str(result.dtype).removeprefix('torch.')} outside 4 bits); "
        f"{result.tokens} tokens sampled",
        soft_wrap=True,
    )
