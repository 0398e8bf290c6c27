"""What MethodGRPOTrainer refuses before anything is loaded: a trainer, a version or settings with another loss."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING

from packaging.version import Version

from grpo_lessons.methods import Method

if TYPE_CHECKING:
    from trl import GRPOConfig

OLDEST, TOO_NEW = "1.13", "1.17"
# What is overridden or called, with an argument that it must have. These are private: they move between versions.
HOOKS = {
    "_prepare_inputs": "generation_batch",
    "compute_loss": "inputs",
    "_get_per_token_logps_and_entropies": "logits_to_keep",
}
# Settings of TRL's own losses; left at their defaults they are not looked at.
STOCK_LOSS_ONLY = (
    "epsilon",
    "epsilon_high",
    "delta",
    "importance_sampling_level",
    "top_entropy_quantile",
    "entropy_coef",
    "use_adaptive_entropy",
    "off_policy_mask_threshold",
    "use_bias_correction_kl",
    "use_liger_kernel",
)
SCALE_REWARDS = {"sample": "group", "none": "none"}


def require_hooks(trainer: type, version: str) -> None:
    """ValueError unless this trainer is TRL's own, of a version that was tested, with the hooks that are used here."""
    if trainer.__module__ != "trl.trainer.grpo_trainer":
        raise ValueError(
            f"GRPOTrainer comes from {trainer.__module__}, not from TRL: Unsloth replaces it when it is imported. "
            "Train with grpo_lessons.trainer.train there, or do not import unsloth"
        )
    if not Version(OLDEST) <= Version(version) < Version(TOO_NEW):
        raise ValueError(f"found trl {version}; MethodGRPOTrainer is tested from {OLDEST} up to, without, {TOO_NEW}")
    for name, argument in HOOKS.items():
        if argument not in inspect.signature(getattr(trainer, name, lambda: None)).parameters:
            raise ValueError(
                f"trl {version} has no GRPOTrainer.{name}(..., {argument}, ...), which MethodGRPOTrainer builds on"
            )


def require_supported(method: Method, args: GRPOConfig) -> None:
    """ValueError for settings with which something else than this method would be trained."""
    defaults = {field.name: field.default for field in dataclasses.fields(args)}
    for name in STOCK_LOSS_ONLY:
        if name in defaults and getattr(args, name) != defaults[name]:
            raise ValueError(
                f"{name}={getattr(args, name)!r} is a setting of TRL's own losses and would not act; leave it out "
                f"and set method_options ({', '.join({**method.options, **method.batch_options})})"
            )
    if method.updates > 1:
        raise ValueError(f"{method.name} takes {method.updates} optimizer steps a batch; TRL's loop takes one")
    of_the_batch = method.plan and method.options.get("normalize", True)  # GRPO-SG's plan does nothing without
    if of_the_batch and args.world_size > 1:
        raise ValueError(
            f"{method.name} with these options needs statistics of the whole batch, which are not shared between "
            f"the {args.world_size} processes; use one process or another method"
        )
    if args.use_vllm and args.vllm_importance_sampling_correction:
        raise ValueError(
            "vllm_importance_sampling_correction multiplies TRL's own token losses and would not act; set it to False"
        )
    wanted = SCALE_REWARDS[method.advantage_std]
    if args.scale_rewards not in ("group", wanted):
        raise ValueError(f"scale_rewards={args.scale_rewards!r}, but {method.name} has {wanted!r}; leave it out")
    if args.steps_per_generation % args.gradient_accumulation_steps:
        raise ValueError(
            f"steps_per_generation={args.steps_per_generation} is no multiple of gradient_accumulation_steps="
            f"{args.gradient_accumulation_steps}; an optimizer batch would mix rollouts"
        )
