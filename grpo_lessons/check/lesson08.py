"""Checks of lesson 08: the GMPO loss with its gradient, the push on each token, and rows that are left out."""

import torch

from grpo_lessons import losses
from grpo_lessons.check import faults
from grpo_lessons.check.base import Exercise, value_and_gradient

OLD = torch.tensor([[-1.0, -0.5, -2.0, -1.0], [-0.3, -1.2, -0.7, -0.2], [-0.9, -0.4, -1.1, -0.6]])
DRIFT = torch.tensor([[0.9, -0.6, 0.05, 0.1], [0.7, -0.8, 0.1, -0.1], [0.2, 0.1, -0.3, 0.25]])
NEW, ADVANTAGES = OLD + DRIFT, torch.tensor([1.0, -1.5, 0.5])
FULL = torch.ones(3, 4)
MASK = torch.tensor([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])


def _right(logp_new, logp_old, advantages, mask, clip):
    return losses.gmpo_loss(logp_new, logp_old, advantages, mask, clip_low=clip, clip_high=clip).loss


def _from_log_ratio(clamp, mean=lambda y, mask: ((y * mask).sum(1) / mask.sum(1)).exp()):
    """A loss from clamp(log ratio, A as a column, clip) and a mean over each row."""

    def loss(logp_new, logp_old, advantages, mask, clip):
        y = clamp(logp_new - logp_old, advantages[:, None], clip)
        return -(advantages * mean(y, mask)).mean()

    return loss


def _one_sided(d, A, clip):
    return torch.where(A > 0, d.clamp(max=clip), d.clamp(min=-clip))


def _plus(loss):
    return lambda *args: -loss(*args)


gmpo_loss = Exercise(
    name="08.gmpo_loss",
    todo="clip the log-ratios on one side (by A's sign), average over each row, exp, times A, minus the mean.",
    right=_right,
    inputs=(
        (NEW, OLD, ADVANTAGES, FULL, 0.4),
        (NEW, OLD, ADVANTAGES, MASK, 0.4),
        (NEW, OLD, -ADVANTAGES, MASK, 0.2),
    ),
    measure=value_and_gradient,
    wrong=(
        (
            _from_log_ratio(_one_sided, lambda y, mask: (y.exp() * mask).sum(1) / mask.sum(1)),
            "this averages the ratios, not their logarithms: exp comes after the mean in a geometric mean.",
        ),
        (_plus(_right), "this is the objective; the loss to minimise is minus it."),
        (
            _from_log_ratio(lambda d, A, clip: d.clamp(-clip, clip)),
            "both sides are clipped; only the side that A pushes towards is: above for A > 0, below for A < 0.",
        ),
        (
            _from_log_ratio(lambda d, A, clip: torch.where(A > 0, d.clamp(min=-clip), d.clamp(max=clip))),
            "the sides are swapped: for A > 0 the log-ratio is limited above, for A < 0 below.",
        ),
        (
            _from_log_ratio(lambda d, A, clip: d.clamp(max=clip)),
            "the clip ignores the sign of the advantage: for A < 0 the limit is below, at -clip.",
        ),
        (_from_log_ratio(lambda d, A, clip: d), "nothing is clipped."),
        (
            _from_log_ratio(lambda d, A, clip: _one_sided(d.exp() - 1, A, clip).clamp(min=-0.99).log1p()),
            "the clip sits on the ratio, at 1 ± clip; GMPO clips the log-ratio, at ± clip.",
        ),
        (
            _from_log_ratio(_one_sided, lambda y, mask: (y * mask).sum(1).exp()),
            "the root is missing: divide the sum of the log-ratios by the length before exp.",
        ),
        (
            _from_log_ratio(_one_sided, lambda y, mask: y.mean(1).exp()),
            "the padding takes part in the mean: use the mask above and below the line.",
        ),
        (
            _from_log_ratio(_one_sided, lambda y, mask: (y * mask).mean(1).exp()),
            "the mean divides by the full width: divide by each row's number of kept tokens.",
        ),
    ),
)

LEFT_OUT = torch.tensor([[1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])


def _repaired(logp_new, logp_old, advantages, mask):
    return losses.gmpo_loss(logp_new, logp_old, advantages, mask).loss


def _only_live_rows(loss):
    """The loss of the rows that keep a token."""

    def of_live(logp_new, logp_old, advantages, mask):
        live = mask.any(dim=1)
        return loss(logp_new[live], logp_old[live], advantages[live], mask[live])

    return of_live


repair_masked_row = Exercise(
    name="08.repair_masked_row",
    todo="write a repaired copy of `faults.gmpo_loss`: a row whose mask is all 0 adds nothing and is not counted.",
    right=_repaired,
    inputs=((NEW, OLD, ADVANTAGES, LEFT_OUT), (NEW, OLD, -ADVANTAGES, MASK), (NEW, OLD, -ADVANTAGES, LEFT_OUT)),
    measure=value_and_gradient,
    wrong=(
        (faults.gmpo_loss, "the fault is still there: exp(0) = 1, so a row without tokens adds its advantage."),
        (
            lambda new, old, A, mask: faults.gmpo_loss(new, old, A * mask.any(dim=1), mask),
            "the empty row adds 0 now, but it is still counted: divide by the rows that keep a token.",
        ),
        (
            lambda new, old, A, mask: _only_live_rows(faults.gmpo_loss)(new, old, A, mask) * mask.any(dim=1).sum(),
            "this is the sum over the rows; the loss is their mean.",
        ),
        (
            lambda new, old, A, mask: -_repaired(new, old, A, mask),
            "the empty row is gone and so is the minus sign: this is the objective, not the loss.",
        ),
        (
            lambda new, old, A, mask: losses.gmpo_loss(new, old, A, mask, clip_low=9.0, clip_high=9.0).loss,
            "the empty row is gone and so is the clip at 0.4.",
        ),
    ),
)

LOG_RATIOS = torch.tensor([0.9, -0.6, 0.05, 0.1])


def _push(log_ratio, advantage, clip):
    y = log_ratio.clamp(max=clip) if advantage > 0 else log_ratio.clamp(min=-clip)
    return torch.where(y == log_ratio, advantage * y.mean().exp() / len(y), 0.0)


token_push = Exercise(
    name="08.token_push",
    todo="A times the clipped geometric mean, divided by the number of tokens; 0 where the clip acts.",
    right=_push,
    inputs=((LOG_RATIOS, 2.0, 0.4), (LOG_RATIOS, -2.0, 0.4), (LOG_RATIOS[:3], 1.0, 9.0)),
    wrong=(
        (
            lambda d, A, clip: torch.where(_push(d, A, clip) != 0, A * d.exp() / len(d), 0.0),
            "this is GRPO's push, with each token's own ratio; under a geometric mean all tokens share one factor.",
        ),
        (
            lambda d, A, clip: _push(d, A, clip) * len(d),
            "the root is missing: each token's share is 1 / T of the geometric mean.",
        ),
        (
            lambda d, A, clip: torch.full_like(d, float(_push(d, A, clip).abs().max()) * (1 if A > 0 else -1)),
            "the clipped tokens get a push too: a clipped log-ratio is a constant, its derivative is 0.",
        ),
        (
            lambda d, A, clip: torch.where(_push(d, A, clip) != 0, A * d.mean().exp() / len(d), 0.0),
            "the geometric mean is that of the unclipped ratios; a clipped token still counts in it, with its limit.",
        ),
        (
            lambda d, A, clip: _push(d, abs(A), clip),
            "the sign of the advantage is lost: the tokens of a wrong answer are pushed down.",
        ),
    ),
)
