"""Checks of lesson 07: the k3 estimate of the KL divergence."""

import torch

from grpo_lessons.check import faults
from grpo_lessons.check.base import Exercise

NEW = torch.tensor([[-0.5, -1.0, -2.0], [-0.1, -3.0, -0.7]])
REF = torch.tensor([[-0.7, -0.4, -2.0], [-1.6, -2.0, -0.9]])
INPUTS = ((NEW, REF), (REF, NEW))


def _k3(logp_new, logp_ref):
    d = logp_ref - logp_new
    return d.exp() - d - 1


NOT_A_K3 = (
    (lambda new, ref: new - ref, "this is k1: right on average, but a single token can be negative."),
    (lambda new, ref: (new - ref) ** 2 / 2, "this is k2, half the square: close to the KL only for small differences."),
    (lambda new, ref: (ref - new).exp() - (ref - new), "the 1 is missing: equal policies must give 0."),
    (lambda new, ref: -_k3(new, ref), "the sign is turned: a KL divergence is never negative."),
    (lambda new, ref: (ref - new).exp() - 1, "the linear term is missing: exp(d) - d - 1."),
    (
        lambda new, ref: _k3(new, ref).mean(),
        "this is already the mean; return one value per token, the mask comes later.",
    ),
)

k3 = Exercise(
    name="07.k3",
    todo="with d = logp_ref - logp_new: exp(d) - d - 1.",
    right=_k3,
    inputs=INPUTS,
    wrong=(
        (faults.k3, "d is turned round: for tokens sampled from the new policy d = logp_ref - logp_new."),
        *NOT_A_K3,
    ),
)

repair_k3 = Exercise(
    name="07.repair_k3",
    todo="write a repaired copy of `faults.k3`; compare its mean with the exact KL of a small categorical.",
    right=_k3,
    inputs=INPUTS,
    wrong=((faults.k3, "the fault is still there: which policy were the tokens sampled from?"), *NOT_A_K3),
)
