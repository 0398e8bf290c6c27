"""The doctor trains one step, and says so when that does not work."""

import pytest
from typer.testing import CliRunner

from grpo_lessons import doctor
from grpo_lessons.cli import app


def test_one_training_step_runs_and_its_gradient_is_a_number():
    check = doctor.train_one_step()
    assert (check.what, check.status) == ("one training step", "ok")
    assert check.found.startswith("gradient norm ")


def test_a_step_that_cannot_run_is_reported_by_the_errors_name(monkeypatch, tmp_path):
    monkeypatch.setenv("GRPO_LESSONS_DATA", str(tmp_path / "nowhere"))
    check = doctor.train_one_step()
    assert check.status == "missing"
    assert check.found.startswith("FileNotFoundError: no data folder at")


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("missing", 1)])
def test_the_exit_code_of_the_command_is_that_of_the_step(monkeypatch, status, code):
    monkeypatch.setattr(doctor, "examine", lambda: [doctor.Check("trl", "not installed", "missing")])
    monkeypatch.setattr(
        doctor, "train_one_step", lambda: doctor.Check("one training step", "gradient norm 1.0", status)
    )
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == code
    assert "one training step" in result.output
