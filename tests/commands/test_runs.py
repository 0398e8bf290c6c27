"""`show`: what it says of a run directory in each state."""

import pytest

from grpo_lessons.commands.compare import compare
from grpo_lessons.commands.runs import show, sparkline, state
from grpo_lessons.runlog import RunLog


@pytest.fixture
def log(tmp_path):
    log = RunLog({"config": {"method": "grpo", "seed": 3, "steps": 4}, "task": "addition", "policy": "nano"}, tmp_path)
    log.write_header()
    log.event("begun")
    log.add("metrics", {"step": 1, "reward_mean": 0.25, "entropy": 0.5})
    log.add("metrics", {"step": 2, "reward_mean": None, "entropy": 0.25})
    return log


def test_state_of_a_run_that_goes_on_stopped_or_finished(log):
    assert state(log).startswith("2 of 4 steps, last written 0 s ago: going on, or killed")
    log.event("stopped", reason="RewardError: x")
    assert state(log) == "stopped after 2 of 4 steps: RewardError: x"
    log.event("finished")
    assert state(log) == "finished, 2 steps"


def test_show_prints_metrics_evaluations_and_completions_as_they_are(log, capsys):
    log.add("evals", {"step": 0, "split": "dev", "n": 10, "accuracy": 0.5, "low": 0.24, "high": 0.76})
    log.add(
        "completions",
        {"step": 2, "prompt": "1+2=", "completion": "[b]<answer>3</answer>", "reward": 1.0, "reason": "correct"},
    )
    show(log.run_dir)
    out = capsys.readouterr().out
    assert "grpo on addition, policy nano, seed 3" in out
    assert "dev 50.0% [24.0%, 76.0%]" in out
    assert "1+2=\n[b]<answer>3</answer>" in out  # nothing read as markup
    row = next(line for line in out.split("\n") if "reward_mean" in line)
    assert row.count("0.25") == 2  # the step without a reward is left out


def test_show_without_completions(log, capsys):
    log.add("completions", {"step": 1, "prompt": "p", "completion": "c", "reward": None, "reason": "wrong"})
    show(log.run_dir, completions=0)
    assert "reward None" not in capsys.readouterr().out


def test_compare_reads_runs_from_disk_while_one_goes_on_and_one_has_only_begun(log, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    log.add("metrics", {"step": 3, "reward_mean": 0.75, "accuracy": 0.5, "length_mean": 20.0})
    log.add("evals", {"step": 0, "split": "dev", "n": 10, "accuracy": 0.5, "low": 0.24, "high": 0.76})
    log.add("system", {"step": 3, "seconds_sample": 1.0, "seconds_update": 0.5})
    other = RunLog({"config": {"method": "gmpo", "seed": 3, "steps": 7}}, tmp_path / "other")
    other.write_header()
    other.event("stopped", reason="KeyboardInterrupt: ")
    compare([tmp_path, tmp_path / "other"])
    lines = capsys.readouterr().out.split("\n")
    first, second = (next(line for line in lines if method in line) for method in ("grpo", "gmpo"))
    for text in ("3/4", "0.25 -> 0.75", "0.5 -> 0.5", "20 -> 20", "dev 50.0% [24.0%, 76.0%]", "1.50"):
        assert text in first
    assert "0/7" in second and "stopped" in second and "stopped" not in first


def test_compare_names_a_directory_without_a_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a run directory"):
        compare([tmp_path])


def test_sparkline_goes_from_the_lowest_to_the_highest_block():
    assert sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    assert sparkline([2.0, 2.0]) == "▁▁"
    assert sparkline([float(i // 50) for i in range(100)], width=4) == "▁▁██"
