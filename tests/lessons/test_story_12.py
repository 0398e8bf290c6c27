"""What lesson 12 says in words: a hard level is dead at any group size, starvation, and what two examples do."""

import pytest

from grpo_lessons import presets
from grpo_lessons.difficulty import choose, survey
from grpo_lessons.studies import load_recorded


@pytest.fixture(scope="module")
def study():
    return load_recorded("smollm2")


def test_the_question_alone_starves_the_language_model(study):
    row = study.results.set_index("label").loc["bare"]
    curve = study.curves[study.curves["label"] == "bare"]
    assert row["accuracy_before"] == row["accuracy_after"] == 0.0
    assert (curve["dead_groups"] == 1.0).all() and (curve["grad_norm"] == 0.0).all()


def test_after_two_examples_held_out_accuracy_is_clearly_up(study):
    row = study.results.set_index("label").loc["shown"]
    assert row["low_after"] > row["high_before"]
    assert row["cpu_seconds"] < 25 * 60 * 2  # 25 minutes on two cores


@pytest.mark.slow
def test_the_stand_in_leaves_its_own_sums_alive_and_three_digits_dead():
    setup = presets.choose("nano")
    table = survey(setup.load(), setup.levels, n=20, samples=16).set_index("level")
    assert (table.loc["3 digits", ["dead_4", "dead_8", "dead_16"]] == 1.0).all()
    assert choose(table.reset_index())[0] == "2 digits"
