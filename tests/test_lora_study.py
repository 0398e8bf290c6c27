"""The LoRA study's plan, and a run of one step each of its ways."""

import json

import pandas as pd
import pytest

from grpo_lessons.lora_study import WAYS, N, record, variants
from grpo_lessons.studies import Recorded

pytest.importorskip("bitsandbytes")


def test_every_seed_has_every_way_and_adapters_learn_at_a_higher_rate():
    plan = variants((3, 4))
    assert [v.config.seed for v in plan] == [3] * 5 + [4] * 5
    assert {v.label for v in plan} == set(WAYS) and N == 500
    rates = {v.label: v.config.learning_rate for v in plan}
    assert (
        rates["LoRA, rank 8"] == rates["QLoRA, rank 8"] == 10 * rates["every weight"] == 4 * rates["every weight, 5e-4"]
    )


@pytest.mark.slow
def test_the_three_files_say_what_was_trained_and_on_which_base(tmp_path):
    chosen = [v for v in variants((0,), steps=1) if v.label in ("every weight", "QLoRA, rank 8")]
    record(tmp_path / "lora", chosen, tmp_path / "scratch", n=8)
    about = json.loads((tmp_path / "lora" / "about.json").read_text())
    assert about["command"] == "python -m grpo_lessons.lora_study"
    assert about["policies"]["QLoRA, rank 8"]["lora"]["rank"] == 8 and about["policies"]["every weight"] == {}
    results = pd.read_csv(tmp_path / "lora" / "results.csv").set_index("label")
    assert results.loc["every weight", "trainable"] == 358_656
    assert results.loc["QLoRA, rank 8", "trainable"] == 3 * 8 * (4 * 192 + 3 * 352)  # 3 layers, (inputs + outputs)
    assert results.loc["QLoRA, rank 8", "weight_bytes"] < results.loc["every weight", "weight_bytes"]
    assert (results["n"] == 8).all() and not (tmp_path / "scratch").exists()
    assert Recorded(about, None, results).caption.startswith("recorded ")
