import json

import pandas as pd
import pytest

from grpo_lessons import programs_study
from grpo_lessons.programs_study import REWARDS, measures, record, study
from grpo_lessons.tasks.programs_homework import STRATEGIES


def rows():
    return pd.DataFrame(
        {
            "function": ["a", "a", "b", "b"],
            "degree": [1, 1, 2, 2],
            "strategy": ["worked out", "worked out", "table of the examples", "no program"],
            "shown": [True, True, True, False],
            "right": [True, True, False, False],
        }
    )


def test_measures_of_an_exam(monkeypatch):
    monkeypatch.setattr(programs_study, "sit_exam", lambda *args, **options: rows())
    found = measures(None, None, 0)
    assert (found["right"], found["shown"], found["right_greedy"], found["n"]) == (0.5, 0.75, 0.5, 4)
    assert (found["right_degree_1"], found["right_degree_2"]) == (1.0, 0.0)
    assert [found[f"share_{name.replace(' ', '_')}"] for name in STRATEGIES] == [0.25, 0.25, 0.5, 0.0]
    assert found["right_low"] == 0.0 and found["right_high"] == 1.0


def test_every_seed_has_every_reward_under_grpo_and_the_full_suite_under_grpo_sg(monkeypatch):
    monkeypatch.setattr(programs_study, "sg_options", lambda folder: {"normalize": True})
    kinds = [(v.label, v.setting, v.config.seed) for v in study(seeds=(3,)).variants]
    assert kinds == [*((label, "grpo", 3) for label in REWARDS), ("all tests", "grpo_sg", 3)]


def test_a_record_holds_every_run_with_its_settings(monkeypatch, tmp_path):
    def train_one(variant, scratch):
        keys = {"run": variant.name, "label": variant.label, "setting": variant.setting, "seed": variant.config.seed}
        return {"result": {**keys, "right": 0.5}, "curves": [{**keys, "step": 1}], "machine": {"date": "today"}}

    monkeypatch.setattr(programs_study, "train_one", train_one)
    monkeypatch.setattr(programs_study, "sg_options", lambda folder: {"normalize": True})
    folder = record(tmp_path / "programs", tmp_path / "scratch")
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    results = pd.read_csv(folder / "results.csv")
    assert results["run"].tolist() == list(about["runs"])
    assert results["right"].tolist() == pytest.approx([0.5] * len(results))
    assert about["command"] == "python -m grpo_lessons.programs_study"
    assert not (tmp_path / "scratch").exists()
