"""The loop as a whole: determinism, resume, and a defined end for everything that can go wrong."""

import json
import warnings
from dataclasses import replace

import pytest
import torch
from engine import alternating, config, nano, weights

from grpo_lessons.methods import METHODS
from grpo_lessons.policies import LoraSpec, adapter_hash, load_policy, weights_hash
from grpo_lessons.runlog import RunLog
from grpo_lessons.scoring import RewardError
from grpo_lessons.tasks.addition import Addition
from grpo_lessons.trainer import TrainingError, problems_of_step, train
from grpo_lessons.verifiers import reward_function, score_batch, verify_integer


def run(run_dir=None, policy=None, reward=alternating, resume=False, on_step=None, allow_changes=(), **changes):
    return train(
        policy or nano(),
        Addition(),
        config(**changes),
        reward=reward,
        run_dir=run_dir,
        resume=resume,
        on_step=on_step,
        allow_changes=allow_changes,
    )


def metrics_bytes(run_dir):
    return (run_dir / "metrics.jsonl").read_bytes()


def interrupt_at(step):
    def on_step(log):
        if len(log.lines["metrics"]) == step:
            raise KeyboardInterrupt

    return on_step


def test_training_moves_the_weights_and_logs_one_row_a_step():
    policy = nano()
    log = run(policy=policy)
    assert log.table["step"].tolist() == [1, 2]
    assert not torch.equal(weights(policy), weights(nano()))
    assert log.header["initial_weights"] != weights_hash(policy.model)


def test_same_seed_writes_the_same_bytes_with_evaluation_on_or_off(tmp_path):
    run(tmp_path / "a")
    torch.manual_seed(99)
    run(tmp_path / "b")
    run(tmp_path / "c", eval_every=1, eval_n=8, eval_splits=("dev", "held_out"))
    run(tmp_path / "d", seed=1)
    first = metrics_bytes(tmp_path / "a")
    assert metrics_bytes(tmp_path / "b") == metrics_bytes(tmp_path / "c") == first
    assert metrics_bytes(tmp_path / "d") != first


@pytest.mark.slow
def test_the_number_of_verifier_processes_changes_no_byte(tmp_path):
    reward = reward_function(verify_integer, expected="answer")

    def scored_by(processes):
        return lambda prompts, completions, **columns: score_batch(
            reward, prompts, completions, processes=processes, **columns
        )

    for processes in (1, 2, 3):  # 48 completions are three messages
        run(tmp_path / str(processes), reward=scored_by(processes), prompts_per_step=12)
    first = metrics_bytes(tmp_path / "1")
    assert first == metrics_bytes(tmp_path / "2") == metrics_bytes(tmp_path / "3")
    assert first.count(b"\n") == 2


def test_evaluation_before_during_and_after():
    evals = run(eval_every=2, steps=3, eval_n=10, eval_splits=("dev", "held_out")).evals
    assert list(zip(evals["step"], evals["split"], strict=True)) == [
        (step, split) for step in (0, 2, 3) for split in ("dev", "held_out")
    ]
    assert (evals["low"] <= evals["accuracy"]).all() and (evals["accuracy"] <= evals["high"]).all()


def test_the_callers_random_state_is_left_as_it_was():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    run(steps=1)
    assert torch.equal(torch.rand(3), expected)


def test_dropout_draws_from_the_seed_and_the_step():
    spec = LoraSpec(rank=2, dropout=0.5)
    first, same = (run(policy=nano(lora=spec)).lines["metrics"] for _ in range(2))
    assert first == same


@pytest.mark.parametrize("stop", [1, 3])
def test_a_resumed_run_ends_as_the_uninterrupted_one(tmp_path, stop):
    whole, resumed = nano(), nano()
    settings = {"steps": 4, "checkpoint_every": 2, "eval_every": 2, "eval_n": 8, "kl_beta": 0.1, "warmup_steps": 3}
    run(tmp_path / "whole", whole, **settings)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", on_step=interrupt_at(stop), **settings)
    run(tmp_path / "cut", resumed, resume=True, **settings)
    for name in ("metrics.jsonl", "evals.jsonl", "completions.jsonl"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert torch.equal(weights(resumed), weights(whole))
    events = [line["event"] for line in RunLog.load(tmp_path / "cut").lines["events"]]
    assert events == ["begun", "stopped", "resumed", "finished"]


def test_a_finished_run_can_be_made_longer_and_gives_the_run_that_was_longer_from_the_start(tmp_path):
    run(tmp_path / "whole", steps=4)
    run(tmp_path / "grown", steps=2)
    run(tmp_path / "grown", resume=True, steps=4)
    assert metrics_bytes(tmp_path / "grown") == metrics_bytes(tmp_path / "whole")


def test_the_trained_policy_is_saved_as_a_policy(tmp_path):
    policy = nano()
    run(tmp_path / "run", policy)
    loaded = load_policy(str(tmp_path / "run" / "policy"), device="cpu")
    assert weights_hash(loaded.model) == weights_hash(policy.model)


def test_resume_without_a_directory_and_a_directory_without_resume_are_refused(tmp_path):
    with pytest.raises(ValueError, match="resume=True needs the run_dir"):
        run(resume=True)
    run(tmp_path / "run", steps=1)
    with pytest.raises(FileExistsError, match="is not empty; resume it, or choose another"):
        run(tmp_path / "run", steps=1)


def test_changed_settings_on_resume_are_shown_and_refused_unless_allowed(tmp_path):
    run(tmp_path / "run", steps=1)
    changed = {"steps": 2, "resume": True, "learning_rate": 1e-4, "temperature": 0.9}
    with pytest.raises(
        ValueError, match=r"learning_rate was 0\.0002 and is now 0\.0001; temperature was 1\.0"
    ) as error:
        run(tmp_path / "run", **changed)
    assert "allow_changes=['learning_rate', 'temperature']" in str(error.value)
    with pytest.raises(ValueError, match="temperature was"):
        run(tmp_path / "run", allow_changes=["learning_rate"], **changed)
    log = run(tmp_path / "run", allow_changes=["learning_rate", "temperature"], **changed)
    assert log.table["learning_rate"].tolist() == [2e-4, 1e-4]
    assert RunLog.load(tmp_path / "run").header["config"]["learning_rate"] == 1e-4
    resumed = log.lines["events"][-2]
    assert "learning_rate was 0.0002 and is now 0.0001" in resumed["changes"]


def test_a_resumed_run_must_begin_with_the_initial_policy(tmp_path):
    policy = nano()
    run(tmp_path / "run", policy, steps=1)
    with pytest.raises(ValueError, match="initial_weights was"):
        run(tmp_path / "run", policy, resume=True, steps=2)


def test_a_frozen_policy_is_an_error_before_step_1(tmp_path):
    policy = nano(lora=LoraSpec(rank=2))
    policy.model.requires_grad_(False)
    with pytest.raises(ValueError, match="has 0 trainable parameters"):
        run(tmp_path / "run", policy)
    assert not (tmp_path / "run").exists()


def test_a_trainable_adapter_changes_in_three_steps_and_the_base_does_not():
    policy = nano(lora=LoraSpec(rank=2))
    before, base = adapter_hash(policy.model), policy.model.get_base_model().lm_head.weight.detach().clone()
    run(policy=policy, steps=3)
    assert adapter_hash(policy.model) != before
    assert torch.equal(policy.model.get_base_model().lm_head.weight, base)


def test_completions_without_a_reward_are_left_out_with_a_warning():
    def half(prompts, completions, **columns):
        return [None, float("nan"), *alternating(prompts, completions)[2:]]

    with pytest.warns(UserWarning, match="2 of 16 completions got no reward and are left out"):
        log = run(reward=half, steps=1)
    assert log.table["unscored"].tolist() == [2 / 16]
    assert log.table[["reward_mean", "loss", "grad_norm"]].notna().all(axis=None)


def test_a_step_without_any_reward_changes_nothing_and_says_so():
    policy = nano()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = run(policy=policy, reward=lambda prompts, completions, **columns: [None] * len(completions), steps=1)
    assert torch.equal(weights(policy), weights(nano()))
    assert log.lines["metrics"][0]["reward_mean"] is None
    assert log.lines["metrics"][0]["unscored"] == 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (lambda n: [1.0] * (n - 1), "broken returned 15 values for 16 completions"),
        (lambda n: [float("inf")] * n, "broken returned inf for completion 0"),
        (lambda n: ["good"] * n, "broken returned 'good' for completion 0, not a number"),
        (lambda n: 1 / 0, "broken raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_broken_reward_function_stops_the_run_and_the_directory_can_be_resumed(tmp_path, values, message):
    def broken(prompts, completions, **columns):
        broken.calls += 1
        return values(len(completions)) if broken.calls == 2 else alternating(prompts, completions)

    broken.calls = 0
    with pytest.raises(RewardError, match=message):
        run(tmp_path / "run", reward=broken, checkpoint_every=1)
    log = RunLog.load(tmp_path / "run")
    assert len(log.table) == 1
    assert message in log.lines["events"][-1]["reason"]
    run(tmp_path / "run", reward=broken, checkpoint_every=1, resume=True)
    assert len(RunLog.load(tmp_path / "run").table) == 2


def test_a_loss_that_is_not_finite_keeps_the_last_checkpoint_and_the_log(tmp_path, monkeypatch):
    calls = []

    def loss(*args, **options):
        calls.append(1)
        result = METHODS["grpo"].loss(*args, **options)
        return result._replace(loss=result.loss * float("nan")) if len(calls) == 4 else result

    monkeypatch.setitem(METHODS, "sick", replace(METHODS["grpo"], name="sick", loss=loss))
    with pytest.raises(TrainingError, match="step 2 of sick: loss nan") as error:
        run(tmp_path / "run", method="sick", checkpoint_every=1, steps=3)
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-000001"]
    assert error.value.log.lines["events"][-1]["event"] == "stopped"
    assert metrics_bytes(tmp_path / "run").count(b"\n") == 1
    run(tmp_path / "run", method="sick", checkpoint_every=1, steps=3, resume=True)  # the next loss is finite again
    assert metrics_bytes(tmp_path / "run").count(b"\n") == 3


def test_a_directory_in_which_another_run_goes_on_is_refused(tmp_path):
    def second(log):
        with pytest.raises(FileExistsError, match="is in use: another process trains there"):
            run(tmp_path / "run", resume=True)
        second.tried = True

    run(tmp_path / "run", on_step=second, steps=1)
    assert second.tried


def test_problems_of_a_step_depend_on_seed_and_step_alone():
    task, settings = Addition(), config(seed=4)
    first = [p.answer for p in problems_of_step(task, settings, 1)]
    assert [p.answer for p in problems_of_step(task, settings, 1)] == first
    assert [p.answer for p in problems_of_step(task, settings, 2)] != first
    assert [p.answer for p in problems_of_step(task, config(seed=5), 1)] != first


def test_train_problems_are_passed_over_in_shuffled_rounds():
    task, settings = Addition(), config(train_problems=6, prompts_per_step=4)
    asked = [p.prompt[0]["content"] for step in (1, 2, 3) for p in problems_of_step(task, settings, step)]
    pool = {p.prompt[0]["content"] for p in task.problems("train", 6, settings.seed)}
    assert set(asked[:6]) == set(asked[6:]) == pool
    assert asked[:6] != asked[6:]


def test_true_accuracy_comes_from_the_task_whatever_the_reward_says():
    log = run(reward=lambda prompts, completions, **columns: [1.0] * len(completions), steps=1)
    assert log.table["reward_mean"].tolist() == [1.0]
    assert log.table["accuracy"].tolist() == run(reward=None, steps=1).table["accuracy"].tolist()
    assert log.table["accuracy"][0] < 1.0


def test_system_table_names_seconds_and_memory_of_each_phase():
    system = run(steps=1).system
    assert list(system.columns) == ["step"] + [
        name for phase in ("sample", "score", "update") for name in (f"seconds_{phase}", f"memory_{phase}_mb")
    ]
    assert (system > 0).all(axis=None)


def test_run_json_says_what_was_run(tmp_path):
    run(tmp_path / "run", steps=1)
    header = json.loads((tmp_path / "run" / "run.json").read_text())
    assert header["config"]["group_size"] == 4
    assert (header["policy"], header["task"], header["reward"]) == ("nano", "addition", "alternating")
    assert header["machine"]["torch"] == torch.__version__
