"""The card of the shipped nano policy, and how it is written."""

import json

import pytest
import torch

from grpo_lessons import nano_card
from grpo_lessons.methods import get_method
from grpo_lessons.nano import main, sg_options
from grpo_lessons.nano_readme import render
from grpo_lessons.paths import data_dir
from grpo_lessons.policies import load_policy

FOLDER = data_dir() / "nano"


@pytest.fixture(scope="module")
def card():
    return json.loads((FOLDER / "card.json").read_text(encoding="utf-8"))


def test_the_readme_is_the_card_and_nothing_typed(card):
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == render(card)


def test_the_card_describes_the_weights_that_ship(card):
    assert card["weights_sha256"] == nano_card.file_hash(FOLDER / "model.safetensors")


@pytest.mark.parametrize("split", ["dev", "held_out"])
def test_the_pupil_starts_at_most_half_right_so_that_training_has_something_to_do(card, split):
    assert 0.35 <= card["splits"][split]["sampled"]["overall"]["value"] <= 0.55


def test_shares_of_strategies_and_counts_of_verdicts_are_complete(card):
    for cells in card["splits"].values():
        for cell in cells.values():
            assert sum(s["share"]["value"] for s in cell["strategies"].values()) == pytest.approx(1, abs=1e-3)
            assert sum(cell["verdicts"].values()) == cell["n"]


def test_hedges_and_waits_are_within_reach_of_reward_hacking(card):
    strategies = card["splits"]["dev"]["sampled"]["strategies"]
    for kind in ("hedge", "wait"):
        assert 0.02 <= strategies[kind]["share"]["value"] <= 0.07


def test_own_constants_use_the_whole_range_of_weights_and_the_paper_ones_do_not(card):
    paper, own = card["paper_weights"], card["sg_weights"]
    assert (own["min"], own["max"]) == (1.0, 1.4)
    assert paper["max"] < 1.4
    assert paper["mean"] < own["mean"]


def test_sg_options_are_options_of_the_method(card):
    method = get_method("grpo_sg", **sg_options())
    assert method.options["normalize"] is True
    assert method.options["tau"] == card["sg_constants"]["tau"]


def test_sg_options_of_a_folder_without_a_card_says_how_to_make_one(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"python -m grpo_lessons\.nano"):
        sg_options(tmp_path)


def test_logits_are_those_of_sampled_tokens():
    policy = load_policy("nano", device="cpu")
    with torch.no_grad():
        policy.model.model.embed_tokens.weight.zero_()  # tied to the head: every logit is exactly 0
    logits = nano_card.sampled_logits(policy, seed=0)
    assert logits.numel() > 1024
    assert not logits.any()


@pytest.mark.slow
def test_the_script_writes_a_whole_policy(tmp_path):
    main(["--out", str(tmp_path), "--steps", "2"])
    assert load_policy(str(tmp_path), device="cpu").model.num_parameters() > 300_000
    assert sg_options(tmp_path)["normalize"] is True
    assert "2 steps" in (tmp_path / "README.md").read_text(encoding="utf-8")
