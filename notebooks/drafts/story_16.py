"""What lesson 16 tells about the recorded runs, and about the pupil that they begin with."""

import pytest

from grpo_lessons.studies import load_recorded
from grpo_lessons.tasks.lookup_report import search_shares


@pytest.fixture(scope="module")
def results():
    return load_recorded("lookup").results.set_index(["label", "setting", "seed"])


def test_the_pupil_has_room_to_learn_and_does_not_know_when_to_search(results):
    assert results["accuracy_before"].between(0.2, 0.6).all()
    assert (results["searched_note_before"] > 0.15).all() and (results["searched_no_note_before"] < 0.85).all()


def test_with_a_cost_it_learns_when_to_search_in_every_seed(results):
    costly = results.loc[("grpo", "cost 0.2")]
    before = costly["searched_no_note_before"] - costly["searched_note_before"]
    after = costly["searched_no_note"] - costly["searched_note"]
    assert (after > before + 0.2).all()


def test_exact_match_rises_with_intervals_apart(results):
    for setting in ("cost 0", "cost 0.2"):
        runs = results.loc[("grpo", setting)]
        assert (runs["low"] > runs["high_before"]).all()


def test_a_cost_takes_away_searches_that_the_note_makes_needless(results):
    free, costly = (results.loc[("grpo", setting)]["searched_note"] for setting in ("cost 0", "cost 0.2"))
    assert (costly < free).all()


def test_without_the_mask_the_log_probability_of_results_moves_further_than_with_it(results):
    masked, unmasked = results.loc[("grpo", "cost 0.2")], results.loc[("no mask", "cost 0.2")]
    moved = (unmasked["result_logp"] - unmasked["result_logp_before"]).abs()
    assert (moved > (masked["result_logp"] - masked["result_logp_before"]).abs()).all()


def test_the_curves_hold_the_shares_that_the_figure_draws():
    for _, run in load_recorded("lookup").curves.groupby("run"):
        shares = search_shares(run)
        assert shares[["note", "no note"]].max().max() <= 1.0 and shares["no note"].notna().any()
