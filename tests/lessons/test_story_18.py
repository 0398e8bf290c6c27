"""What lesson 18 shows: a task that no other lesson has, from homework to a gain whose interval is above 0."""

import pytest

from grpo_lessons.config import TrainConfig
from grpo_lessons.evaluation import evaluate, paired_bootstrap
from grpo_lessons.nano import make_nano
from grpo_lessons.planning import dead_group_share, token_budget
from grpo_lessons.policies import Policy, place_of
from grpo_lessons.tasks import get_task
from grpo_lessons.tasks.weeks_homework import RAISING, weeks_homework
from grpo_lessons.trainer import train

pytestmark = pytest.mark.slow
TASK = get_task("weeks_later")


def test_a_pupil_raised_on_dates_can_be_planned_and_taught():
    policy = Policy(*make_nano(weeks_homework(TASK), seed=0, **RAISING), place_of("cpu"))
    probe = evaluate(policy, TASK, split="dev", n=60, samples=16, max_new_tokens=80)
    assert 0.15 < probe.accuracy < 0.6
    assert dead_group_share(probe.correct, 4) < 0.5
    assert 20 <= token_budget(probe.lengths, probe.finished, cut_off=0.01) <= 40

    before = evaluate(policy, TASK, n=200, seed=1)
    settings = {"steps": 50, "learning_rate": 3e-4, "decay_to": 0.1}
    train(policy, TASK, TrainConfig.from_batch(256, 4, seed=0, **settings))
    after = evaluate(policy, TASK, n=200, seed=1)
    assert paired_bootstrap(after.correct, before.correct, seed=0).interval[0] > 0.1
