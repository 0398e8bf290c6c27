"""The update: what a minibatch does to the weights, against the loss written out on the whole minibatch."""

from dataclasses import replace

import pytest
import torch
from engine import config, nano, sums, weights

from grpo_lessons.logprobs import token_logprobs
from grpo_lessons.losses import grpo_loss, kl_penalty
from grpo_lessons.methods import METHODS
from grpo_lessons.policies import LoraSpec
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.trainer import TrainingError
from grpo_lessons.update import Reference, Updater

PROBLEMS = sums((3, 4), (73, 89), (15, 15), (48, 27))
REWARDS = torch.tensor([[1.0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]])  # two dead groups


@pytest.fixture(scope="module")
def rollouts():
    return sample_groups(nano(), PROBLEMS, 4, max_new_tokens=24, seed=5)


def updater_of(policy, sgd=False, **changes):
    """sgd: plain steps of rate 1 without clipping, so that weights differ by exactly the gradient."""
    settings = config(**{"minibatches": 1, **changes, **({"max_grad_norm": 1e9} if sgd else {})})
    updater = Updater(policy, settings, max_new_tokens=24)
    if sgd:
        updater.optimizer = torch.optim.SGD(updater.parameters, lr=1.0)
        updater.config = replace(settings, learning_rate=1.0)
    return updater


def update(policy, rollouts, rewards=REWARDS, sgd=False, **changes):
    """Weights after one rollout, and the metrics."""
    updater = updater_of(policy, sgd, **changes)
    metrics = updater.update(rollouts, rewards, updater.method.advantages(rewards), step=1)
    return weights(policy), metrics


def scored(policy, rollouts, mask=None):
    ids = torch.cat([rollouts.prompt_ids, rollouts.completion_ids], 1)
    attention = torch.cat([rollouts.prompt_mask, torch.ones_like(rollouts.completion_ids)], 1)
    mask = rollouts.mask if mask is None else mask
    return token_logprobs(policy.model, ids, attention, mask.shape[1], mask=mask).logp


def gradient_step(policy, rollouts, loss_of, rows=None):
    """Weights after a step of rate 1 on loss_of(logp) over all rows at once."""
    loss_of(scored(policy, rollouts)).backward()
    with torch.no_grad():
        for p in policy.model.parameters():
            if p.grad is not None:
                p -= p.grad
    return weights(policy)


def assert_same_step(found, expected, start):
    """Equal to float32 rounding, relative to the size of the step."""
    size = (expected - start).abs().max()
    assert size > 0
    assert (found - expected).abs().max() <= 2e-4 * size


def test_skipped_dead_groups_leave_the_gradient_of_the_whole_minibatch(rollouts):
    start = weights(nano())
    advantages = METHODS["grpo"].advantages(REWARDS).flatten()
    expected = gradient_step(
        nano(), rollouts, lambda logp: grpo_loss(logp, rollouts.logp, advantages, rollouts.mask).loss
    )
    found, _ = update(nano(), rollouts, sgd=True)
    assert_same_step(found, expected, start)


def test_skipped_dead_groups_leave_adamws_step_on_that_gradient(rollouts):
    policy, reference = nano(), nano()
    advantages = METHODS["grpo"].advantages(REWARDS).flatten()
    optimizer = torch.optim.AdamW(reference.model.parameters(), lr=2e-4, weight_decay=0.0)
    grpo_loss(scored(reference, rollouts), rollouts.logp, advantages, rollouts.mask).loss.backward()
    torch.nn.utils.clip_grad_norm_(reference.model.parameters(), 1.0)
    optimizer.step()
    found, _ = update(policy, rollouts)
    moved = (weights(reference) - weights(nano())).abs() > 1.99e-4  # elsewhere the gradient is rounding noise
    assert moved.float().mean() > 0.9
    assert (found - weights(reference)).abs()[moved].max() < 2e-7


def test_a_minibatch_of_dead_groups_still_moves_on_adamws_momentum(rollouts):
    policy = nano()
    updater = updater_of(policy)
    updater.update(rollouts, REWARDS, METHODS["grpo"].advantages(REWARDS), step=1)
    first = weights(policy)
    moments = [(s["exp_avg"].clone(), s["exp_avg_sq"].clone()) for s in updater.optimizer.state.values()]
    dead = torch.ones(4, 4)
    metrics = updater.update(rollouts, dead, METHODS["grpo"].advantages(dead), step=2)
    # Adam's second step with gradient 0: m = 0.9 m, v = 0.999 v, both corrected for two steps
    step = [2e-4 * (0.9 * m / 0.19) / ((0.999 * v / 0.001999).sqrt() + 1e-8) for m, v in moments]
    expected = first - torch.cat([s.flatten() for s in step])
    assert (expected - first).abs().max() > 5e-5
    torch.testing.assert_close(weights(policy), expected, atol=2e-8, rtol=1e-6)
    assert metrics["loss"] == metrics["grad_norm"] == metrics["log_ratio_max"] == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_micro_batches_of_any_size_give_the_same_weights(rollouts, method):
    results = {}
    for size in (None, 1, 3):
        results[size], metrics = update(nano(), rollouts, sgd=True, method=method, micro_batch=size, minibatches=2)
        moved = max(metrics["log_ratio_max"], -metrics["log_ratio_min"])
        assert moved > 1e-4  # the second minibatch sees moved weights
    assert_same_step(results[1], results[None], weights(nano()))
    assert_same_step(results[3], results[None], weights(nano()))


def test_micro_batches_of_any_size_give_the_same_metrics(rollouts):
    whole, split = (update(nano(), rollouts, micro_batch=size, minibatches=2, kl_beta=0.1)[1] for size in (None, 3))
    assert whole.keys() == split.keys()
    for name in whole:
        assert split[name] == pytest.approx(whole[name], rel=1e-3, abs=2e-5), name


@pytest.mark.parametrize("reason", ["truncated", "unscored"])
def test_left_out_completions_leave_numerator_and_denominator(rollouts, reason):
    left_out = torch.zeros(16, dtype=torch.bool)
    left_out[[1, 8, 14]] = True  # groups 0 and 3 keep a right and a wrong one
    changed, rewards = rollouts, REWARDS
    if reason == "truncated":
        changed = replace(rollouts, finished=~left_out)
    else:
        rewards = torch.where(left_out.view(4, 4), torch.nan, REWARDS)
    advantages = METHODS["grpo"].advantages(rewards).flatten()
    kept = ~left_out

    def loss_of(logp):  # the other 13 rows alone
        return grpo_loss(logp[kept], rollouts.logp[kept], advantages[kept], rollouts.mask[kept]).loss

    expected = gradient_step(nano(), rollouts, loss_of)
    found, _ = update(nano(), changed, rewards, sgd=True, mask_truncated=reason == "truncated")
    assert_same_step(found, expected, weights(nano()))


def test_without_mask_truncated_a_truncated_completion_counts(rollouts):
    changed = replace(rollouts, finished=torch.zeros(16, dtype=torch.bool))
    assert torch.equal(update(nano(), changed)[0], update(nano(), rollouts)[0])


def test_kl_penalty_is_against_the_initial_policy_and_dead_groups_take_part(rollouts):
    policy, initial = nano(), nano()
    with torch.no_grad():
        logp_ref = scored(initial, rollouts)
    updater = updater_of(policy, sgd=True, kl_beta=0.5)
    with torch.no_grad():  # as after many steps
        for p in policy.model.parameters():
            p.mul_(1.05)
    moved = nano()
    moved.model.load_state_dict(policy.model.state_dict())
    advantages = METHODS["grpo"].advantages(REWARDS)
    start = weights(policy)

    def loss_of(logp):
        surrogate = grpo_loss(logp, rollouts.logp, advantages.flatten(), rollouts.mask).loss
        return surrogate + 0.5 * kl_penalty(logp, logp_ref, rollouts.mask)

    expected = gradient_step(moved, rollouts, loss_of)
    metrics = updater.update(rollouts, REWARDS, advantages, step=1)
    assert metrics["kl_reference"] > 1e-3
    assert_same_step(weights(policy), expected, start)


def test_reference_with_adapters_that_are_not_zero_is_the_initial_policy_and_not_the_base():
    policy = nano(lora=LoraSpec(rank=2))
    trainable = [p for p in policy.model.parameters() if p.requires_grad]
    with torch.no_grad():
        for p in trainable:
            p.add_(0.1)
    before = weights(policy)
    reference = Reference(trainable)
    with torch.no_grad():
        for p in trainable:
            p.mul_(3.0)
    moved = weights(policy)
    with reference.active():
        assert torch.equal(weights(policy), before)
    assert torch.equal(weights(policy), moved)


def test_lopti_takes_two_optimizer_steps_for_each_minibatch(rollouts):
    for method, steps in (("grpo", 2), ("lopti", 4)):
        updater = updater_of(nano(), method=method, minibatches=2)
        updater.update(rollouts, REWARDS, updater.method.advantages(REWARDS), step=1)
        assert {int(s["step"]) for s in updater.optimizer.state.values()} == {steps}


def test_epochs_go_over_the_rollout_again(rollouts):
    updater = updater_of(nano(), minibatches=2, epochs=3)
    updater.update(rollouts, REWARDS, updater.method.advantages(REWARDS), step=1)
    assert {int(s["step"]) for s in updater.optimizer.state.values()} == {6}


@pytest.mark.parametrize("backend", ["transformers", "patched"])
def test_gradient_checkpointing_leaves_the_gradient(rollouts, backend):
    def step(gradient_checkpointing):
        policy = nano()
        policy.backend = backend
        return update(policy, rollouts, sgd=True, gradient_checkpointing=gradient_checkpointing)[0]

    assert_same_step(step(True), step(False), weights(nano()))


def test_gradient_checkpointing_reaches_adapters(rollouts):
    found = [update(nano(lora=LoraSpec(rank=2)), rollouts, sgd=True, gradient_checkpointing=c)[0] for c in (0, 1)]
    assert_same_step(found[1], found[0], weights(nano(lora=LoraSpec(rank=2))))


def test_recomputed_old_log_probabilities_make_the_first_ratio_exactly_1(rollouts):
    wrong = replace(rollouts, logp=rollouts.logp - 0.5 * rollouts.mask)
    assert update(nano(), wrong)[1]["sampler_gap"] == pytest.approx(0.5, abs=1e-4)
    assert update(nano(), wrong, old_logp="recompute")[1]["sampler_gap"] < 1e-5


def test_warmup_raises_the_learning_rate_linearly(rollouts):
    updater = updater_of(nano(), warmup_steps=4, learning_rate=8e-4)
    rates = [
        updater.update(rollouts, REWARDS, METHODS["grpo"].advantages(REWARDS), step)["learning_rate"]
        for step in (1, 2, 4, 5)
    ]
    assert rates == pytest.approx([2e-4, 4e-4, 8e-4, 8e-4])


def test_a_loss_that_is_not_finite_stops_before_its_optimizer_step(rollouts):
    policy, calls = nano(), []

    def loss(logp_new, logp_old, advantages, mask, **options):
        calls.append(weights(policy))
        result = grpo_loss(logp_new, logp_old, advantages, mask, **options)
        return result if len(calls) == 1 else result._replace(loss=result.loss * float("nan"))

    updater = updater_of(policy, minibatches=2)
    updater.method = replace(updater.method, loss=loss)
    with pytest.raises(TrainingError, match=r"step 7 of grpo: loss nan, .*not finite.*smaller learning_rate"):
        updater.update(rollouts, REWARDS, updater.method.advantages(REWARDS), step=7)
    assert len(calls) == 2
    assert not torch.equal(calls[0], calls[1])  # the first minibatch moved them
    assert torch.equal(weights(policy), calls[1])  # the second did not
    assert all(p.grad is None for p in policy.model.parameters())


def test_a_gradient_that_is_not_finite_stops_before_its_optimizer_step_though_the_loss_is(rollouts):
    def loss(logp_new, *args, **options):
        result = grpo_loss(logp_new, *args, **options)
        return result._replace(loss=result.loss + (0 * logp_new.sum()).sqrt())  # value 0, derivative inf * 0

    policy = nano()
    updater = updater_of(policy)
    updater.method = replace(updater.method, loss=loss)
    with pytest.raises(TrainingError, match=r"loss -?\d[^,]*, gradient norm nan: not finite"):
        updater.update(rollouts, REWARDS, updater.method.advantages(REWARDS), step=1)
    assert torch.equal(weights(policy), weights(nano()))


def test_weights_that_are_not_finite_stop_the_run(rollouts):
    with pytest.raises(TrainingError, match=r"norm of the weights (inf|nan): not finite"):
        update(nano(), rollouts, learning_rate=1e37)


def test_the_model_is_left_in_evaluation_mode(rollouts):
    policy = nano()
    update(policy, rollouts)
    assert not policy.model.training
