"""Each finding on a run that has the fault, and none on runs that learn."""

import pandas as pd
import pytest
from engine import alternating, config, nano, parity

from grpo_lessons.config import TrainConfig
from grpo_lessons.diagnose import diagnose, diagnose_command
from grpo_lessons.paths import data_dir
from grpo_lessons.runlog import RunLog
from grpo_lessons.tasks.addition import Addition
from grpo_lessons.trainer import TrainingError, train
from grpo_lessons.verifiers import Verdict

STUDY_ONLY = ["run", "label", "setting", "seed", "held_out"]


def recorded(study, method, setting, seed, **changes):
    """The log of a recorded run on nano: the settings that matter here, its metrics and its evaluations."""
    curves = pd.read_csv(data_dir() / "recorded" / study / "curves.csv")
    chosen = (curves["label"] == method) & (curves["setting"].astype(str) == setting) & (curves["seed"] == seed)
    rows = curves[chosen]
    log = RunLog({"config": TrainConfig(method=method, steps=len(rows), **changes).to_dict()})
    log.lines["metrics"] = rows.drop(columns=STUDY_ONLY).to_dict("records")
    evals = rows[rows["held_out"].notna()]
    log.lines["evals"] = [evaluation(int(row.step), row.held_out) for row in evals.itertuples()]
    return log


def healthy(**changes):
    return recorded("lengths", "grpo", "default", 0, **changes)


def evaluation(step, accuracy, n=200, split="held_out"):
    half = 1.96 * (0.25 / n) ** 0.5
    return {
        "step": step,
        "split": split,
        "n": n,
        "accuracy": accuracy,
        "low": max(0, accuracy - half),
        "high": min(1, accuracy + half),
    }


def ramp(log, column, start, end):
    """Replace a column by a straight line."""
    last = len(log.lines["metrics"]) - 1
    for i, row in enumerate(log.lines["metrics"]):
        row[column] = start + (end - start) * i / last


def run(task=None, reward=parity, policy=None, **changes):
    return train(policy or nano(), task or Addition(), config(**{"steps": 3, **changes}), reward=reward)


def named(log):
    return {finding.name: finding for finding in diagnose(log)}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("method", ["grpo", "dr_grpo", "dapo"])
def test_no_finding_on_runs_that_learned(method, seed):
    log = recorded("lengths", method, "default", seed)
    assert len(log.table) == 60 and log.table["accuracy"].iloc[-5:].mean() > 0.9
    assert diagnose(log) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_learning_rate_that_breaks_the_policy(seed):
    finding = named(recorded("ladder", "grpo", "0.001", seed, learning_rate=1e-3))["the learning rate is too high"]
    assert "accuracy fell from" in finding.evidence
    assert finding.advice.startswith("learning_rate 2e-04")


def test_a_learning_rate_that_moves_nothing():
    found = named(run(learning_rate=1e-9, reward=alternating))
    assert "in 3 steps" in found["the learning rate is too low"].evidence
    assert "the learning rate is too high" not in found


def test_adapters_that_do_not_move_the_policy_though_their_own_norm_grows():
    log = healthy(learning_rate=1e-6)
    for column in ("log_ratio_q01", "log_ratio_q99"):
        ramp(log, column, 1e-4, 1e-4)
    ramp(log, "weight_norm", 10.0, 10.1)
    assert "98 % of the ratios within 1.0e-04 of 1" in named(log)["the learning rate is too low"].evidence


def test_ratios_of_1_because_the_last_minibatch_had_no_live_group_blame_no_learning_rate():
    log = healthy()
    for column in ("log_ratio_q01", "log_ratio_q99"):
        ramp(log, column, 0.0, 0.0)
    ramp(log, "dead_groups", 0.85, 0.85)
    assert "the learning rate is too low" not in named(log)


def test_one_update_a_rollout_explains_loss_0_and_clip_fraction_0_and_blames_nothing():
    found = named(run(minibatches=1, prompts_per_step=8))
    assert set(found) == {"the loss is 0, and that is right", "no ratio is ever clipped"}


def test_cut_off_answers_are_named_as_the_reason_of_reward_0():
    finding = named(run(reward=None, max_new_tokens=3))["the reward never differs"]
    assert "reward 0 for every completion of 3 steps; truncated 100%" in finding.evidence
    assert "cut off" in finding.cause and "max_new_tokens" in finding.advice


def test_a_form_that_is_never_right_is_named_with_the_verifiers_reason():
    class Boxed(Addition):
        def verify(self, completion, problem):
            return Verdict(0.0, "no_answer", None)

    finding = named(run(task=Boxed(), reward=None))["the reward never differs"]
    assert "no_answer 100%" in finding.evidence
    assert "no <answer> block" in finding.cause


def test_a_reward_that_is_always_1_ranks_nothing_either():
    finding = named(run(reward=lambda prompts, completions, **columns: [1.0] * len(completions)))
    assert "reward 1 for every completion" in finding["the reward never differs"].evidence
    assert "the learning rate is too low" not in finding


@pytest.mark.filterwarnings("ignore:.*got no reward")
def test_completions_without_a_reward():
    def some(prompts, completions, **columns):
        return [None, None, *parity(prompts, completions)[2:]]

    assert named(run(reward=some))["completions without a reward"].evidence.startswith("12% of all completions")


@pytest.mark.parametrize(
    ("accuracy", "side", "advice"), [(0.02, "hard", "G = 64 would"), (0.99, "easy", "G = 128 would")]
)
def test_dead_groups_with_the_arithmetic(accuracy, side, advice):
    log = healthy()
    ramp(log, "dead_groups", 0.85, 0.9)
    ramp(log, "accuracy", accuracy, accuracy)
    ramp(log, "reward_mean", accuracy, accuracy)
    finding = named(log)["dead groups"]
    assert f"too {side}" in finding.cause and advice in finding.advice
    assert f"p = {accuracy:.3f} and G = 8" in finding.evidence  # 0.98^8 = 85 %, 0.99^8 = 92 %
    assert ("= 85%" if side == "hard" else "= 92.3%") in finding.evidence


@pytest.mark.parametrize(("temperature", "cause"), [(0.05, "at temperature 0.05"), (1.0, "the problems are too easy")])
def test_groups_that_the_pass_rate_does_not_explain_are_laid_to_a_low_temperature(temperature, cause):
    log = healthy(temperature=temperature)
    for column, value in (("dead_groups", 1.0), ("accuracy", 0.6), ("reward_mean", 0.6)):
        ramp(log, column, value, value)
    assert named(log)["dead groups"].cause.startswith(cause)


def test_a_low_temperature_is_not_blamed_where_the_pass_rate_explains_the_dead_groups():
    log = healthy(temperature=0.05)
    for column, value in (("dead_groups", 0.9), ("accuracy", 0.02), ("reward_mean", 0.02)):
        ramp(log, column, value, value)
    assert "too hard" in named(log)["dead groups"].cause


def test_groups_that_die_because_the_policy_has_learned_are_no_finding():
    log = healthy()
    ramp(log, "dead_groups", 0.2, 0.97)
    assert "dead groups" not in named(log)


def test_a_hacked_reward_by_training_accuracy_and_by_held_out_accuracy():
    log = healthy()
    ramp(log, "reward_mean", 0.4, 0.95)
    ramp(log, "accuracy", 0.5, 0.2)
    assert "reward 0.42 -> 0.93, true accuracy 49% -> 21%" in named(log)["the reward is hacked"].evidence
    log = healthy()
    log.lines["evals"] = [evaluation(0, 0.6), evaluation(60, 0.3)]
    assert "held_out 60% -> 30%" in named(log)["the reward is hacked"].evidence


def test_memorised_training_problems():
    log = healthy(train_problems=32)
    log.lines["evals"] = [evaluation(0, 0.5), evaluation(60, 0.7)]
    assert "on 32 training problems, 70%" in named(log)["the training problems are memorised"].evidence
    log.lines["evals"] = [evaluation(0, 0.5), evaluation(60, 0.97)]
    assert diagnose(log) == []


def test_certain_and_wrong():
    log = healthy()
    ramp(log, "entropy", 0.2, 0.0)
    for column, start, end in (("accuracy", 0.4, 0.5), ("reward_mean", 0.4, 0.5), ("dead_groups", 0.3, 0.95)):
        ramp(log, column, start, end)
    assert set(named(log)) == {"the policy is certain and wrong"}


def test_completions_that_grow_until_they_are_cut_off():
    found = named(recorded("gmpo_ablation", "gmpo_no_clip", "0.001", 2, learning_rate=1e-3))
    assert "mean length 21 -> 40 tokens" in found["the completions grow without end"].evidence
    assert "dead groups" in found


def test_completions_that_are_cut_off_from_the_start():
    assert "hit max_new_tokens" in named(run(max_new_tokens=6))["completions are cut off"].evidence


def test_kl_explosion():
    found = named(run(learning_rate=1e-2, kl_beta=1e-6, steps=4))
    assert "nats a token" in found["the policy left the reference"].evidence


def test_sampler_and_trainer_that_disagree():
    log = healthy()
    ramp(log, "sampler_gap", 0.2, 0.2)
    assert "by up to 0.2" in named(log)["sampler and training forward disagree"].evidence


def test_an_evaluation_too_small_for_the_difference_it_shows():
    log = healthy()
    log.lines["evals"] = [evaluation(0, 0.50, n=100), evaluation(60, 0.60, n=100)]
    # 1.96 sqrt(0.25 / 100 + 0.24 / 100) = 0.137
    assert "50% -> 60% on 100 problems: a difference below 14%" in named(log)["the evaluation cannot tell"].evidence
    log.lines["evals"] = [evaluation(0, 0.50, n=100), evaluation(60, 0.70, n=100)]
    assert diagnose(log) == []


def test_a_run_that_stopped_at_a_number_that_is_not_finite():
    with pytest.raises(TrainingError) as error:
        run(learning_rate=1e37)
    assert [f.name for f in diagnose(error.value.log)] == ["the run stopped at a number that is not finite"]


def test_an_interrupted_run_is_read_from_its_directory_and_printed(tmp_path, capsys):
    def stop(log):
        if len(log.lines["metrics"]) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(nano(), Addition(), config(max_new_tokens=3), run_dir=tmp_path / "run", on_step=stop)
    diagnose_command(tmp_path / "run")
    assert "the reward never differs" in capsys.readouterr().out
