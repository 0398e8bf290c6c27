"""What lesson 16 tells about the recorded runs, and about the pupil that they begin with."""

import pytest

from grpo_lessons.pooled import differences
from grpo_lessons.studies import load_recorded
from grpo_lessons.tasks.lookup_report import search_shares


@pytest.fixture(scope="module")
def results():
    return load_recorded("lookup").results.set_index(["label", "setting", "seed"]).sort_index()


def test_the_pupil_has_room_to_learn_and_does_not_know_when_to_search(results):
    assert results["accuracy_before"].between(0.2, 0.45).all()
    assert results["searched_note_before"].between(0.2, 0.7).all()
    assert results["searched_no_note_before"].between(0.2, 0.7).all()


def test_with_a_small_cost_it_learns_when_to_search_in_every_seed(results):
    priced = results.loc[("grpo", "cost 0.1")]
    assert (priced["searched_no_note"] > 0.9).all()
    assert (priced["searched_note"] < 0.25).all()


def test_without_a_cost_it_learns_to_search_always(results):
    free = results.loc[("grpo", "cost 0")]
    assert (free[["searched_no_note", "searched_note"]] > 0.9).all(axis=None)


def test_exact_match_rises_with_intervals_apart_wherever_the_mask_is_right(results):
    for setting in ("cost 0", "cost 0.1", "cost 0.2"):
        runs = results.loc[("grpo", setting)]
        assert (runs["low"] > runs["high_before"]).all()


def test_a_high_price_makes_the_untrained_policy_search_less_and_the_seeds_end_apart(results):
    runs = load_recorded("lookup").curves.query("label == 'grpo' and setting == 'cost 0.2'").groupby("seed")
    shares = [search_shares(run.reset_index(drop=True))["no note"] for _, run in runs]
    assert all(share[5:12].mean() < share[:3].mean() for share in shares)
    assert all(share[-5:].mean() > share[15:20].mean() for share in shares)
    two_hops = results.loc[("grpo", "cost 0.2")]["accuracy_two_hops_no_note"]
    assert two_hops.max() - two_hops.min() > 0.3


def test_without_the_mask_and_with_a_price_it_stops_searching(results):
    runs = results.loc[("no mask", "cost 0.1")]
    assert (runs["searched_no_note"] < 0.15).all() and (runs["accuracy"] < 0.5).all()


def test_without_the_mask_and_without_a_price_it_searches_and_is_worse(results):
    masked, unmasked = results.loc[("grpo", "cost 0")], results.loc[("no mask", "cost 0")]
    assert (unmasked["searched_no_note"] > 0.9).all()
    assert (masked["low"] > unmasked["high"]).all()


def test_without_the_mask_results_become_less_likely_by_several_nats_where_a_call_costs(results):
    masked, unmasked = results.loc[("grpo", "cost 0.1")], results.loc[("no mask", "cost 0.1")]
    assert (unmasked["result_logp"] < unmasked["result_logp_before"] - 4).all()
    assert (masked["result_logp"] > masked["result_logp_before"] - 2).all()
    free = results.loc[("no mask", "cost 0")]
    assert ((free["result_logp"] - free["result_logp_before"]).abs() < 0.6).all()


def test_the_sharpness_weights_make_no_difference_that_can_be_seen():
    (row,) = differences(load_recorded("lookup"), "grpo_sg", "grpo").itertuples()
    assert row.verdict == "not told apart"


def test_the_curves_hold_the_shares_that_the_figure_draws():
    for _, run in load_recorded("lookup").curves.groupby("run"):
        shares = search_shares(run)
        assert shares[["note", "no note"]].max().max() <= 1.0 and shares["no note"].notna().any()
