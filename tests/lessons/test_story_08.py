"""What lesson 08 says in words about its recorded runs and about a run at the default rate."""

import pytest

from grpo_lessons.studies import load_recorded


@pytest.fixture(scope="module")
def steep():
    curves = load_recorded("ladder").curves
    return curves[curves["setting"] == "1e-03"].groupby("label")[["log_ratio_min", "log_ratio_max"]].mean()


def test_the_bands_reach_further_below_zero_than_above(steep):
    assert (-steep["log_ratio_min"] > 2 * steep["log_ratio_max"]).all()


def test_the_bands_go_beyond_both_clips_in_both_methods(steep):
    """The wider of the two is GMPO's, 0.4 in log-ratios."""
    assert (steep["log_ratio_min"] < -0.4).all() and (steep["log_ratio_max"] > 0.4).all()


@pytest.mark.slow
def test_gmpo_teaches_the_pupil_at_the_default_rate():
    from grpo_lessons.config import TrainConfig
    from grpo_lessons.evaluation import evaluate
    from grpo_lessons.policies import load_policy
    from grpo_lessons.tasks import get_task
    from grpo_lessons.trainer import train

    policy, task = load_policy("nano"), get_task("addition")
    train(policy, task, TrainConfig(method="gmpo", steps=60, seed=0))
    assert evaluate(policy, task, n=500, seed=1).accuracy > 0.9
