"""The seven recorded runs of lesson 10: each fault is named by its findings, and nothing in the files names it."""

import json

import pytest

from grpo_lessons import clinic
from grpo_lessons.diagnose import diagnose
from grpo_lessons.trainer import train

SICK = [name for name, patient in clinic.PATIENTS.items() if patient.finding]


def files():
    return [path for path in clinic.folder().rglob("*") if path.is_file()]


def test_six_are_sick_with_six_faults_and_one_is_healthy():
    faults = [clinic.PATIENTS[name].fault for name in SICK]
    assert len(clinic.PATIENTS) == 7 and len(set(faults)) == len(SICK) == 6
    assert "healthy" not in faults and set(faults) < set(clinic.FAULTS)


@pytest.mark.parametrize("name", SICK)
def test_the_first_finding_that_names_a_fault_is_the_right_one(name):
    no_fault = ("the loss is 0, and that is right", "no ratio is ever clipped", "the evaluation cannot tell")
    found = [finding.name for finding in diagnose(clinic.folder(name)) if finding.name not in no_fault]
    assert found[0] == clinic.PATIENTS[name].finding


def test_the_healthy_run_has_no_finding_and_learned():
    (name,) = set(clinic.PATIENTS) - set(SICK)
    log = clinic.load(name)
    assert diagnose(log) == []
    assert log.evals["low"].iloc[-1] > log.evals["high"].iloc[0]


def test_the_cause_and_the_cure_of_each_finding_are_those_of_the_fault():
    first = {clinic.PATIENTS[name].fault: diagnose(clinic.folder(name)) for name in SICK}
    by_name = {fault: {f.name: f for f in found} for fault, found in first.items()}
    assert "max_new_tokens" in by_name["cut_off"]["the reward never differs"].advice
    assert by_name["too_cold"]["dead groups"].advice.startswith("temperature=1.0")
    assert by_name["rate_too_high"]["the learning rate is too high"].advice.startswith("learning_rate 4e-04")
    assert by_name["rate_too_low"]["the learning rate is too low"].advice.startswith("learning_rate 1e-05")
    assert "held_out" in by_name["hacked"]["the reward is hacked"].evidence
    assert "16 training problems" in by_name["memorised"]["the training problems are memorised"].evidence


@pytest.mark.parametrize("name", clinic.PATIENTS)
def test_a_recorded_run_has_the_settings_that_admit_gives_and_all_its_steps(name):
    log = clinic.load(name)
    _, task, config, _ = clinic.admit(name)
    assert log.header["config"] == config.to_dict() and log.header["task"] == task.name
    assert log.header["trainable_parameters"] > 0 and log.header["machine"]["hardware"]
    assert list(log.table["step"]) == list(range(1, config.steps + 1))
    assert [e["step"] for e in log.lines["evals"]] == [0, 10, 20, 30, 40]
    assert {row["step"] for row in log.lines["completions"]} == set(clinic.READ_AT)


def test_no_file_holds_a_label():
    words = {clinic.PATIENTS[name].fault for name in SICK} | {"substring", "museum"}
    for path in files():
        text = path.read_text(encoding="utf-8")
        assert not any(word in text for word in words), path


def test_the_ward_is_small_and_says_how_it_was_made():
    assert sum(path.stat().st_size for path in files()) < 600_000
    about = json.loads((clinic.folder() / "about.json").read_text(encoding="utf-8"))
    assert about["command"] == "python -m grpo_lessons.clinic" and about["runs"] == list(clinic.PATIENTS)
    assert {"date", "torch", "hardware"} <= about["machine"].keys()


def test_an_unknown_run_is_told_which_there_are():
    with pytest.raises(ValueError, match="the clinic has run_a, run_b"):
        clinic.admit("run_z")


def test_recording_keeps_what_is_read_and_rounds_it(tmp_path, monkeypatch):
    from dataclasses import replace

    short = replace(clinic.HEALTHY, steps=2, prompts_per_step=2, group_size=2, minibatches=1, eval_every=0)
    monkeypatch.setattr(clinic, "HEALTHY", short)
    clinic.record("run_d", tmp_path / "run")
    assert {p.name for p in (tmp_path / "run").iterdir()} == {
        "run.json",
        *(f"{stream}.jsonl" for stream in ("metrics", "evals", "completions", "events")),
    }
    policy, task, config, reward = clinic.admit("run_d")
    again = train(policy, task, config, reward=reward).lines["metrics"]
    kept = clinic.RunLog.load(tmp_path / "run").lines["metrics"]
    assert [row["entropy"] for row in kept] == pytest.approx([row["entropy"] for row in again], rel=1e-4)
    assert all(len(f"{row['entropy']:.9g}".replace(".", "").lstrip("0")) <= clinic.DIGITS for row in kept)
