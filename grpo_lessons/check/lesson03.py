"""Checks of lesson 03: from a reward to a gradient."""

import torch

from grpo_lessons.check import faults
from grpo_lessons.check.base import Exercise

THETA = torch.tensor([0.2, -0.5, 0.9])
ARMS, PAID = torch.tensor([0, 1, 2, 2, 0, 1]), torch.tensor([1.0, 0.0, 2.0, 1.0, 0.0, 0.5])


def _push(theta, arms, weights):
    """(N, K): each pull's weight times the gradient of its log-probability, one-hot minus softmax."""
    one_hot = torch.nn.functional.one_hot(arms, len(theta)).float()
    return weights[:, None] * (one_hot - theta.softmax(0))


def _own_arm(theta, arms, rewards):
    baseline = torch.stack([rewards[arms == arm].mean() for arm in arms])
    return _push(theta, arms, rewards - baseline).mean(0)


reinforce_gradient = Exercise(
    name="03.reinforce_gradient",
    todo="average (reward - mean reward) * (one-hot of the arm - softmax(theta)) over the pulls.",
    right=lambda theta, arms, rewards: _push(theta, arms, rewards - rewards.mean()).mean(0),
    inputs=((THETA, ARMS, PAID), (torch.zeros(4), torch.tensor([3, 3, 1]), torch.tensor([1.0, 0.0, 3.0]))),
    wrong=(
        (
            lambda theta, arms, rewards: _push(theta, arms, rewards).mean(0),
            "the baseline is missing: subtract the mean reward first; the expectation stays, the noise shrinks.",
        ),
        (
            lambda theta, arms, rewards: _push(theta, arms, rewards - rewards.mean()).sum(0),
            "this is the sum over the pulls; divide by their number.",
        ),
        (
            lambda theta, arms, rewards: -_push(theta, arms, rewards - rewards.mean()).mean(0),
            "the sign is that of a loss to minimise; here the gradient points where the reward grows.",
        ),
        (_own_arm, "the baseline is each arm's own mean, which also removes what makes one arm better than another."),
        (
            lambda theta, arms, rewards: _push(theta, arms, (rewards - rewards.mean()) / rewards.std()).mean(0),
            "this also divides by the standard deviation; that is a change of scale, not part of the baseline.",
        ),
    ),
)

_generator = torch.Generator().manual_seed(3)
LOGITS = 2 * torch.randn(2, 5, 7, generator=_generator)
IDS = torch.randint(0, 7, (2, 5), generator=_generator)
MASK = torch.tensor([[0.0, 0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0, 0.0]])


def _gather(scores, ids):
    return scores.gather(-1, ids[..., None])[..., 0]


def _shifted(scores, ids, mask):
    return _gather(scores[:, :-1], ids[:, 1:]) * mask


completion_logprobs = Exercise(
    name="03.completion_logprobs",
    todo="log_softmax, drop the last position, gather input_ids[:, 1:], multiply by mask[:, 1:].",
    right=lambda logits, ids, mask: _shifted(logits.log_softmax(-1), ids, mask[:, 1:]),
    inputs=((LOGITS, IDS, MASK), (LOGITS[:, 1:], IDS[:, 1:], MASK[:, 1:])),
    wrong=(
        (
            lambda logits, ids, mask: (_gather(logits.log_softmax(-1), ids) * mask)[:, 1:],
            "the shift is missing: the logits at position t speak about the token at t + 1.",
        ),
        (lambda logits, ids, mask: _shifted(logits, ids, mask[:, 1:]), "these are logits: apply log_softmax first."),
        (
            lambda logits, ids, mask: _shifted(logits.softmax(-1), ids, mask[:, 1:]),
            "these are probabilities: take the logarithm (log_softmax is the exact way).",
        ),
        (
            lambda logits, ids, mask: _shifted(logits.log_softmax(1), ids, mask[:, 1:]),
            "the softmax runs over the positions; it must run over the vocabulary, the last dimension.",
        ),
        (
            lambda logits, ids, mask: _shifted(logits.log_softmax(-1), ids, mask[:, :-1]),
            "the mask must move with the targets: mask[:, 1:], or the first completion token is lost.",
        ),
        (
            lambda logits, ids, mask: _gather(logits[:, :-1].log_softmax(-1), ids[:, 1:]),
            "the prompt and the padding are still in: multiply by mask[:, 1:].",
        ),
    ),
)

TOKENS = torch.tensor([[5, 3, 2, 0, 0], [4, 2, 2, 2, 2], [5, 5, 5, 5, 5], [2, 1, 1, 2, 0]])


def _with_eos(ids, eos_id):
    before = (ids == eos_id).long().cumsum(1) - (ids == eos_id).long()
    return (before == 0).float()


def _up_to_last(ids, eos_id):
    return ((ids == eos_id).long().flip(1).cumsum(1).flip(1) > 0).float()


repair_mask = Exercise(
    name="03.repair_mask",
    todo="write a repaired copy of `faults.completion_mask`; what does the policy learn about stopping?",
    right=_with_eos,
    inputs=((TOKENS, 2), (TOKENS, 0)),
    wrong=(
        (
            faults.completion_mask,
            "the first EOS is still left out: without it nothing ever teaches the policy to stop.",
        ),
        (lambda ids, eos_id: (ids != eos_id).float(), "every EOS is left out, and the padding after it is kept."),
        (lambda ids, eos_id: torch.ones_like(ids).float(), "everything is kept, the padding after the EOS as well."),
        (_up_to_last, "it reaches to the last EOS: where padding is the same token, all of it is kept."),
        (
            lambda ids, eos_id: 1 - _with_eos(ids, eos_id),
            "the mask is upside down: 1 stands for tokens of the completion.",
        ),
    ),
)


def _repaired_logprobs(logits, ids, temperature):
    return _gather((logits / temperature).log_softmax(-1), ids)


repair_temperature = Exercise(
    name="03.repair_temperature",
    todo="write a repaired copy of `faults.token_logprobs`; which distribution were the tokens drawn from?",
    right=_repaired_logprobs,
    inputs=((LOGITS, IDS, 0.7), (LOGITS, IDS, 1.0), (LOGITS, IDS, 1.5)),
    wrong=(
        (
            faults.token_logprobs,
            "`temperature` is still not used: the tokens were drawn from softmax(logits / temperature).",
        ),
        (
            lambda logits, ids, temperature: _repaired_logprobs(logits, ids, 1 / temperature),
            "the logits are multiplied by the temperature; a high one must flatten, so divide.",
        ),
        (
            lambda logits, ids, temperature: _repaired_logprobs(logits, ids, 1.0) / temperature,
            "dividing after log_softmax no longer gives probabilities that sum to 1; divide the logits before it.",
        ),
        (
            lambda logits, ids, temperature: (_gather(logits.softmax(-1), ids) / temperature).log(),
            "the probability is divided by the temperature; divide the logits, before the softmax.",
        ),
    ),
)
