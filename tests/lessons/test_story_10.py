"""What lesson 10 says in words about its seven runs, and what its live cells are meant to show."""

from dataclasses import replace

import pytest

from grpo_lessons import clinic
from grpo_lessons.diagnose import diagnose
from grpo_lessons.plots.vitals import movement
from grpo_lessons.trainer import train


@pytest.fixture(scope="module")
def runs():
    return {name: clinic.load(name) for name in clinic.PATIENTS}


def early(log, column):
    return log.table[column].head(13).mean()


def test_each_patient_differs_from_the_healthy_run_in_one_setting_the_hacked_one_in_none(runs):
    usual = runs["run_d"].header["config"]
    changed = {name: {k for k, v in log.header["config"].items() if v != usual[k]} for name, log in runs.items()}
    assert changed == {
        "run_a": {"train_problems"},
        "run_b": {"temperature"},
        "run_c": {"learning_rate"},
        "run_d": set(),
        "run_e": {"max_new_tokens"},
        "run_f": set(),
        "run_g": {"learning_rate"},
    }
    fewer = [name for name, log in runs.items() if log.header["trainable_parameters"] < 358_656]
    assert fewer == ["run_g"]


def test_three_stand_still_for_three_reasons(runs):
    for name in ("run_b", "run_e", "run_g"):
        exam = runs[name].evals["accuracy"]
        assert abs(exam.iloc[-1] - exam.iloc[0]) < 0.1
    assert runs["run_e"].table["reward_mean"].max() == 0
    assert early(runs["run_b"], "reward_mean") > 0.4 and early(runs["run_b"], "dead_groups") > 0.95
    assert early(runs["run_g"], "dead_groups") < 0.3 and early(runs["run_g"], "grad_norm") > 0.05


def test_run_g_moves_less_than_a_three_hundredth_of_the_healthy_run(runs):
    still, healthy = (movement(runs[name].table).head(13).median() for name in ("run_g", "run_d"))
    assert 0 < still < healthy / 300


def test_the_weights_of_run_b_never_moved_so_the_untrained_pupil_is_its_last_policy(runs):
    assert runs["run_b"].table["grad_norm_max"].max() == 0


def test_the_two_completions_of_a_question_are_mostly_alike_in_run_b(runs):
    rows = runs["run_b"].completions
    pairs = rows.groupby(["step", "prompt"])["completion"].nunique()
    assert (pairs == 1).sum() > len(pairs) / 2


def test_late_dead_groups_do_not_tell_the_healthy_run_from_the_sick(runs):
    assert runs["run_d"].table["dead_groups"].tail(5).mean() > 0.5
    assert runs["run_d"].evals["accuracy"].iloc[-1] > 0.9


def test_without_its_held_out_accuracy_the_hacked_run_would_look_as_healthy_as_the_healthy_one(runs):
    ends = [runs[name].table["reward_mean"].tail(5).mean() for name in ("run_f", "run_d")]
    assert min(ends) > 0.9 and runs["run_f"].evals["accuracy"].iloc[-1] < 0.3


def test_among_the_completions_of_the_hacked_run_are_paid_ones_that_the_task_refuses(runs):
    rows = runs["run_f"].completions
    assert ((rows["reward"] == 1) & (rows["reason"] != "correct")).any()


@pytest.mark.slow
def test_a_larger_group_leaves_the_groups_of_run_b_dead():
    policy, task, config, reward = clinic.admit("run_b")
    log = train(policy, task, replace(config, group_size=32, steps=5, eval_every=0), reward=reward)
    assert log.table["dead_groups"].mean() > 0.9


@pytest.mark.slow
def test_temperature_1_cures_run_b():
    policy, task, config, reward = clinic.admit("run_b")
    log = train(policy, task, replace(config, temperature=1.0, steps=30), reward=reward)
    assert log.evals["low"].iloc[-1] > log.evals["high"].iloc[0]
    assert diagnose(log) == []


@pytest.mark.slow
def test_at_temperature_02_the_alarm_rings_and_the_run_learns_all_the_same():
    policy, task, config, reward = clinic.admit("run_b")
    log = train(policy, task, replace(config, temperature=0.2), reward=reward)
    assert "dead groups" in [finding.name for finding in diagnose(log)]
    assert log.evals["low"].iloc[-1] > log.evals["high"].iloc[0]
