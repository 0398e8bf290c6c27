"""A short training on a task of lessons 14 to 16 is worth something: the pupil answers better than it was born."""

import pytest

from grpo_lessons.config import TrainConfig
from grpo_lessons.evaluation import evaluate, paired_bootstrap
from grpo_lessons.policies import load_policy
from grpo_lessons.tasks import get_task
from grpo_lessons.trainer import train


@pytest.mark.slow
def test_a_few_steps_on_knights_and_knaves_lift_the_held_out_accuracy():
    policy, task = load_policy("nano-knights", device="cpu"), get_task("knights_knaves", people=2, form="compact")
    before = evaluate(policy, task, n=200, seed=0)
    train(policy, task, TrainConfig(steps=12, prompts_per_step=16, learning_rate=3e-4, seed=0))
    after = evaluate(policy, task, n=200, seed=0)
    assert paired_bootstrap(after.correct, before.correct, seed=0).interval[0] > 0
