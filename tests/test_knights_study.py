import pandas as pd
import pytest

from grpo_lessons import knights_study
from grpo_lessons.knights_study import SETTINGS, STAGES, curricula, measures, study, train_stages
from grpo_lessons.studies import Recorded
from grpo_lessons.tasks.knights_knaves import KnightsKnaves


class Log:
    """What a run of as many steps leaves."""

    def __init__(self, steps):
        self.header = {"machine": {"hardware": "a test"}}
        self.lines = {"metrics": [{"step": step, "tokens": 10} for step in range(1, steps + 1)]}


@pytest.fixture
def trained_on(monkeypatch):
    """The people and steps of every call of `train`."""
    calls = []

    def train(policy, task, config):
        calls.append((task.people, config.steps))
        return Log(config.steps)

    monkeypatch.setattr(knights_study, "train", train)
    return calls


@pytest.mark.parametrize(
    ("setting", "calls"),
    [("3 people", [((3,), 40)]), ("2, then 3", [((2,), 20), ((3,), 20)]), ("2 and 3 mixed", [((2, 3), 40)])],
)
def test_every_setting_takes_the_same_steps_and_counts_them_through(setting, calls, trained_on):
    rows, machine = train_stages(None, setting, SETTINGS)
    assert trained_on == calls
    assert [row["step"] for row in rows] == list(range(1, 41))
    assert machine == {"hardware": "a test"}


def test_the_stages_of_a_curriculum_stand_in_its_rows(trained_on):
    rows, _ = train_stages(None, "2, then 3", SETTINGS)
    assert [row["people"] for row in rows] == ["2"] * 20 + ["3"] * 20


def test_one_run_a_seed_of_every_method_and_every_setting(monkeypatch):
    monkeypatch.setattr(knights_study, "sg_options", lambda folder: {"tau": 5.0, "normalize": True})
    variants = study(seeds=(0, 7)).variants
    assert len({variant.name for variant in variants}) == len(variants) == 14
    assert {v.setting for v in variants if v.label != "grpo"} == {"2 people"}
    assert {v.setting for v in variants if v.label == "grpo"} == set(STAGES)
    (weighted, _) = (v.config.method_options for v in variants if v.label == "grpo_sg")
    assert weighted == {"tau": 5.0, "normalize": True}  # the pupil's own constants, not the defaults


def test_measures_name_the_size_of_the_puzzles(monkeypatch):
    class Report:
        accuracy, interval, length = 0.5, (0.2, 0.8), 12.0

        def __init__(self, texts):
            self.texts = texts

    def evaluate(policy, task, *, n, seed, temperature=1.0):
        texts = ["-+ft <answer>A knave, B knight</answer>", "<answer>A knight, B knight</answer>"]
        return Report(texts if task.people == (2,) else texts[1:] * 2)

    monkeypatch.setattr(knights_study, "evaluate", evaluate)
    found = measures(None, n=2, seed=0)
    assert (found["two_people"], found["three_people_low"], found["three_people_greedy"]) == (0.5, 0.2, 0.5)
    assert (found["two_people_checked"], found["three_people_checked"]) == (0.5, 0.0)


def test_curricula_compares_what_was_trained_on_under_one_method():
    results = pd.DataFrame(
        {"label": ["grpo", "grpo", "ar"], "setting": ["2 people", "3 people", "2 people"], "seed": 0, "n": 10}
    )
    swapped = curricula(Recorded({}, results, results)).results
    assert list(swapped["label"]) == ["2 people", "3 people"]
    assert set(swapped["setting"]) == {"grpo"}


def test_all_settings_name_puzzles_that_exist():
    for stages in STAGES.values():
        for people in stages:
            assert KnightsKnaves(people, "compact").problems("train", 2, seed=0)
