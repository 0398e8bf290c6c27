"""Checks of lesson 07: the k3 estimate of the KL divergence, and an alarm for reward hacking."""

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


def _best(true, i):
    """Where the true score was highest up to evaluation i."""
    return max(range(i + 1), key=true.__getitem__)


def _alarms(proxy, true, drop):
    """Every evaluation at which the true score is `drop` under its best and the proxy is not under what it was then."""
    return [i for i in range(len(true)) if true[i] <= true[_best(true, i)] - drop and proxy[i] >= proxy[_best(true, i)]]


def _first(indices):
    return next(iter(indices), None)


alarm = Exercise(
    name="07.alarm",
    todo="return the first index at which `true` is at least `drop` below its best so far while `proxy` is not below "
    "its value at that best; None if there is none.",
    right=lambda proxy, true, drop: _first(_alarms(proxy, true, drop)),
    inputs=(
        ([0.3, 0.5, 0.8, 1.2, 1.6, 2.0], [0.4, 0.6, 0.7, 0.5, 0.1, 0.0], 0.15),
        ([0.4, 0.6, 0.8, 0.9], [0.4, 0.6, 0.8, 0.9], 0.15),
        ([0.4, 0.7, 0.2, 0.1], [0.4, 0.7, 0.2, 0.1], 0.15),
        ([0.4, 0.7, 0.8, 0.9, 1.0, 1.1], [0.4, 0.7, 0.65, 0.6, 0.52, 0.5], 0.15),
        ([0.4, 0.7, 0.8, 0.9], [0.4, 0.7, 0.62, 0.75], 0.15),
        ([0.3, 0.8, 0.9, 1.0], [0.2, 0.8, 0.5, 0.4], 0.15),
    ),
    wrong=(
        (
            lambda proxy, true, drop: _first(i for i in range(len(true)) if true[i] <= true[_best(true, i)] - drop),
            "where proxy and true score fall together the run is broken, not hacked: look at the proxy as well.",
        ),
        (
            lambda proxy, true, drop: _first(
                i for i in range(1, len(true)) if true[i] <= true[i - 1] - drop and proxy[i] >= proxy[i - 1]
            ),
            "this compares with the evaluation before; a slow fall never rings. Compare with the best so far.",
        ),
        (
            lambda proxy, true, drop: _first(
                i for i in range(len(true)) if true[i] <= true[0] - drop and proxy[i] >= proxy[0]
            ),
            "this compares with the start; a policy that learned first may lose it all before that rings.",
        ),
        (
            lambda proxy, true, drop: _first(_alarms(proxy, true, 1e-9)),
            "`drop` is ignored: an evaluation has noise, and every small fall would ring.",
        ),
        (
            lambda proxy, true, drop: _first(reversed(_alarms(proxy, true, drop))),
            "that is the last such evaluation; an alarm rings at the first.",
        ),
        (
            lambda proxy, true, drop: bool(_alarms(proxy, true, drop)),
            "return where it rings, an index, or None; true or false does not say which checkpoint to go back to.",
        ),
    ),
)
