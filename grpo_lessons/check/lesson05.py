"""Checks of lesson 05: which average counts which token how much, and how a batch is split."""

import torch

from grpo_lessons.check import faults
from grpo_lessons.check.base import Exercise

VALUES = torch.tensor([[1.0, 3.0, 9.0, 9.0], [2.0, 4.0, 6.0, 8.0], [5.0, 9.0, 9.0, 9.0]])
MASK = torch.tensor([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0]])
EMPTY = torch.tensor([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
HOLES = torch.where(MASK.bool(), VALUES, float("nan"))


def _kept(values, mask):
    return torch.where(mask.bool(), values, 0.0)


def _row_means(values, mask):
    return _kept(values, mask).sum(1) / mask.sum(1).clamp(min=1)


token_mean = Exercise(
    name="05.token_mean",
    todo="the sum of all kept values of the batch, divided by the number of kept tokens of the batch.",
    right=lambda values, mask: _kept(values, mask).sum() / mask.sum().clamp(min=1),
    inputs=((VALUES, MASK), (HOLES, MASK), (VALUES, EMPTY), (VALUES, 0 * MASK)),
    wrong=(
        (
            lambda values, mask: _row_means(values, mask).mean(),
            "this is GRPO's mean of the rows' means, in which a short completion's token weighs more.",
        ),
        (
            lambda values, mask: _kept(values, mask).mean(),
            "the division is by B * T, padding included: use mask.sum().",
        ),
        (lambda values, mask: values.mean(), "the mask is not used at all: the padding takes part."),
        (lambda values, mask: _kept(values, mask).sum(), "this is the sum: divide by the number of kept tokens."),
        (
            lambda values, mask: _kept(values, mask).sum() / len(mask),
            "the division is by the number of completions; here it is by the number of tokens.",
        ),
        (
            lambda values, mask: (values * mask).sum() / mask.sum(),
            "NaN at a masked place survives the multiplication by 0: choose with torch.where instead.",
        ),
        (
            lambda values, mask: _kept(values, mask).sum() / mask.sum(),
            "a batch without any kept token divides 0 by 0; it must give 0: mask.sum().clamp(min=1).",
        ),
    ),
)


fixed_length_mean = Exercise(
    name="05.fixed_length_mean",
    todo="sum the kept values of each row, divide by max_length, average over all rows.",
    right=lambda values, mask, max_length: _kept(values, mask).sum() / (len(mask) * max_length),
    inputs=((VALUES, MASK, 10), (VALUES, MASK, 4), (VALUES, EMPTY, 10), (HOLES, MASK, 8)),
    wrong=(
        (
            lambda values, mask, max_length: _row_means(values, mask).mean(),
            "each row is divided by its own length, which is the bias that Dr. GRPO removes: divide by max_length.",
        ),
        (
            lambda values, mask, max_length: _kept(values, mask).sum(1).mean() / mask.shape[1],
            "the division is by the width of this batch, which changes from batch to batch: use max_length.",
        ),
        (
            lambda values, mask, max_length: _kept(values, mask).sum() / max_length,
            "the average over the completions is missing: divide by their number as well.",
        ),
        (
            lambda values, mask, max_length: values.sum() / (len(mask) * max_length),
            "the mask is not used: the padding takes part in the sum.",
        ),
        (
            lambda values, mask, max_length: _kept(values, mask).sum() / (mask.any(1).sum() * max_length),
            "a row without kept tokens still counts as one of the B rows here: divide by B.",
        ),
        (
            lambda values, mask, max_length: _kept(values, mask).sum() / mask.sum(),
            "this is the token mean (DAPO); the divisor of Dr. GRPO is a constant, B * max_length.",
        ),
    ),
)


def _parts(values, mask, size):
    """(sum of the kept values, kept tokens, rows) of each micro-batch."""
    pairs = zip(values.split(size), mask.split(size), strict=True)
    return [((v * m).sum(), m.sum(), len(v)) for v, m in pairs]


repair_accumulation = Exercise(
    name="05.repair_accumulation",
    todo="write a copy of accumulated_loss whose result is the same for every size, that of the whole batch.",
    right=lambda values, mask, size: -sum(total for total, _, _ in _parts(values, mask, size)) / mask.sum(),
    inputs=((VALUES, MASK, 1), (VALUES, MASK, 2), (VALUES, MASK, 3)),
    wrong=(
        (
            faults.accumulated_loss,
            "each micro-batch is divided by its own number of tokens: divide each by that of the whole batch.",
        ),
        (
            lambda values, mask, size: -sum(total / tokens for total, tokens, _ in _parts(values, mask, size)),
            "each micro-batch is divided by its own number of tokens, and the results are added up.",
        ),
        (
            lambda values, mask, size: (
                -sum(total / tokens * rows / len(mask) for total, tokens, rows in _parts(values, mask, size))
            ),
            "micro-batches are weighted by their rows; the token mean weights them by their tokens.",
        ),
        (
            lambda values, mask, size: (
                -sum(total for total, _, _ in _parts(values, mask, size)) / mask.sum() / len(mask.split(size))
            ),
            "the whole batch's tokens are the only divisor: add the micro-batches up, do not average them as well.",
        ),
        (
            lambda values, mask, size: sum(total for total, _, _ in _parts(values, mask, size)) / mask.sum(),
            "the sign is missing: this is the objective, and the loss is minus it.",
        ),
        (
            lambda values, mask, size: -sum(total for total, _, _ in _parts(values, mask, size)) / mask.numel(),
            "the division is by B * T, padding included: use mask.sum() of the whole batch.",
        ),
    ),
)
