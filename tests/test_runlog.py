"""The run's record: what is written, and what can be read while it is written or after a kill."""

import pytest

from grpo_lessons.runlog import RunLog, read_lines, replace_file


def new_log(run_dir):
    log = RunLog({"config": {}}, run_dir)
    log.write_header()
    return log


def test_lines_are_on_disk_as_soon_as_they_are_added(tmp_path):
    log = new_log(tmp_path / "run")
    log.add("metrics", {"step": 1, "reward_mean": 0.5})
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == '{"step": 1, "reward_mean": 0.5}\n'
    log.add("metrics", {"step": 2, "reward_mean": 0.75})
    assert RunLog.load(tmp_path / "run").table["reward_mean"].tolist() == [0.5, 0.75]


def test_floats_come_back_exactly(tmp_path):
    log = new_log(tmp_path)
    log.add("metrics", {"step": 1, "loss": 0.1 + 0.2})
    assert RunLog.load(tmp_path).lines == {**log.lines, "metrics": [{"step": 1, "loss": 0.30000000000000004}]}


def test_a_line_that_a_kill_cut_off_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2, "text": "\xe2\x82')
    assert read_lines(path) == [{"step": 1}]
    path.write_bytes(b'{"step": 1}\n{"step": 2}\n')
    assert read_lines(path) == [{"step": 1}, {"step": 2}]


def test_rewind_forgets_later_steps_and_a_line_cut_off_but_no_event(tmp_path):
    log = new_log(tmp_path)
    for step in (0, 1, 2, 3):
        log.add("evals", {"step": step})
    for step in (1, 2, 3):
        log.add("metrics", {"step": step})
    log.event("stopped", reason="x")
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "rew')
    log = RunLog.load(tmp_path)
    log.rewind(2)
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 1}\n{"step": 2}\n'
    again = RunLog.load(tmp_path)
    assert [line["step"] for line in again.lines["evals"]] == [0, 1, 2]
    assert again.lines["events"] == [{"step": 3, "event": "stopped", "reason": "x"}]
    log.rewind(-1)
    assert (tmp_path / "evals.jsonl").read_text() == ""


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_does_not_know_are_refused_and_not_written(tmp_path, value):
    log = new_log(tmp_path)
    with pytest.raises(ValueError, match="not JSON compliant"):
        log.add("metrics", {"step": 1, "loss": value})
    assert log.lines["metrics"] == [] and not (tmp_path / "metrics.jsonl").exists()


def test_shares_that_a_step_lacks_are_0_and_other_gaps_stay():
    log = RunLog({})
    log.add("metrics", {"step": 1, "reason_correct": 0.5, "mean_weight": 1.1})
    log.add("metrics", {"step": 2, "reason_wrong": 0.25})
    assert log.table["reason_correct"].tolist() == [0.5, 0.0]
    assert log.table["reason_wrong"].tolist() == [0.0, 0.25]
    assert log.table["mean_weight"].isna().tolist() == [False, True]


def test_a_directory_without_run_json_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is not a run directory: it has no run.json"):
        RunLog.load(tmp_path)


def test_replace_file_leaves_no_temporary_file(tmp_path):
    replace_file(tmp_path / "a", b"one")
    replace_file(tmp_path / "a", b"two")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a", b"two")]
