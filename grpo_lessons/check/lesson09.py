"""Checks of lesson 09: the token weight of GRPO-SG, weights of mean 1, and spikes of the gradient norm."""

import numpy as np
import torch

from grpo_lessons import spikes as library
from grpo_lessons import weights
from grpo_lessons.check.base import Exercise, is_empty

LOGITS = torch.tensor([[2.0, 12.0, 18.0], [30.0, -4.0, 15.0]])
PAPER = (2.0, 9.0, 0.25, 1.0, 1.4)
NANO = (4.0, 3.0, 0.4, 0.8, 1.6)
WIDE = (2.0, 9.0, 0.0, 0.0, 9.0)  # clips nothing


def _right(h, alpha, tau, mu, low, high):
    return weights.sharpness_weights(h, alpha=alpha, tau=tau, mu=mu, low=low, high=high)


def _weights_and_leak(function, logits, *constants):
    """The weights, and the gradient that reaches the logits through them, which must be none."""
    logits = logits.clone().requires_grad_()
    w = function(logits, *constants)
    if is_empty(w):
        return w
    leak = torch.zeros_like(logits)
    if w.requires_grad:
        leak = torch.autograd.grad(w.sum(), logits, allow_unused=True)[0]
    return {"the weights": w.detach(), "the gradient through the weights": leak}


sharpness_weight = Exercise(
    name="09.sharpness_weight",
    todo="clip(alpha * (sigmoid(h / tau) - mu), low, high), with h detached.",
    right=_right,
    inputs=((LOGITS, *PAPER), (LOGITS / 4, *NANO), (LOGITS, *WIDE)),
    measure=_weights_and_leak,
    wrong=(
        (
            lambda h, alpha, tau, mu, low, high: (alpha * (torch.sigmoid(h / tau) - mu)).clamp(low, high),
            "the numbers are right, but the gradient flows through the weight: detach h, it is a constant here.",
        ),
        (
            lambda h, alpha, tau, mu, low, high: _right(h.softmax(-1), alpha, tau, mu, low, high),
            "h is turned into a probability first: then every weight is the same, and nothing is weighted.",
        ),
        (
            lambda h, alpha, tau, mu, low, high: _right(h, alpha, 1.0, mu, low, high),
            "tau is not used: it stretches the range of logits over which the weight grows.",
        ),
        (
            lambda h, alpha, tau, mu, low, high: _right(h * tau, alpha, 1.0, mu, low, high),
            "the logit is multiplied by tau: divide.",
        ),
        (
            lambda h, alpha, tau, mu, low, high: _right(h, alpha, tau, mu, -99.0, 99.0),
            "the clip to [low, high] is missing.",
        ),
        (
            lambda h, alpha, tau, mu, low, high: _right(h, alpha, tau, mu / alpha, low, high),
            "mu is subtracted after the multiplication by alpha; it stands inside the bracket.",
        ),
        (
            lambda h, alpha, tau, mu, low, high: _right(h, alpha, tau, -mu, low, high),
            "mu is added: subtract it.",
        ),
        (
            lambda h, alpha, tau, mu, low, high: _right(-h, alpha, tau, mu, low, high),
            "the weight falls with the logit: a confident token gets the large weight, an unsure one the small.",
        ),
    ),
)

WEIGHTS = torch.tensor([[1.0, 1.2, 1.4, 1.4], [1.0, 1.0, 1.3, 0.5]])
MASK = torch.tensor([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]])

normalize = Exercise(
    name="09.normalize",
    todo="divide the weights by their mean over the tokens that the mask keeps; 0 elsewhere.",
    right=weights.normalize_weights,
    inputs=((WEIGHTS, MASK), (WEIGHTS, torch.ones(2, 4))),
    wrong=(
        (lambda w, m: w * m / w.mean(), "the padding takes part in the mean: average over the kept tokens only."),
        (
            lambda w, m: w * m / (w * m).mean(),
            "the mean divides by all places: divide the sum of the kept weights by their number.",
        ),
        (
            lambda w, m: w * m / ((w * m).sum(1) / m.sum(1))[:, None],
            "each row has a mean of its own; one mean for the batch, or the methods are not comparable.",
        ),
        (lambda w, m: w * m / (w * m).sum(), "the weights sum to 1; their mean must be 1."),
        (lambda w, m: w * m / (w * m).max(), "the largest weight is 1; the mean must be 1."),
        (lambda w, m: w / ((w * m).sum() / m.sum()), "the padding keeps its weights: set them to 0."),
    ),
)

NORMS = [1.0, 1.2, 0.9, 3.0, 1.1, 2.5, 6.0, 2.6, 2.4, 1.0, 9.0]


def _find(norms, factor, window):
    return library.spikes(norms, factor=factor, window=window).tolist()


def _by(level, norms, factor, window, start=None):
    """True where a norm is above factor times level(norms, t)."""
    start = window if start is None else start
    return [t >= start and bool(norms[t] > factor * level(norms, t)) for t in range(len(norms))]


spikes = Exercise(
    name="09.spikes",
    todo="a list of bools: is the norm above factor times the median of the `window` norms before it?",
    right=_find,
    inputs=((NORMS, 2.0, 3), (NORMS, 2.0, 4), (NORMS, 1.5, 2)),
    measure=lambda function, *args: _as_numbers(function(*args)),
    wrong=(
        (
            lambda n, f, w: _by(lambda n, t: np.mean(n[t - w : t]), n, f, w),
            "this compares with the mean of the window: one spike lifts it and hides the next; take the median.",
        ),
        (
            lambda n, f, w: _by(lambda n, t: np.median(n), n, f, w),
            "this compares with the median of the whole run: a step would be judged by its future.",
        ),
        (
            lambda n, f, w: _by(lambda n, t: np.median(n[t - w + 1 : t + 1]), n, f, w),
            "the step itself is in its own window: end the window before it.",
        ),
        (
            lambda n, f, w: _by(lambda n, t: np.median(n[max(0, t - w) : t] or [np.inf]), n, f, w, start=0),
            "the first `window` steps have too little past to be judged: they are never spikes.",
        ),
        (
            lambda n, f, w: [x > f for x in n],
            "the limit is a fixed number: a method with larger gradients throughout would have more spikes.",
        ),
    ),
)


def _as_numbers(found):
    """Lists and arrays of bools as floats, so that numpy, torch and Python agree."""
    return found if is_empty(found) else [float(x) for x in found]
