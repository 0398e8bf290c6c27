"""What lesson 06 shows, over seeds: a ruler that turns the verdict, and a dial between learning and memory."""

import pytest

from grpo_lessons.config import TrainConfig
from grpo_lessons.evaluation import evaluate, paired_bootstrap
from grpo_lessons.policies import load_policy
from grpo_lessons.tasks import get_task
from grpo_lessons.trainer import train

pytestmark = pytest.mark.slow
TASK = get_task("addition")


def trained(**settings):
    policy = load_policy("nano")
    train(policy, TASK, TrainConfig(**settings))
    return policy


def gain(policy, **ruler):
    """95 % interval of the change of held-out accuracy against the untrained policy."""
    after, before = (evaluate(p, TASK, n=300, seed=1, **ruler) for p in (policy, load_policy("nano")))
    return paired_bootstrap(after.correct, before.correct, seed=0).interval


@pytest.mark.parametrize("seed", [0, 1])
def test_a_budget_of_16_tokens_hides_what_40_show(seed):
    """The written-out sum that training teaches has about 20 tokens."""
    policy = trained(steps=40, seed=seed)
    assert gain(policy)[0] > 0.3
    assert gain(policy, max_new_tokens=16)[1] < 0.1


def test_most_of_the_gain_lies_below_the_pass_at_16_of_the_base():
    base = evaluate(load_policy("nano"), TASK, n=100, samples=16, seed=2).pass_at
    assert base[1] < 0.6 and base[16] > 0.9


@pytest.mark.parametrize("seed", [0, 7])
def test_sixteen_sums_at_a_high_learning_rate_are_learnt_by_heart(seed):
    policy = trained(steps=20, train_problems=16, learning_rate=1e-3, seed=seed)
    seen = evaluate(policy, TASK, n=16, samples=8, split="train", seed=seed).accuracy
    assert seen - evaluate(policy, TASK, n=250, seed=seed).accuracy > 0.2
