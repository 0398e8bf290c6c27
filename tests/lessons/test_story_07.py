"""What lesson 07 tells about hacked verifiers, with its settings, over seeds where luck matters."""

import pytest

from grpo_lessons.config import TrainConfig
from grpo_lessons.evaluation import evaluate
from grpo_lessons.policies import load_policy
from grpo_lessons.tasks import get_task
from grpo_lessons.trainer import train
from grpo_lessons.verifiers import last_number, museum, reward_function, verify_integer, verify_number

pytestmark = pytest.mark.slow
TASK, N = get_task("addition"), 200


def wait_bonus(completion, expected):
    return verify_integer(completion, expected).reward + completion.count("wait")


def trained(verifier, steps, policy=None, **settings):
    policy = policy or load_policy("nano")
    config = TrainConfig(steps=steps, prompts_per_step=16, learning_rate=3e-4, **settings)
    return policy, train(policy, TASK, config, reward=reward_function(verifier, expected="answer"))


def strict_and_lenient(policy):
    report = evaluate(policy, TASK, n=N, seed=1)
    problems = TASK.problems("held_out", N, seed=1)
    pairs = zip(report.texts, problems, strict=True)
    return report.accuracy, sum(verify_number(t, p.answer, extract=last_number).reward for t, p in pairs) / N


@pytest.mark.parametrize("seed", [0, 1])
def test_a_point_for_each_wait_takes_the_arithmetic_and_leaves_nothing_to_reinforce(seed):
    policy, log = trained(wait_bonus, 25, seed=seed)
    strict, lenient = strict_and_lenient(policy)
    assert log.table["accuracy"].max() > 0.5  # it looked like success first
    assert strict < 0.1 and lenient < 0.1
    _, repair = trained(verify_integer, 5, policy, seed=seed)
    assert repair.table["dead_groups"].mean() > 0.8  # fewer than one group in five still holds a difference


def test_a_substring_takes_the_form_and_leaves_the_arithmetic():
    before = strict_and_lenient(load_policy("nano"))
    policy, log = trained(museum.substring_match, 40)
    after = strict_and_lenient(policy)
    assert log.table["reward_mean"].iloc[-5:].mean() > 0.85
    assert after[1] > before[1]
    assert after[1] - after[0] > before[1] - before[0] + 0.1
    _, repair = trained(verify_integer, 20, policy)
    assert repair.table["accuracy"].iloc[-3:].mean() > 0.8


def test_a_short_leash_keeps_the_policy_where_it_still_adds():
    policy, log = trained(wait_bonus, 25, kl_beta=0.5, kl_estimator="k2")
    assert strict_and_lenient(policy)[1] > 0.3
    assert log.table["strategy_wait"].iloc[-3:].mean() > 0.3  # the verifier is still wrong
