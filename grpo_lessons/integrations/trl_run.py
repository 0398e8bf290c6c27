"""A run of `TrainConfig` on TRL's engine: one process, several, or several machines.

    python -m grpo_lessons.integrations.trl_run --out runs/trl --method gmpo
    accelerate launch --config_file configs/cpu_2.yaml -m grpo_lessons.integrations.trl_run --out runs/trl --method gmpo
    grpo-lessons launch --config configs/cpu_2.yaml --out runs/trl --method gmpo          (the same)

Every process draws the same problems, those that `trainer.train` would draw; TRL gives each its share of the rows. The
learning rate falls from update to update, where our trainer's falls from rollout to rollout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import typer
from accelerate import PartialState
from trl import GRPOConfig

from grpo_lessons.commands.options import Method, PolicyName, Resume, Setting, Steps, TaskName, settings
from grpo_lessons.compare import options_for
from grpo_lessons.config import TrainConfig
from grpo_lessons.policies import LoraSpec, Policy, load_policy
from grpo_lessons.tasks import Problem, Task, get_task, rows_of, task_reward
from grpo_lessons.trainer import problems_of_step

from .trl import MethodGRPOTrainer

UNSUPPORTED = ("kl_estimator", "old_logp", "eval_every")


@dataclass(frozen=True)
class Split:
    """How the rows of an optimizer batch are shared out: rows of a forward, forwards of a step, steps of a rollout."""

    rows: int
    accumulation: int
    per_rollout: int


def split_of(config: TrainConfig, processes: int) -> Split:
    """The split of a run's rows over processes; ValueError that names the numbers which do not divide."""
    batch = config.prompts_per_step * config.group_size // config.minibatches
    here, rest = divmod(batch, processes)
    rows = min(config.micro_batch or here, here)
    if rest or rows == 0 or here % rows:
        raise ValueError(
            f"an optimizer batch of {batch} completions cannot be split over {processes} processes in forwards of "
            f"{config.micro_batch or 'any number of'} rows; change minibatches, micro_batch or the processes"
        )
    return Split(rows, here // rows, config.minibatches * (here // rows))


def trl_config(
    config: TrainConfig, max_new_tokens: int, out: Path, *, processes: int, on_cpu: bool, changed: dict | None = None
) -> GRPOConfig:
    """TRL's settings of the same run, `changed` laid over them. ValueError for what TRL's loop does otherwise."""
    plain = TrainConfig()
    if unknown := [name for name in UNSUPPORTED if getattr(config, name) != getattr(plain, name)]:
        raise ValueError(f"{', '.join(unknown)}: not a setting of a run on TRL; leave it out")
    split, updates = split_of(config, processes), config.minibatches * config.epochs
    settings = {
        "output_dir": str(out),
        "per_device_train_batch_size": split.rows,
        "gradient_accumulation_steps": split.accumulation,
        "steps_per_generation": split.per_rollout,
        "num_generations": config.group_size,
        "num_iterations": config.epochs,
        "max_steps": config.steps * updates,
        "max_completion_length": max_new_tokens,
        "learning_rate": config.learning_rate,
        "lr_scheduler_type": "polynomial",
        # transformers refuses an end that is not below the beginning.
        "lr_scheduler_kwargs": {"power": 1.0, "lr_end": min(config.decay_to, 0.999999) * config.learning_rate},
        "warmup_steps": config.warmup_steps * updates,
        "weight_decay": 0.0,
        "max_grad_norm": config.max_grad_norm,
        "beta": config.kl_beta,
        "temperature": config.temperature,
        "mask_truncated_completions": config.mask_truncated,
        "gradient_checkpointing": config.gradient_checkpointing,
        "shuffle_dataset": False,
        "bf16": not on_cpu,
        "use_cpu": on_cpu,
        "seed": config.seed,
        "logging_steps": updates,
        "save_strategy": "steps" if config.checkpoint_every else "no",
        "save_steps": max(1, config.checkpoint_every) * updates,
        "save_total_limit": config.keep_checkpoints,
        "report_to": "none",
    }
    return GRPOConfig(**{**settings, **(changed or {})})


def build(
    policy: Policy, task: Task, config: TrainConfig, out: Path, *, changed: dict | None = None, **others
) -> MethodGRPOTrainer:
    """A trainer for this process. changed: settings of GRPOConfig; others: more arguments of GRPOTrainer."""
    from datasets import Dataset

    on_cpu = policy.device.type == "cpu"
    state = PartialState(cpu=on_cpu)
    tokens = config.max_new_tokens or task.max_new_tokens
    problems: Sequence[Problem] = [
        problem for step in range(1, config.steps + 1) for problem in problems_of_step(task, config, step)
    ]
    return MethodGRPOTrainer(
        policy.model,
        task_reward(task, problems),
        trl_config(config, tokens, out, processes=state.num_processes, on_cpu=on_cpu, changed=changed),
        method=config.method,
        method_options=config.method_options,
        train_dataset=Dataset.from_list(rows_of(problems)),
        processing_class=policy.tokenizer,
        **others,
    )


def rewards_by_rollout(history: list[dict]) -> list[float]:
    """The mean reward of each rollout, from the `log_history` of a trainer or of its trainer_state.json."""
    return [line["reward"] for line in history if "reward" in line]


def run(
    out: Annotated[Path, typer.Option(help="Directory of the checkpoints and, at the end, of the policy.")],
    method: Method = "grpo",
    policy: PolicyName = "nano",
    task: TaskName = "addition",
    steps: Steps = 80,
    seed: Annotated[int, typer.Option()] = 0,
    lora_rank: Annotated[int, typer.Option(help="0 trains all weights.")] = 0,
    setting: Setting = None,
    resume: Resume = False,
) -> None:
    """Train one policy with one method on TRL's engine."""
    given = settings(setting)
    given["method_options"] = {**options_for(policy, method), **given.get("method_options", {})}
    config = TrainConfig.from_dict({"method": method, "steps": steps, "seed": seed, **given})
    lora = LoraSpec(rank=lora_rank, alpha=2 * lora_rank) if lora_rank else None
    loaded = load_policy(
        policy, lora=lora, device=str(PartialState(cpu=not torch.cuda.is_available()).device), seed=seed
    )
    trainer = build(loaded, get_task(task), config, out)
    trainer.train(resume_from_checkpoint=resume)
    trainer.save_model(str(out))
    trainer.save_state()
    if trainer.accelerator.is_main_process:
        loaded.tokenizer.save_pretrained(out)
        print(f"policy in {out}; `grpo-lessons evaluate --policy {out} --task {task}` grades it")


if __name__ == "__main__":
    typer.run(run)
