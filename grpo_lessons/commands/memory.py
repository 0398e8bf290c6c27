"""`grpo-lessons memory`: does a run fit the card, and what to change first."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

NAMES = {
    "weights": "weights, with quantisation state",
    "adapters": "LoRA adapters",
    "optimizer": "AdamW states",
    "reference": "reference policy (KL)",
    "kv_cache": "KV cache of the rollout",
    "sampling_logits": "logits while sampling",
    "gradients": "gradients",
    "activations": "activations",
    "logits": "logits of the update",
    "workspace": "workspace of backward",
    "context": "CUDA context (assumed)",
    "allocator": "allocator (assumed)",
}
WHEN = {
    "kv_cache": "sampling",
    "sampling_logits": "sampling",
    "gradients": "updating",
    "activations": "updating",
    "logits": "updating",
    "workspace": "updating",
}


def memory(
    model: Annotated[str, typer.Option(help="nano, smollm2, qwen2.5-1.5b, or a folder with config.json.")],
    gpu: Annotated[float, typer.Option(help="Memory of the card in GiB: 8, 12, 16, 24 ...")] = 8,
    quantize: Annotated[str, typer.Option(help="nf4, or none.")] = "nf4",
    lora_rank: Annotated[int, typer.Option(help="Rank of the adapters; 0 trains every weight.")] = 16,
    group_size: Annotated[int, typer.Option(help="Completions for each prompt.")] = 8,
    prompts_per_step: Annotated[int, typer.Option(help="Prompts sampled at once.")] = 4,
    prompt_tokens: Annotated[int, typer.Option(help="Of the longest prompt.")] = 128,
    completion_tokens: Annotated[int, typer.Option(help="Of the longest completion.")] = 256,
    micro_batch: Annotated[int, typer.Option(help="Sequences in one forward of the update.")] = 1,
    gradient_checkpointing: Annotated[bool, typer.Option(help="Compute layers twice instead of keeping them.")] = False,
    kl_beta: Annotated[float, typer.Option(help="Above 0 a reference policy is kept.")] = 0.0,
) -> None:
    """Where the bytes of a GRPO run go, whether it fits, and which setting to lower first. Needs no GPU."""
    from grpo_lessons.memory import estimate_memory

    estimate = estimate_memory(
        model,
        quantize=None if quantize == "none" else quantize,
        lora_rank=lora_rank or None,
        group_size=group_size,
        prompts_per_step=prompts_per_step,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        micro_batch=micro_batch,
        gradient_checkpointing=gradient_checkpointing,
        kl_beta=kl_beta,
    )
    console = Console()
    table = Table("part", "MiB", "held")
    for part, size in estimate.parts().items():
        table.add_row(NAMES[part], f"{size / 2**20:,.1f}", WHEN.get(part, "always"))
    table.add_row("peak, while " + estimate.phase, f"{estimate.total / 2**20:,.1f}", "", style="bold")
    console.print(table)
    console.print(answer(estimate, gpu), soft_wrap=True, highlight=False)


def answer(estimate, gpu: float) -> str:
    """Two sentences: does it fit, and what follows."""
    have = f"{estimate.total / 2**30:.2f} GiB are needed and the card has {gpu:g}."
    longest = estimate.longest_completion(gpu)
    if estimate.fits(gpu):
        return f"It fits: {have} Longest completion that fits: {longest} tokens."
    advice = f"lower {estimate.first_to_lower(gpu)} first".replace(
        "lower gradient_checkpointing", "switch gradient_checkpointing on"
    ).replace("lower quantize", "use quantize='nf4'")
    return f"It does not fit: {have} To mend it, {advice}; as it is, {longest} completion tokens would fit."
