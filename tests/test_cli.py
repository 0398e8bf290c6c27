"""The command line: names, settings, and one sentence in place of a traceback."""

import json
import sys

import pytest

from grpo_lessons import cli, trainer
from grpo_lessons.commands.options import prepare, seed_list, settings
from grpo_lessons.runlog import RunLog

SMALL = ["--steps", "1", "--eval-n", "8", "--set", "prompts_per_step=2", "--set", "group_size=2"]
SMALL += ["--set", "minibatches=1", "--set", "eval_every=0"]


def run(monkeypatch, *arguments) -> int:
    monkeypatch.setattr(sys, "argv", ["grpo-lessons", *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    return exit_.value.code


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--method", "gropo"], "unknown method 'gropo'; known: grpo, dr_grpo"),
        (["--policy", "micro"], "unknown policy 'micro'"),
        (["--task", "subtraction"], "unknown task 'subtraction'; known tasks: addition"),
        (["--set", "group_size=1"], "needs G >= 2"),
        (["--set", "minibatches=3"], "valid numbers of minibatches: 1, 2, 4, 8"),
        (["--set", "speed=3"], "give name=value with one of checkpoint_every"),
    ],
)
def test_a_wrong_name_or_number_is_one_sentence_and_makes_no_directory(
    monkeypatch, capsys, tmp_path, arguments, sentence
):
    assert run(monkeypatch, "train", "--out", tmp_path / "run", *arguments) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_train_writes_a_run_and_refuses_to_write_over_it(monkeypatch, capsys, tmp_path):
    arguments = ["train", "--out", tmp_path / "run", *SMALL]
    assert run(monkeypatch, *arguments) == 0
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert len(result["correct"]) == 8
    assert run(monkeypatch, *arguments) == 2
    assert "add --resume to go on or --overwrite to begin anew" in capsys.readouterr().err


def test_a_finished_run_is_diagnosed(monkeypatch, capsys, tmp_path):
    arguments = ["--set", "max_new_tokens=2", "--steps", "3"]
    assert run(monkeypatch, "train", "--out", tmp_path / "run", *SMALL, *arguments) == 0
    assert "the reward never differs" in capsys.readouterr().out


def test_ctrl_c_is_diagnosed_and_the_run_resumed_with_a_change_that_is_allowed(monkeypatch, capsys, tmp_path):
    def interrupt(policy, config, log, updater, step, save=trainer._checkpoint):
        save(policy, config, log, updater, step)
        if step == 2 and config.learning_rate == 2e-4:
            raise KeyboardInterrupt

    monkeypatch.setattr(trainer, "_checkpoint", interrupt)
    arguments = ["train", "--out", tmp_path / "run", *SMALL, "--steps", "3", "--set", "max_new_tokens=2"]
    arguments += ["--set", "checkpoint_every=1", "--set", "decay_to=1"]
    assert run(monkeypatch, *arguments) == 130
    printed = capsys.readouterr()
    assert "the reward never differs" in printed.out and "resumed with --resume" in printed.err
    changed = [*arguments, "--resume", "--set", "learning_rate=1e-4"]
    assert run(monkeypatch, *changed) == 2
    assert "learning_rate was 0.0002 and is now 0.0001" in capsys.readouterr().err
    assert run(monkeypatch, *changed, "--allow-change", "learning_rate") == 0
    assert RunLog.load(tmp_path / "run").table["learning_rate"].tolist() == [2e-4, 2e-4, 1e-4]


def test_compare_makes_one_table_and_one_figure_of_two_methods(monkeypatch, capsys, tmp_path):
    arguments = ["compare", "--methods", "grpo,gmpo", "--jobs", "1", "--out", tmp_path / "both", *SMALL]
    assert run(monkeypatch, *arguments) == 0
    assert (tmp_path / "both" / "training.png").stat().st_size > 10_000
    assert [line.split(",")[0] for line in (tmp_path / "both" / "summary.csv").read_text().split("\n")[1:3]] == [
        "grpo",
        "gmpo",
    ]


def test_a_directory_without_a_run_is_never_deleted(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="holds no run, so it is not deleted"):
        prepare(tmp_path, overwrite=True, resume=False)
    assert (tmp_path / "thesis.txt").exists()


def test_settings_are_json_values_or_text():
    assert settings(["kl_beta=0.04", "kl_estimator=k2", "method_options.clip_low=0.1"]) == {
        "kl_beta": 0.04,
        "kl_estimator": "k2",
        "method_options": {"clip_low": 0.1},
    }


def test_seeds_as_a_list_or_a_range():
    assert seed_list("0,3") == [0, 3]
    assert seed_list("2-4") == [2, 3, 4]
    with pytest.raises(ValueError, match="'a-b': give numbers"):
        seed_list("a-b")
