import json

import pandas as pd
import pytest
import torch

from grpo_lessons import lookup_study
from grpo_lessons.environments import STATUSES
from grpo_lessons.lookup_study import COSTS, Unmasked, measures, record, settings, study
from grpo_lessons.tasks.lookup_qa import LookupQA
from grpo_lessons.tool_rollouts import Episode, ToolRollouts


def rows():
    table = pd.DataFrame(
        {
            "kind": ["one hop"] * 3 + ["two hops"],
            "note": [True, True, False, False],
            "correct": [True, False, True, True],
            "f1": [1.0, 0.5, 1.0, 1.0],
            "calls": [0, 1, 1, 2],
            "searched": [False, True, True, True],
            "ended": ["answer"] * 3 + ["calls"],
        }
    )
    return table.assign(**dict.fromkeys(STATUSES, 0)).assign(ok=[0, 0, 1, 2], malformed=[0, 1, 0, 0])


def test_measures_separate_questions_with_and_without_a_note():
    found = measures(rows())
    assert (found["accuracy"], found["f1"], found["calls"]) == (0.75, 0.875, 1.0)
    assert (found["searched_note"], found["searched_no_note"]) == (0.5, 1.0)
    assert (found["accuracy_one_hop_note"], found["accuracy_two_hops_no_note"]) == (0.5, 1.0)
    assert (found["per_100_ok"], found["per_100_malformed"], found["per_100_ended_calls"]) == (75.0, 25.0, 25.0)


def test_every_seed_has_every_run_and_the_faulty_one_scores_results_by_a_forward_pass(monkeypatch):
    monkeypatch.setattr(lookup_study, "sg_options", lambda folder: {"normalize": True})
    names = [variant.name for variant in study((5,)).variants]
    priced = ["grpo|cost 0|5", "grpo|cost 0.1|5", "grpo|cost 0.2|5"]
    assert names == [*priced, "grpo_sg|cost 0.1|5", "no mask|cost 0|5", "no mask|cost 0.1|5"]
    assert {variant.setting for variant in study((5,)).variants} == set(COSTS)
    assert (settings("no mask", 0).method, settings("no mask", 0).old_logp) == ("grpo", "recompute")


def test_without_the_mask_results_are_kept_and_padding_is_not(monkeypatch):
    own, read = torch.tensor([[1.0, 0.0, 1.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0, 0.0]])
    zeros = torch.zeros(1, 4)
    parts = {"prompt_ids": zeros, "prompt_mask": zeros, "completion_ids": zeros, "logp": zeros, "entropy": zeros}
    whole = ToolRollouts(
        **parts,
        mask=own,
        read_mask=read,
        finished=zeros,
        texts=[""],
        problems=[],
        group_size=1,
        episodes=[Episode([1])],
    )
    monkeypatch.setattr(LookupQA, "rollout", lambda *args, **options: whole)
    kept = Unmasked("compact").rollout(None, [], 1).mask
    assert kept.tolist() == [[1.0, 1.0, 1.0, 0.0]]


def test_a_record_holds_every_run_with_its_settings(monkeypatch, tmp_path):
    def train_one(variant, n, scratch):
        keys = {"run": variant.name, "label": variant.label, "setting": variant.setting, "seed": variant.config.seed}
        result = {**keys, "n": n, **measures(rows())}
        return {"result": result, "curves": [{**keys, "step": 1, "strategy_note, 1 call": None}], "machine": {"a": 1}}

    monkeypatch.setattr(lookup_study, "train_one", train_one)
    monkeypatch.setattr(lookup_study, "sg_options", lambda folder: {"normalize": True})
    folder = record(tmp_path / "lookup", tmp_path / "scratch")
    results, curves = pd.read_csv(folder / "results.csv"), pd.read_csv(folder / "curves.csv")
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    assert results["run"].tolist() == list(about["runs"])
    assert results["accuracy"].tolist() == pytest.approx([0.75] * len(results))
    assert curves["strategy_note, 1 call"].tolist() == [0.0] * len(results)
    assert not (tmp_path / "scratch").exists()
