"""Checks of lesson 08: the GMPO loss, its value and its gradient."""

import torch

from grpo_lessons import losses
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
