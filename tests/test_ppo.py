"""PPO: GAE and the value loss against hand-worked numbers and other formulas; what a step moves; repeatability."""

import math
from dataclasses import replace

import pytest
import torch
from engine import config, nano, parity, sums, weights

from grpo_lessons.critics import Rows, log_probabilities, make_critic, states
from grpo_lessons.gae import at_last_token, explained_variance, gae, value_loss, whiten
from grpo_lessons.logprobs import token_logprobs
from grpo_lessons.policies import LoraSpec, trainable_parameters
from grpo_lessons.ppo import Learner, PPOSettings, train_ppo
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.tasks.addition import Addition

REWARDS = torch.tensor([1.0, 0, 0, 1, 0, 1, 1, 0])


@pytest.fixture(scope="module")
def rollouts():
    problems = sums((3, 4), (73, 89), (15, 15), (48, 27), (10, 99), (52, 9), (61, 17), (88, 88))
    return sample_groups(nano(), problems, 1, max_new_tokens=24, seed=5)


@pytest.fixture(scope="module")
def rows(rollouts):
    return Rows.of(rollouts)


def learner_of(policy, kind, sgd=False, **changes):
    """sgd: plain steps of rate 1 without clipping, so that weights differ by exactly the gradient."""
    learner = Learner(policy, make_critic(policy, kind), config(**{"minibatches": 1, **changes}), PPOSettings())
    if sgd:
        learner.config = replace(learner.config, max_grad_norm=1e9)
        learner.optimizer = torch.optim.SGD([{"params": g["params"]} for g in learner.optimizer.param_groups], lr=1.0)
    return learner


def vector(module):
    return torch.cat([p.detach().flatten() for p in module.parameters()]).clone()


# GAE


def test_gae_of_a_hand_worked_completion():
    # deltas, gamma 1: 0.6 - 0.5 = 0.1, 0.9 - 0.6 = 0.3, 1 - 0.9 = 0.1; lam 0.5 backwards: 0.1, 0.3 + 0.05, 0.1 + 0.175
    rewards, values, mask = torch.tensor([[0.0, 0, 1]]), torch.tensor([[0.5, 0.6, 0.9]]), torch.ones(1, 3)
    assert gae(rewards, values, mask, lam=0.5).tolist()[0] == pytest.approx([0.275, 0.35, 0.1])


def test_gae_with_a_discount_by_hand():
    # deltas: 0 + 0.5 * 0.8 - 0.2 = 0.2, 1 - 0.8 = 0.2; gamma lam = 0.25: 0.2 + 0.05, 0.2
    rewards, values = torch.tensor([[0.0, 1]]), torch.tensor([[0.2, 0.8]])
    assert gae(rewards, values, torch.ones(1, 2), gamma=0.5, lam=0.5).tolist()[0] == pytest.approx([0.25, 0.2])


def random_rows(seed=0, B=5, T=7):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.tensor([7, 1, 4, 0, 6])
    mask = (torch.arange(T) < lengths[:, None]).float()
    return torch.randn(B, T, generator=generator), torch.randn(B, T, generator=generator), mask


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 0.5), (0.97, 1.0), (1.0, 0.0)])
def test_gae_equals_the_weighted_mean_of_n_step_returns(gamma, lam):
    rewards, values, mask = random_rows()
    found = gae(rewards, values, mask, gamma, lam)
    for b, length in enumerate(mask.sum(1).int().tolist()):
        r, v = rewards[b].tolist(), values[b].tolist()
        for t in range(length):
            left = length - t
            n_step = [
                sum(gamma**k * r[t + k] for k in range(n)) + (gamma**n * v[t + n] if n < left else 0.0)
                for n in range(1, left + 1)
            ]
            shares = [(1 - lam) * lam ** (n - 1) for n in range(1, left)] + [lam ** (left - 1)]
            expected = sum(s * g for s, g in zip(shares, n_step, strict=True)) - v[t]
            assert float(found[b, t]) == pytest.approx(expected, abs=1e-5)


def test_with_lam_1_an_advantage_is_the_outcome_minus_the_value():
    _, values, mask = random_rows()
    outcomes = torch.tensor([1.0, 0, 1, 0, 1])
    found = gae(at_last_token(outcomes, mask), values, mask)
    torch.testing.assert_close(found, (outcomes[:, None] - values) * mask)


def test_gae_ignores_whatever_stands_at_masked_positions():
    rewards, values, mask = random_rows()
    noise = torch.where(mask > 0, 0.0, math.nan)
    assert torch.equal(gae(rewards + noise, values + noise, mask, lam=0.9), gae(rewards, values, mask, lam=0.9))
    assert (gae(rewards, values, mask)[mask == 0] == 0).all()


def test_the_outcome_stands_at_the_last_kept_token():
    mask = torch.tensor([[1.0, 1, 1], [1, 0, 0], [0, 0, 0]])
    assert at_last_token(torch.tensor([5.0, 7, 9]), mask).tolist() == [[0, 0, 5], [7, 0, 0], [0, 0, 0]]


# What the critic and the policy are told


def test_value_loss_by_hand_with_anything_at_masked_positions():
    values = torch.tensor([[1.0, 0.5], [0.2, math.inf]], requires_grad=True)
    returns, mask = torch.tensor([[0.0, 1.0], [0.2, math.nan]]), torch.tensor([[1.0, 1], [1, 0]])
    loss = value_loss(values, returns, mask)  # errors 1, -0.5, 0: half of 1.25 / 3
    assert float(loss.detach()) == pytest.approx(1.25 / 6)
    loss.backward()
    torch.testing.assert_close(values.grad, torch.tensor([[1 / 3, -0.5 / 3], [0, 0]]))


def test_value_loss_of_an_empty_mask_is_0():
    assert float(value_loss(torch.ones(2, 2), torch.zeros(2, 2), torch.zeros(2, 2))) == 0.0


def test_whitening_is_over_the_kept_tokens_of_the_batch():
    values, mask = torch.tensor([[1.0, 3], [3, math.nan]]), torch.tensor([[1.0, 1], [1, 0]])
    # mean 7/3, variance (16 + 4 + 4) / 27, deviation 0.942809
    expected = torch.tensor([[-1.414214, 0.707107], [0.707107, 0.0]])
    torch.testing.assert_close(whiten(values, mask), expected, atol=1e-5, rtol=1e-5)


def test_explained_variance_of_a_perfect_a_constant_and_an_ignorant_critic():
    outcomes, mask = torch.tensor([1.0, 0.0]), torch.ones(2, 2)
    assert explained_variance(outcomes[:, None].expand(2, 2), outcomes, mask) == pytest.approx(1.0)
    assert explained_variance(torch.full((2, 2), 0.3), outcomes, mask) == pytest.approx(0.0)
    assert explained_variance(1 - outcomes[:, None].expand(2, 2), outcomes, mask) == pytest.approx(-3.0)
    assert explained_variance(torch.zeros(2, 2), torch.ones(2), mask) is None


# Critics


def test_values_come_from_the_state_before_each_token(rows):
    policy = nano()
    critic = make_critic(policy, "separate")
    torch.nn.init.normal_(critic.head.weight, generator=torch.Generator().manual_seed(1))
    values = critic(rows)
    b = int(rows.mask.sum(1).argmax())
    for t in (0, 3):
        ids = torch.cat([rows.prompt_ids[b][rows.prompt_mask[b] > 0], rows.completion_ids[b, :t]])
        hidden = policy.model.model(ids[None]).last_hidden_state[0, -1]
        assert values[b, t].item() == pytest.approx(critic.head(hidden).item(), abs=1e-4)


def test_a_new_critic_expects_0_and_the_separate_one_is_as_large_as_the_policys_body(rows):
    policy = nano()
    body, hidden = trainable_parameters(policy.model.model), policy.model.config.hidden_size
    sizes = {"separate": body + hidden + 1, "shared": hidden + 1, "none": 0}
    for kind, size in sizes.items():
        critic = make_critic(policy, kind)
        assert trainable_parameters(critic) == size
        assert not critic(rows).any()


def test_log_probabilities_are_those_of_the_whole_forward(rows):
    policy = nano()
    ids = torch.cat([rows.prompt_ids, rows.completion_ids], 1)
    attention = torch.cat([rows.prompt_mask, torch.ones_like(rows.completion_ids)], 1)
    expected = token_logprobs(policy.model, ids, attention, rows.mask.shape[1], mask=rows.mask, temperature=0.8).logp
    found = log_probabilities(policy, states(policy, rows), rows, temperature=0.8)
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-4)


def test_an_unknown_critic_is_refused_by_name():
    with pytest.raises(ValueError, match="critic is 'big'; choose one of separate, shared, none"):
        make_critic(nano(), "big")


# Steps


@pytest.mark.parametrize("kind", ["separate", "shared"])
def test_one_step_moves_critic_and_policy(rows, kind):
    policy = nano()
    learner = learner_of(policy, kind, minibatches=2)
    before = weights(policy), vector(learner.critic)
    learner.update(learner.compare(rows, REWARDS)[0], step=1)
    assert not torch.equal(weights(policy), before[0])
    assert not torch.equal(vector(learner.critic), before[1])


def test_training_pulls_the_values_towards_the_outcomes(rows):
    learner = learner_of(nano(), "separate")
    errors = []
    for step in range(1, 16):
        compared, _ = learner.compare(rows, REWARDS)
        errors.append(float(value_loss(learner.critic(rows), REWARDS[:, None].expand_as(rows.mask), rows.mask)))
        learner.update(compared, step)
    assert errors[0] == pytest.approx(0.5 * float(rows.mask[REWARDS > 0].sum() / rows.mask.sum()))
    assert errors[-1] < 0.25 * errors[0]


def test_a_separate_critics_error_does_not_move_the_policy_and_a_shared_ones_does(rows):
    moved = {}
    for kind in ("separate", "shared", "none"):
        policy = nano()
        learner = learner_of(policy, kind, sgd=True)
        if kind != "none":
            torch.nn.init.constant_(learner.critic.head.weight, 0.1)
        flat = replace(rows, advantages=torch.zeros_like(rows.mask), returns=torch.ones_like(rows.mask))
        learner.minibatch(flat, step=1)
        moved[kind] = not torch.equal(weights(policy), weights(nano()))
    assert moved == {"separate": False, "shared": True, "none": False}


def test_an_unscored_completion_adds_nothing(rows):
    scored = torch.arange(8) != 3
    rewards = torch.where(scored, REWARDS, math.nan)
    results = []
    for part, its_rewards in ((rows, rewards), (rows.take(scored), REWARDS[scored])):
        policy = nano()
        learner = learner_of(policy, "separate", sgd=True)
        learner.minibatch(learner.compare(part, its_rewards)[0], step=1)
        results.append(torch.cat([weights(policy), vector(learner.critic)]))
    size = (results[1] - torch.cat([weights(nano()), vector(make_critic(nano(), "separate"))])).abs().max()
    assert (results[0] - results[1]).abs().max() < 2e-4 * size


def test_what_lies_after_the_end_token_changes_nothing(rows):
    other = replace(rows, completion_ids=torch.where(rows.mask > 0, rows.completion_ids, 17))
    results = []
    for part in (rows, other):
        policy = nano()
        learner = learner_of(policy, "shared")
        learner.update(learner.compare(part, REWARDS)[0], step=1)
        results.append(weights(policy))
    assert torch.equal(*results)


# The loop


def train_small(seed=0, critic="separate", **changes):
    policy = nano()
    log = train_ppo(policy, Addition(), config(seed=seed, **changes), critic=critic, reward=parity)
    return policy, log


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    (policy, log), (again, second), (_, other) = train_small(), train_small(), train_small(seed=1)
    assert torch.equal(weights(policy), weights(again))
    assert log.lines["metrics"] == second.lines["metrics"] != other.lines["metrics"]


def test_both_learning_rates_rise_and_fall_together(rows):
    learner = learner_of(nano(), "shared", warmup_steps=4, steps=4)
    learner.update(learner.compare(rows, REWARDS)[0], step=1)
    assert [group["lr"] for group in learner.optimizer.param_groups] == pytest.approx([2e-4 / 4, 1e-3 / 4])


def test_a_step_samples_as_many_completions_as_grpo_each_of_another_problem():
    class Counting(Addition):
        def verify(self, completion, problem):
            asked.append((problem.data["a"], problem.data["b"]))
            return super().verify(completion, problem)

    asked = []
    train_ppo(nano(), Counting(), config(steps=1), critic="shared")
    assert len(asked) == len(set(asked)) == 16


def test_the_log_has_a_row_a_step_the_evaluations_and_the_critic_in_its_header():
    _, log = train_small(eval_every=2, eval_n=8, eval_splits=("dev",), critic="shared")
    assert log.table["step"].tolist() == [1, 2]
    assert {"accuracy", "reward_mean", "value_loss", "value_mean", "explained_variance"} <= set(log.table)
    assert log.evals["step"].tolist() == [0, 2]
    assert (log.header["ppo"]["critic"], log.header["ppo"]["critic_parameters"]) == ("shared", 97)


def test_lora_trains_the_adapters_and_a_separate_critics_own_adapters():
    policy = nano(lora=LoraSpec(rank=4))
    critic = make_critic(policy, "separate")
    adapters, before = trainable_parameters(policy.model), vector(policy.model.get_base_model())
    assert trainable_parameters(critic) == adapters + policy.model.config.hidden_size + 1
    train_ppo(policy, Addition(), config(), critic=critic, reward=parity)
    changed = vector(policy.model.get_base_model()) != before
    assert 0 < int(changed.sum()) <= adapters


def test_settings_that_ppo_would_ignore_are_refused():
    with pytest.raises(ValueError, match="train_ppo has no kl_beta, micro_batch"):
        train_ppo(nano(), Addition(), config(kl_beta=0.1, micro_batch=4))
