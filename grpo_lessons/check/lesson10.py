"""Checks of lesson 10: naming what seven runs have, dead groups counted and computed, and reward beside accuracy."""

import torch

from grpo_lessons.advantages import dead_group_probability
from grpo_lessons.check.base import Exercise
from grpo_lessons.check.sick_runs import diagnosis

__all__ = ["dead_share", "diagnosis", "group_size", "second_opinion"]

# right, wrong, mixed and partly paid groups; the third holds no 0 and no 1
REWARDS = (
    torch.tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]),
    torch.tensor([[0.5, 0.5], [0.2, 0.7], [0.5, 0.5], [0.3, 0.3]]),
)


def _dead(rewards):
    return rewards.amax(dim=1) == rewards.amin(dim=1)


dead_share = Exercise(
    name="10.dead_share",
    todo="the share of the rows whose rewards are all equal.",
    right=lambda rewards: _dead(rewards).float().mean(),
    inputs=tuple((rewards,) for rewards in REWARDS),
    wrong=(
        (
            lambda rewards: (rewards == 0).all(dim=1).float().mean(),
            "these are the groups with nothing right; a group with everything right ranks nothing either.",
        ),
        (
            lambda rewards: (rewards == 1).all(dim=1).float().mean(),
            "these are the groups with everything right; a group with nothing right ranks nothing either.",
        ),
        (
            lambda rewards: ((rewards == 0).all(dim=1) | (rewards == 1).all(dim=1)).float().mean(),
            "rewards need not be 0 and 1: a group in which all got 0.5 is dead as well.",
        ),
        (lambda rewards: 1 - _dead(rewards).float().mean(), "this is the share of the groups that are alive."),
        (lambda rewards: _dead(rewards).sum(), "this is their number; divide by the number of groups."),
        (lambda rewards: _dead(rewards.T).float().mean(), "this compares down the columns; a group is a row."),
    ),
)

PASS_RATES = (0.5, 0.3, 0.02, 0.95, 0.1)


def _smallest(dead, start: int = 2) -> int:
    """The smallest G from `start` on at which dead(G) is below one half."""
    return next(G for G in range(start, 10_000) if dead(G) < 0.5)


def _group_size(p: float) -> int:
    return _smallest(lambda G: dead_group_probability(p, G))


group_size = Exercise(
    name="10.group_size",
    todo="try G = 2, 3, 4, ... and return the first at which p^G + (1-p)^G is below 0.5.",
    right=_group_size,
    inputs=tuple((p,) for p in PASS_RATES),
    wrong=(
        (
            lambda p: _smallest(lambda G: (1 - p) ** G),
            "groups in which everything is right are dead as well: add p^G.",
        ),
        (
            lambda p: _smallest(lambda G: p**G),
            "groups in which nothing is right are dead as well: add (1-p)^G.",
        ),
        (lambda p: _group_size(p) - 1, "one too small: at this G half of the groups or more are still dead."),
        (lambda p: _group_size(p) + 1, "one too large: a smaller G already leaves fewer than half of them dead."),
        (
            lambda p: next(2**k for k in range(1, 15) if dead_group_probability(p, 2**k) < 0.5),
            "only powers of two were tried; G may be any whole number from 2 on.",
        ),
        (
            lambda p: max(2, round(1 / p)),
            "1/p completions hold one right answer on average; that is another question than how often none is.",
        ),
        (
            lambda p: next(G for G in range(2, 10_000) if dead_group_probability(p, G) <= 0.5),
            "fewer than half: at exactly one half go on.",
        ),
    ),
)

# (reward first and last, held-out first and last, noise)
COURSES = (
    ((0.40, 0.95), (0.42, 0.90), 0.1),
    ((0.40, 0.95), (0.42, 0.20), 0.1),
    ((0.40, 0.95), (0.42, 0.46), 0.1),
    ((0.45, 0.48), (0.42, 0.44), 0.1),
    ((0.40, 0.95), (0.42, 0.37), 0.1),
    ((0.60, 0.10), (0.55, 0.05), 0.1),
    ((0.20, 0.50), (0.80, 0.95), 0.1),
    ((0.40, 0.55), (0.42, 0.55), 0.2),
)


def _opinion(reward, held_out, noise):
    gain, change = reward[1] - reward[0], held_out[1] - held_out[0]
    if gain <= noise:
        return "no gain"
    return "learns" if change > noise else "hacked" if change < -noise else "memorised"


second_opinion = Exercise(
    name="10.second_opinion",
    todo='the reward rises by more than noise? Then held-out accuracy decides: rises "learns", falls "hacked", stays '
    '"memorised". If the reward does not rise: "no gain".',
    right=_opinion,
    inputs=COURSES,
    wrong=(
        (
            lambda reward, held_out, noise: _opinion(reward, held_out, 0.0),
            "noise is not used: a change within it is no change.",
        ),
        (
            lambda reward, held_out, noise: (
                "learns" if held_out[1] > held_out[0] + noise else _opinion((0, 1), held_out, noise)
            ),
            "the reward is not used: where it does not rise there was nothing to hack and nothing to memorise.",
        ),
        (
            lambda reward, held_out, noise: (
                "no gain"
                if reward[1] - reward[0] <= noise
                else "learns"
                if held_out[1] - held_out[0] > noise
                else "memorised"
            ),
            "held-out accuracy that stays and held-out accuracy that falls are two faults with two cures.",
        ),
        (
            lambda reward, held_out, noise: (
                "no gain"
                if reward[1] - reward[0] <= noise
                else "hacked"
                if reward[1] - held_out[1] > noise
                else "learns"
            ),
            "this compares the two at the end; they may differ from the start. Compare each with its own beginning.",
        ),
        (
            lambda reward, held_out, noise: {"hacked": "memorised", "memorised": "hacked"}.get(
                _opinion(reward, held_out, noise), _opinion(reward, held_out, noise)
            ),
            "hacked and memorised are swapped: what is learned by heart costs nothing elsewhere, a hack does.",
        ),
    ),
)
