"""The SmolLM2 study: its files, on nano in place of the language model."""

from dataclasses import replace

import pandas as pd

from grpo_lessons import smollm2_study
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
