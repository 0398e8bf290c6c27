"""Checks of lesson 04: the clipped surrogate and the masked mean."""

import torch

from grpo_lessons import losses
from grpo_lessons.check import faults
from grpo_lessons.check.base import Exercise

INF, NAN = float("inf"), float("nan")
OLD = torch.tensor([[-1.0, -0.5, -2.0], [-0.3, -1.2, -0.7]])
NEW = OLD + torch.tensor([[0.5, -0.5, 0.05], [0.4, -0.6, 0.0]])
ADVANTAGES = torch.tensor([1.0, -1.5])


def _right(logp_new, logp_old, advantages, eps):
    return losses.clipped_surrogate((logp_new - logp_old).exp(), advantages[:, None], eps, eps)[0]


def _from_ratio(rule):
    """A surrogate (B, T) from rule(ratio, A, eps) with A as a column."""
    return lambda new, old, advantages, eps: rule((new - old).exp(), advantages[:, None], eps)


clipped_surrogate = Exercise(
    name="04.clipped_surrogate",
    todo="ratio = exp(logp_new - logp_old); the smaller of ratio * A and clamp(ratio, 1 - eps, 1 + eps) * A.",
    right=_right,
    inputs=((NEW, OLD, ADVANTAGES, 0.2), (NEW, OLD, -ADVANTAGES, 0.2), (NEW, OLD, ADVANTAGES, 0.1)),
    wrong=(
        (
            _from_ratio(lambda r, A, eps: torch.maximum(r * A, r.clamp(1 - eps, 1 + eps) * A)),
            "this takes the larger of the two; the surrogate is the pessimistic one: the smaller.",
        ),
        (
            _from_ratio(lambda r, A, eps: r.clamp(1 - eps, 1 + eps) * A),
            "only the clipped product is left; without the minimum a token that went the wrong way gets no push back.",
        ),
        (_from_ratio(lambda r, A, eps: r * A), "nothing is clipped: take the minimum with the clamped ratio times A."),
        (
            _from_ratio(lambda r, A, eps: torch.minimum(1 / r * A, (1 / r).clamp(1 - eps, 1 + eps) * A)),
            "the ratio is upside down: the new policy's probability stands on top.",
        ),
        (
            _from_ratio(lambda r, A, eps: torch.minimum(r * A, r.clamp(-eps, eps) * A)),
            "the ratio is clamped around 0; it lives around 1: clamp to 1 - eps and 1 + eps.",
        ),
        (
            _from_ratio(lambda r, A, eps: torch.minimum(r, r.clamp(1 - eps, 1 + eps)) * A),
            "the minimum is taken before the multiplication; for a negative advantage that is the wrong side.",
        ),
        (
            _from_ratio(lambda r, A, eps: torch.minimum(r.log() * A, r.log().clamp(1 - eps, 1 + eps) * A)),
            "exp is missing: logp_new - logp_old is the logarithm of the ratio.",
        ),
        (
            _from_ratio(lambda r, A, eps: -torch.minimum(r * A, r.clamp(1 - eps, 1 + eps) * A)),
            "the sign is that of the loss; the surrogate is what is maximised, the loss is minus its mean.",
        ),
    ),
)

VALUES = torch.tensor([[1.0, 2.0, 6.0], [4.0, 8.0, 5.0], [7.0, 1.0, 2.0]])
MASK = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
HOLES = torch.tensor([[1.0, 2.0, 6.0], [4.0, 8.0, INF], [7.0, NAN, NAN]])
EMPTY = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])


def _masked_mean(values, mask):
    kept = torch.where(mask.bool(), values, 0.0)
    return kept.sum(1) / mask.sum(1).clamp(min=1)


masked_mean = Exercise(
    name="04.masked_mean",
    todo="for each row: the sum of the values that the mask keeps, divided by how many it keeps.",
    right=_masked_mean,
    inputs=((VALUES, MASK), (HOLES, MASK), (VALUES, EMPTY)),
    wrong=(
        (lambda values, mask: values.mean(1), "the mask is not used: padding counts as if the policy had written it."),
        (
            lambda values, mask: torch.where(mask.bool(), values, 0.0).mean(1),
            "the sum is masked but divided by the full width T: a short completion is thinned out by its padding.",
        ),
        (
            lambda values, mask: torch.where(mask.bool(), values, 0.0).sum(1),
            "this is the sum: divide by the kept tokens.",
        ),
        (
            lambda values, mask: torch.where(mask.bool(), values, 0.0).sum() / mask.sum(),
            "one mean over all tokens of the batch (that is DAPO's); here each row has a mean of its own: sum(dim=1).",
        ),
        (
            lambda values, mask: (values * mask).sum(1) / mask.sum(1).clamp(min=1),
            "infinity or NaN at a masked place survives the multiplication by 0: choose with torch.where instead.",
        ),
        (
            lambda values, mask: torch.where(mask.bool(), values, 0.0).sum(1) / mask.sum(1),
            "a row without any kept token divides 0 by 0; it must give 0: mask.sum(1).clamp(min=1).",
        ),
    ),
)


repair_loss = Exercise(
    name="04.repair_loss",
    todo="write a repaired copy of `faults.sequence_loss`; what does one more column of padding change?",
    right=lambda surrogate, mask: -_masked_mean(surrogate, mask).mean(),
    inputs=((VALUES, MASK), (VALUES, torch.ones_like(MASK)), (VALUES[:2, :2], MASK[:2, 1:])),
    wrong=(
        (faults.sequence_loss, "the mask is still not used: the padding takes part in the mean."),
        (
            lambda surrogate, mask: -(surrogate * mask).mean(1).mean(),
            "masked above, but not below the line: divide by the number of kept tokens, not by the width.",
        ),
        (
            lambda surrogate, mask: -(surrogate * mask).sum() / mask.sum(),
            "this averages over all tokens at once, so long completions weigh more; average within each row first.",
        ),
        (lambda surrogate, mask: _masked_mean(surrogate, mask).mean(), "a loss is minimised: the minus is missing."),
        (
            lambda surrogate, mask: -_masked_mean(surrogate, mask).sum(),
            "this is the sum over sequences: take the mean.",
        ),
    ),
)
