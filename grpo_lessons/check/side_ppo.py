"""Exercises of the side road about PPO: what is still to come, GAE, and values that leak in from the padding."""

import torch

from grpo_lessons.check import faults
from grpo_lessons.check.base import Exercise

REWARDS = torch.tensor([0.2, 0.0, -0.1, 1.0])
VALUES = torch.tensor([0.5, 0.6, 0.3, 0.8])


def _returns(rewards, gamma, own=1.0):
    total, out = torch.tensor(0.0), []
    for reward in rewards.flip(0):
        out.append(own * reward + gamma * total)
        total = reward + gamma * total
    return torch.stack(out).flip(0)


def _discounted_from_the_start(rewards, gamma):
    return (rewards * gamma ** torch.arange(len(rewards))).flip(0).cumsum(0).flip(0)


returns = Exercise(
    name="ppo.returns",
    todo="begin at the last token, whose return is its own reward, and walk to the front.",
    right=_returns,
    inputs=((REWARDS, 1.0), (REWARDS, 0.9), (torch.tensor([0.0, 0.0, 1.0]), 0.5)),
    wrong=(
        (
            lambda rewards, gamma: rewards.cumsum(0),
            "that is the reward so far; the return of a token is what comes from it on.",
        ),
        (
            lambda rewards, gamma: _returns(rewards, 1.0),
            "gamma is not used: each token further away counts gamma times less.",
        ),
        (
            lambda rewards, gamma: _returns(rewards, gamma, own=0.0),
            "the token's own reward is left out: the return begins with it.",
        ),
        (
            _discounted_from_the_start,
            "gamma counts from the first token of the completion; count from the token whose return it is.",
        ),
        (
            lambda rewards, gamma: rewards.sum().expand(len(rewards)),
            "every token has the whole sum; what came before a token is no longer to come.",
        ),
    ),
)


def _gae(rewards, values, gamma, lam, after=0.0, next_gamma=None):
    next_gamma = gamma if next_gamma is None else next_gamma
    later_value, later_advantage, out = torch.as_tensor(after), torch.tensor(0.0), []
    for reward, value in zip(rewards.flip(0), values.flip(0), strict=True):
        later_advantage = reward + next_gamma * later_value - value + gamma * lam * later_advantage
        later_value = value
        out.append(later_advantage)
    return torch.stack(out).flip(0)


gae = Exercise(
    name="ppo.gae",
    todo="delta_t = r_t + gamma V_(t+1) - V_t, then from the back A_t = delta_t + gamma lam A_(t+1).",
    right=_gae,
    inputs=(
        (REWARDS, VALUES, 0.9, 0.5),
        (REWARDS, VALUES, 1.0, 0.95),
        (torch.tensor([0.0, 1.0]), VALUES[:2], 1.0, 1.0),
    ),
    wrong=(
        (
            lambda rewards, values, gamma, lam: _gae(rewards, values, gamma, 0.0),
            "those are the deltas alone, GAE at lam 0: the later ones come back by gamma lam a token.",
        ),
        (
            lambda rewards, values, gamma, lam: _gae(rewards, values, gamma, 1.0),
            "lam is not used, so this is return minus value: the later advantage comes back by gamma times lam.",
        ),
        (
            lambda rewards, values, gamma, lam: _gae(rewards, values, gamma, lam, after=values[-1]),
            "after the last token nothing is expected any more: its next value is 0, not its own value again.",
        ),
        (
            lambda rewards, values, gamma, lam: _gae(rewards, values, gamma, lam, next_gamma=1.0),
            "the next value in delta is discounted too: r_t + gamma V_(t+1) - V_t.",
        ),
        (
            lambda rewards, values, gamma, lam: _gae(rewards, values, gamma, lam) + values,
            "those are the returns, which the critic learns: the advantage is without the value on top.",
        ),
    ),
)

# Two completions of different length; behind the end of the shorter one the critic still says something.
OUTCOMES = torch.tensor([[0.0, 1, 0, 0], [0, 0, 0, 1]])
TABLE = torch.tensor([[0.4, 0.7, 0.9, -0.6], [0.3, 0.5, 0.2, 0.8]])
MASK = torch.tensor([[1.0, 1, 0, 0], [1, 1, 1, 1]])


def _masked_gae(rewards, values, mask, gamma, lam):
    return faults.gae(rewards * mask, values * mask, mask, gamma, lam) * mask


def _deltas_masked(rewards, values, mask, gamma, lam):
    following = torch.cat([values[:, 1:], torch.zeros_like(values[:, :1])], dim=1)
    deltas = (rewards + gamma * following - values) * mask
    return faults.gae(deltas, torch.zeros_like(values), mask, gamma, lam)


def _cut_too_early(rewards, values, mask, gamma, lam):
    following = torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], dim=1)
    return faults.gae(rewards, values * following, mask, gamma, lam) * mask


repair_gae = Exercise(
    name="ppo.repair_gae",
    todo="write a repaired copy of `faults.gae`; what does the last token of a short completion look at?",
    right=_masked_gae,
    inputs=((OUTCOMES, TABLE, MASK, 1.0, 0.9), (OUTCOMES, TABLE, MASK, 0.9, 0.5)),
    wrong=(
        (
            faults.gae,
            "the padding is still read: the end of a short completion expects what the critic says behind it.",
        ),
        (
            lambda rewards, values, mask, gamma, lam: faults.gae(rewards, values, mask, gamma, lam) * mask,
            "clearing the padding afterwards is too late: the sum has already carried it to the front.",
        ),
        (
            _deltas_masked,
            "the last delta still holds the value of the first padded place; clear the values before the deltas.",
        ),
        (_cut_too_early, "the last token's own value is gone too: only what stands behind the mask may be cleared."),
        (
            lambda rewards, values, mask, gamma, lam: faults.gae(rewards, values * 0, mask, gamma, lam) * mask,
            "all values are gone, and the critic with them: only those behind the mask may be cleared.",
        ),
    ),
)
