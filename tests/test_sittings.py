"""One method a sitting: runs are directories that are read again, and compared problem by problem."""

from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from grpo_lessons import presets, sittings
from grpo_lessons.adapters import LoraSpec
from grpo_lessons.sittings import difference, estimated_minutes, results, sharpness_options, sit


@pytest.fixture
def setup():
    nano = presets.choose("nano", steps=1)
    config = replace(nano.config, prompts_per_step=2, group_size=2, minibatches=1, max_new_tokens=6)
    return replace(nano, config=config, lora=LoraSpec(rank=1), n=4)


def test_a_finished_sitting_is_read_and_not_trained_again(setup, tmp_path, monkeypatch):
    first = sit(setup, "2 digits", setup.config, tmp_path)
    monkeypatch.setattr(sittings, "measure_run", lambda *args, **options: pytest.fail("trained again"))
    assert sit(setup, "2 digits", setup.config, tmp_path) == first
    assert results(tmp_path) == [first]
    assert (tmp_path / "grpo-seed0" / "policy" / "adapter_config.json").is_file()


def test_constants_are_measured_once_and_kept(setup, tmp_path, monkeypatch):
    found = sharpness_options(setup, "2 digits", tmp_path, n=2)
    assert found["normalize"] is True and found["low"] == 1.0 and found["tau"] > 0
    monkeypatch.setattr(sittings, "sampled_logits", lambda *args, **options: pytest.fail("measured again"))
    assert sharpness_options(setup, "2 digits", tmp_path) == found


def run(method, seed, correct):
    return {"method": method, "seed": seed, "correct": correct}


def test_the_difference_takes_the_seeds_that_both_have():
    found = [run("gmpo", 0, "1100"), run("grpo", 0, "1000"), run("gmpo", 1, "1111")]
    assert difference(found, "gmpo", "grpo").difference == 0.25
    with pytest.raises(ValueError, match="no seed with finished runs of both 'grpo_sg' and 'grpo'"):
        difference(found, "grpo_sg", "grpo")


def test_the_estimate_leaves_the_first_step_out():
    system = pd.DataFrame({"step": [1, 2, 3], "seconds_sample": [50.0, 2.0, 4.0], "seconds_update": [9.0, 1.0, 1.0]})
    assert estimated_minutes(SimpleNamespace(system=system), 30) == pytest.approx(2.0)
    assert estimated_minutes(SimpleNamespace(system=system[:1]), 60) == pytest.approx(59.0)
