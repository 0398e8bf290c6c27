"""Generalized advantage estimation and what surrounds it: from outcomes and values to what policy and critic learn.

Differs from libraries of classical control: an episode is one completion, its only reward is the outcome at the last
token, and nothing is bootstrapped beyond it.

Shapes: values, advantages, returns, mask (B, T), mask 1 on the first tokens of each row; outcomes (B,).
"""

from __future__ import annotations

import torch
from torch import Tensor


def gae(rewards: Tensor, values: Tensor, mask: Tensor, gamma: float = 1.0, lam: float = 1.0) -> Tensor:
    """Generalized advantage estimation (Schulman 2015, arXiv 1506.02438): (B, T), 0 where masked.

    A_t = delta_t + gamma lam A_{t+1}, delta_t = r_t + gamma V_{t+1} - V_t; after a row's last token V and A are 0.
    rewards (B, T): given for token t. values (B, T): expected before token t. mask (B, T): 1 on the first tokens of a
    row. Masked positions may hold anything.
    """
    kept = mask.bool()
    rewards, values = torch.where(kept, rewards, 0.0), torch.where(kept, values, 0.0)
    advantages = torch.zeros_like(values)
    later_advantage = later_value = torch.zeros_like(values[:, 0])
    for t in reversed(range(values.shape[1])):
        delta = rewards[:, t] + gamma * later_value - values[:, t]
        advantages[:, t] = delta + gamma * lam * later_advantage
        later_advantage, later_value = advantages[:, t], values[:, t]
    return advantages


def at_last_token(rewards: Tensor, mask: Tensor) -> Tensor:
    """(B, T): the outcome reward of each row at its last kept token, 0 elsewhere. rewards (B,)."""
    is_last = mask.bool() & (mask.cumsum(1) == mask.sum(1, keepdim=True))
    return torch.where(is_last, rewards[:, None], 0.0)


def whiten(values: Tensor, mask: Tensor, eps: float = 1e-6) -> Tensor:
    """Mean 0 and (population) standard deviation 1 over the kept tokens of the whole batch: (B, T), 0 where masked."""
    kept = mask.bool()
    if not kept.any():
        return torch.zeros_like(values)
    mean, std = values[kept].mean(), values[kept].std(correction=0)
    return torch.where(kept, (values - mean) / (std + eps), 0.0)


def value_loss(values: Tensor, returns: Tensor, mask: Tensor) -> Tensor:
    """Scalar: half the mean squared error of the critic over the kept tokens; 0 if there are none. All (B, T)."""
    kept = mask.bool()
    error = torch.where(kept, values, 0.0) - torch.where(kept, returns, 0.0)
    return 0.5 * error.square().sum() / kept.sum().clamp(min=1)


def explained_variance(values: Tensor, rewards: Tensor, mask: Tensor) -> float | None:
    """1 - Var(R - V) / Var(R) over the kept tokens: 1 for a critic that knows every outcome, 0 for a constant.

    Below 0 the critic is worse than a constant. None where all outcomes are equal. values, mask (B, T), rewards (B,).
    """
    kept = mask.bool()
    outcome = rewards[:, None].expand_as(values)[kept]
    variance = float(outcome.var(correction=0)) if len(outcome) else 0.0
    return 1 - float((outcome - values[kept]).var(correction=0)) / variance if variance > 0 else None
