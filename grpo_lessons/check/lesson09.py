"""Checks of lesson 09: the token weight of GRPO-SG."""

import torch

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
