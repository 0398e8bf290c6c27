"""What one step leaves in the log."""

from __future__ import annotations

import torch
from torch import Tensor

from .rollouts import Rollouts
from .scoring import Scores


def step_metrics(rollouts: Rollouts, scores: Scores, advantages: Tensor, updates: dict, step: int) -> dict:
    """One line of metrics.jsonl; RunLog.table says what each number is. advantages (P, G).

    reward_mean and reward_std are None in a step in which no completion got a reward.
    """
    rewards, lengths = scores.rewards[~scores.rewards.isnan()], rollouts.lengths
    right = torch.tensor([reason == "correct" for reason in scores.verdicts])
    return {
        "step": step,
        "reward_mean": float(rewards.mean()) if len(rewards) else None,
        "reward_std": float(rewards.std(correction=0)) if len(rewards) else None,
        "unscored": float(scores.rewards.isnan().float().mean()),
        "accuracy": scores.accuracy,
        "dead_groups": float((advantages == 0).all(1).float().mean()),
        "truncated": float((~rollouts.finished).float().mean()),
        "length_mean": float(lengths.mean()),
        "length_finished": _mean(lengths[rollouts.finished]),
        "length_right": _mean(lengths[right]),
        "length_wrong": _mean(lengths[~right]),
        "entropy": float(rollouts.entropy.sum() / rollouts.mask.sum()),
        **updates,
        "tokens": int(lengths.sum()),
        **{f"reason_{code}": share for code, share in scores.reasons.items()},
        **{f"strategy_{name}": share for name, share in scores.strategies.items()},
    }


def _mean(values: Tensor) -> float | None:
    return float(values.mean()) if len(values) else None


def sample_rows(rollouts: Rollouts, scores: Scores, step: int, problems: int = 2, each: int = 2) -> list[dict]:
    """Lines of completions.jsonl: the first completions of the first problems, for people to read."""
    G = rollouts.group_size
    rows = [p * G + g for p in range(min(problems, len(rollouts.problems))) for g in range(min(each, G))]
    rewards = scores.rewards.flatten().tolist()
    return [
        {
            "step": step,
            "prompt": rollouts.row_problems[row].prompt[-1]["content"],
            "completion": rollouts.texts[row],
            "reward": None if rewards[row] != rewards[row] else rewards[row],
            "reason": scores.verdicts[row],
        }
        for row in rows
    ]
