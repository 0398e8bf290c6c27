"""Checks of lesson 01: group advantages."""

import torch

from grpo_lessons import advantages as library
from grpo_lessons.check import faults
from grpo_lessons.check.base import Exercise

NAN = float("nan")
REWARDS = torch.tensor([[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]])
GRADED = torch.tensor([[0.9, 0.1, 0.4], [0.2, 0.8, 0.6]])
EQUAL = torch.tensor([[1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0]])
MISSING = torch.tensor([[1.0, 0.0, NAN, 1.0], [0.5, 0.2, 0.9, 0.1]])


def _scaled(rewards, ddof, eps=1e-6):
    """Centred and scaled, without any care for missing or equal rewards."""
    return (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True, correction=ddof) + eps)


def _ddof(std):
    return 1 if std == "sample" else 0


def _right(rewards, std):
    return library.group_advantages(rewards, std=std)


def _other_std(rewards, std):
    return library.group_advantages(rewards, std="population" if std == "sample" else "sample")


def _batch(rewards, std):
    scored = rewards[~rewards.isnan()]
    return ((rewards - scored.mean()) / (scored.std(correction=_ddof(std)) + 1e-6)).nan_to_num()


def _columns(rewards, std):
    centred = rewards - rewards.nanmean(0)
    return (centred / (rewards.std(0, correction=_ddof(std)) + 1e-6)).nan_to_num()


def _variance(rewards, std):
    spread = library.group_advantages(rewards, std="none")
    return (spread / (rewards.var(1, keepdim=True, correction=_ddof(std)) + 1e-6)).nan_to_num()


group_advantages = Exercise(
    name="01.group_advantages",
    todo="subtract each row's mean, divide by that row's standard deviation; return a tensor like `rewards`.",
    right=_right,
    inputs=((REWARDS, "population"), (REWARDS, "sample"), (GRADED, "sample"), (EQUAL, "sample"), (MISSING, "sample")),
    wrong=(
        (_batch, "mean and standard deviation are those of the whole batch; each row is compared with itself only."),
        (_columns, "the statistics run down the columns: dim=0 mixes different questions; a group is a row, dim=1."),
        (
            lambda rewards, std: library.group_advantages(rewards, std="none"),
            "the rewards are centred but not divided by the standard deviation (that would be Dr. GRPO).",
        ),
        (
            lambda rewards, std: library.group_advantages(rewards, std="sample"),
            '`std` is ignored: "population" divides the squares by G, "sample" by G - 1 (torch: correction=0 and 1).',
        ),
        (
            lambda rewards, std: library.group_advantages(rewards, std="population"),
            '`std` is ignored: "sample" divides the squares by G - 1, "population" by G (torch: correction=1 and 0).',
        ),
        (_other_std, 'the two conventions are swapped: "sample" has G - 1 below the squares, "population" has G.'),
        (_variance, "this divides by the variance; take its square root."),
        (
            lambda rewards, std: _scaled(rewards, _ddof(std), eps=0.0),
            "a group with equal rewards gives NaN, 0 divided by 0; it ranks nothing, so its advantages must be 0.",
        ),
        (
            lambda rewards, std: _scaled(rewards, _ddof(std)),
            "one missing reward (NaN) spoils its whole group; leave it out of mean and standard deviation, give it 0.",
        ),
        (
            lambda rewards, std: _scaled(rewards.nan_to_num(0.0), _ddof(std)),
            "the missing reward (NaN) was counted as 0; 'not scored' is not 'wrong': leave it out of the statistics.",
        ),
    ),
    tolerance=1e-3,
)

dead_group = Exercise(
    name="01.dead_group",
    todo="a group is dead if all G completions are right, or all are wrong; add the two probabilities.",
    right=library.dead_group_probability,
    inputs=((0.3, 2), (0.5, 4), (0.9, 8), (0.0, 4), (1.0, 4)),
    wrong=(
        (lambda p, size: p**size, "that is only the chance that all are right; all wrong teaches nothing either."),
        (lambda p, size: (1 - p) ** size, "that is only the chance that all are wrong; all right is dead as well."),
        (lambda p, size: 1 - p**size - (1 - p) ** size, "that is the chance that the group is alive; take 1 minus it."),
        (
            lambda p, size: p**size * (1 - p) ** size,
            "all right and all wrong exclude each other: add, do not multiply.",
        ),
        (
            lambda p, size: p * size + (1 - p) * size,
            "independent completions: probabilities multiply, p ** G, not p * G.",
        ),
    ),
)


def _std_of_batch(rewards):
    return (rewards - rewards.mean(1, keepdim=True)) / (rewards.std() + 1e-6)


def _mean_of_batch(rewards):
    return (rewards - rewards.mean()) / (rewards.std(1, keepdim=True) + 1e-6)


repair_advantages = Exercise(
    name="01.repair_advantages",
    todo="write a repaired copy of `faults.advantages`; compare what two groups with different means get.",
    right=lambda rewards: library.group_advantages(rewards),
    inputs=((torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]),), (REWARDS,), (GRADED,)),
    wrong=(
        (
            faults.advantages,
            "this still has the fault: whose mean and whose standard deviation does it subtract and use?",
        ),
        (_std_of_batch, "the mean is the group's now, the standard deviation is still the batch's."),
        (_mean_of_batch, "the standard deviation is the group's now, the mean is still the batch's."),
        (
            lambda rewards: (rewards - rewards.mean(0)) / (rewards.std(0) + 1e-6),
            "dim=0 runs down the columns, over different questions; a group is a row: dim=1.",
        ),
        (
            lambda rewards: (rewards - rewards.mean(1)) / (rewards.std(1) + 1e-6),
            "mean(dim=1) has shape (P,), which does not line up with the rows: keepdim=True gives (P, 1).",
        ),
    ),
    tolerance=1e-3,
)
