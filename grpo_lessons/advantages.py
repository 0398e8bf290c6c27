"""From the rewards of a group to advantages: the whole critic of GRPO.

Differs from DeepSeekMath 2024 (arXiv 2402.03300) in three stated ways: the standard deviation is chosen by
name (codes disagree on ddof), a group of equal rewards is exactly 0 instead of float noise over eps, and a
completion without a reward (NaN) is left out instead of poisoning its group.
"""

import torch
from torch import Tensor

STD_RULES = ("sample", "population", "none")


def group_advantages(rewards, *, std: str = "sample", eps: float = 1e-6) -> Tensor:
    """Advantage of each completion relative to its own group.

    A = (r - mean) / (std + eps), mean and std over the group (DeepSeekMath 2024, outcome supervision).

    rewards: (P, G), one row per prompt; NaN marks a completion that was not scored.
    std: "sample" (ddof=1: TRL, verl), "population" (ddof=0) or "none" (Dr. GRPO: centre only).
    Returns (P, G) float32. Exactly 0: a group with max - min <= 1e-6 * max(1, max|r|), an unscored
    completion, a group with fewer than two scored completions.
    Raises ValueError for a wrong rank, G < 2, an infinite reward or an unknown `std`.
    """
    rewards = torch.as_tensor(rewards, dtype=torch.float64)
    check_rewards(rewards, std)
    scored = ~rewards.isnan()
    count = scored.sum(1, keepdim=True)
    known = torch.where(scored, rewards, 0.0)
    centred = torch.where(scored, rewards - known.sum(1, keepdim=True) / count.clamp(min=1), 0.0)

    scale = torch.ones_like(centred[:, :1])
    if std != "none":
        freedom = count - 1 if std == "sample" else count
        scale = (centred.square().sum(1, keepdim=True) / freedom.clamp(min=1)).sqrt() + eps
    dead = equal_rewards(rewards, scored)
    return torch.where(dead, 0.0, centred / torch.where(dead, 1.0, scale)).float()


def equal_rewards(rewards: Tensor, scored: Tensor) -> Tensor:
    """(P, 1) bool: the scored rewards differ by no more than float noise, as fewer than two always do."""
    highest = torch.where(scored, rewards, -torch.inf).amax(1, keepdim=True)
    lowest = torch.where(scored, rewards, torch.inf).amin(1, keepdim=True)
    size = torch.where(scored, rewards.abs(), 0.0).amax(1, keepdim=True)
    return highest - lowest <= 1e-6 * size.clamp(min=1.0)


def check_rewards(rewards: Tensor, std: str) -> None:
    """Raise ValueError, with the rule, for rewards that have no group advantage."""
    shape = tuple(rewards.shape)
    if rewards.dim() != 2:
        raise ValueError(
            f"rewards has shape {shape}; expected (P, G), one row per prompt: rewards.view(-1, group_size)"
        )
    if shape[1] < 2:
        raise ValueError(f"rewards has shape {shape}, so group size {shape[1]}; a group needs at least 2 completions")
    if rewards.isinf().any():
        raise ValueError(
            f"rewards of shape {shape} holds an infinite value; give finite rewards, or NaN for 'not scored'"
        )
    if std not in STD_RULES:
        raise ValueError(f"std is {std!r}; expected one of {', '.join(STD_RULES)}")


def dead_group_probability(pass_rate: float, group_size: int) -> float:
    """Chance that all completions of a group get the same 0/1 reward and teach nothing: p^G + (1-p)^G.

    pass_rate: p in [0, 1], the same independent chance for each completion. group_size: G >= 1.
    """
    if not 0.0 <= pass_rate <= 1.0 or group_size < 1:
        raise ValueError(f"pass_rate {pass_rate}, group_size {group_size}; expected 0 <= p <= 1 and G >= 1")
    return pass_rate**group_size + (1.0 - pass_rate) ** group_size
