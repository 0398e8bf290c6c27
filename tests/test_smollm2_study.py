"""The SmolLM2 study: its files, on nano in place of the language model, and what was recorded."""

from dataclasses import replace

import pandas as pd
import pytest

from grpo_lessons import smollm2_study
from grpo_lessons.paths import data_dir
from grpo_lessons.smollm2_study import record


def test_the_study_writes_curves_results_and_what_made_them(tmp_path, monkeypatch):
    short = {"prompts_per_step": 2, "group_size": 2, "minibatches": 1, "micro_batch": None, "max_new_tokens": 4}
    two = [replace(run, config=replace(run.config, steps=1, **short)) for run in smollm2_study.runs()]
    monkeypatch.setattr(smollm2_study, "runs", lambda: two)
    record(tmp_path, "nano", n=3, samples=1)
    results, curves = (pd.read_csv(tmp_path / name) for name in ("results.csv", "curves.csv"))
    assert results.label.tolist() == curves.label.tolist() == ["bare", "shown"]
    assert (results.cpu_seconds >= 0).all() and (results.policy == "nano").all()
    assert (tmp_path / "about.json").read_text().count("grpo_lessons.smollm2_study") == 1


@pytest.mark.skipif(not (data_dir() / "recorded" / "smollm2").is_dir(), reason="not recorded")
def test_the_recorded_run_is_clearly_better_after_and_the_bare_one_had_nothing_to_learn_from():
    from grpo_lessons.studies import load_recorded

    study = load_recorded("smollm2")
    rows = study.results.set_index("label")
    assert rows.low_after["shown"] > rows.high_before["shown"]
    assert rows.accuracy_after["bare"] == 0.0
    bare = study.curves[study.curves.label == "bare"]
    assert (bare.dead_groups == 1.0).all() and (bare.grad_norm == 0.0).all()
