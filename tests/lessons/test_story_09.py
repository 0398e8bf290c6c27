"""What lesson 09 says in words: unsure tokens have the large gradients, and what the logits of the pupil are like."""

import pytest
import torch

from grpo_lessons.logprobs import token_logprobs
from grpo_lessons.nano import sg_options
from grpo_lessons.policies import load_policy
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.tasks import get_task
from grpo_lessons.weights import sharpness_weights


@pytest.fixture(scope="module")
def tokens():
    """(N, 3): probability, logit and gradient norm of the sampled tokens of four completions."""
    policy, task = load_policy("nano"), get_task("addition")
    r = sample_groups(policy, task.problems("dev", 4, seed=0), 1, max_new_tokens=task.max_new_tokens, seed=0)
    ids = torch.cat([r.prompt_ids, r.completion_ids], 1)
    attention = torch.cat([r.prompt_mask, torch.ones_like(r.completion_ids)], 1)
    scores = token_logprobs(policy.model, ids, attention, r.mask.shape[1], mask=r.mask)
    parameters, rows = list(policy.model.parameters()), []
    for row, t in r.mask.nonzero().tolist():
        gradient = torch.autograd.grad(scores.logp[row, t], parameters, retain_graph=True)
        norm = torch.cat([g.flatten() for g in gradient]).norm()
        rows.append([scores.logp[row, t].exp().item(), scores.chosen_logit[row, t].item(), norm.item()])
    return torch.tensor(rows)


def ranks(x):
    return x.argsort().argsort().float()


@pytest.mark.slow
def test_the_less_sure_a_token_was_the_larger_its_gradient(tokens):
    assert torch.corrcoef(torch.stack([ranks(1 - tokens[:, 0]), ranks(tokens[:, 2])]))[0, 1] > 0.9


@pytest.mark.slow
def test_the_pupils_logits_rank_tokens_almost_as_probabilities_do(tokens):
    assert torch.corrcoef(torch.stack([ranks(tokens[:, 0]), ranks(tokens[:, 1])]))[0, 1] > 0.8


def test_own_constants_use_the_whole_range_of_weights_where_the_second_hand_ones_do_not():
    h = torch.tensor([9.48, 13.98])  # the 10 % and 90 % quantiles on the card of data/nano
    own = sharpness_weights(h, **{key: value for key, value in sg_options().items() if key != "normalize"})
    assert own.tolist() == pytest.approx([1.0, 1.4], abs=0.01)
    assert sharpness_weights(h).max() < 1.2
