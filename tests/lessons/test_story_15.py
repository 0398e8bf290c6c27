"""What lesson 15 rests on: the recorded runs of one pupil under three ways to pay for tests."""

import pytest

from grpo_lessons.pooled import differences, pooled
from grpo_lessons.studies import load_recorded


@pytest.fixture(scope="module")
def results():
    return load_recorded("programs").results.set_index(["setting", "label", "seed"]).sort_index()


def test_the_pupil_begins_where_there_is_something_to_learn(results):
    assert results["right_before"].between(0.15, 0.5).all()
    assert (results["share_table_of_the_examples_before"] > 0.1).all()  # the cheat is within reach of sampling


def test_paid_for_all_tests_it_is_up_on_functions_it_never_met(results):
    """Each run's interval lies above the share before; over both seeds the two intervals are apart."""
    runs = results.loc["grpo", "all tests"]
    assert (runs["right_low"] > runs["right_before"]).all()
    study = load_recorded("programs")
    before, after = (
        pooled(study, column).set_index(["label", "setting"]).loc[("all tests", "grpo")]
        for column in ("right_before", "right")
    )
    assert after["low"] > before["high"]


def test_partial_credit_and_all_or_nothing_are_not_told_apart_here():
    (row,) = differences(load_recorded("programs"), "share of tests", "all tests", "right").itertuples()
    assert row.verdict == "not told apart"


def test_paid_for_the_shown_examples_it_turns_to_tables(results):
    runs = results.loc["grpo", "shown examples"]
    assert (runs["share_table_of_the_examples"] > 0.8).all()
    assert (runs["shown"] > 0.8).all()
    assert (runs["right"] < 0.1).all()


def test_only_all_tests_tell_the_two_policies_apart(results):
    weak, strong = (results.loc["grpo", label] for label in ("shown examples", "all tests"))
    assert (strong["right_low"] > weak["right_high"]).all()
    assert (weak["shown"] > strong["shown"]).all()


def test_no_verdict_of_the_recorded_training_hit_the_time_limit():
    curves = load_recorded("programs").curves
    assert "reason_timeout" not in curves or not curves["reason_timeout"].any()
