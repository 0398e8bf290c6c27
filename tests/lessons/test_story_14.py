"""What lesson 14 says in words about its pupil and its recorded runs."""

import pytest

from grpo_lessons.knights_study import COLUMNS, curricula
from grpo_lessons.studies import load_recorded
from grpo_lessons.tasks.knights_knaves import KnightsKnaves


@pytest.fixture(scope="module")
def results():
    return load_recorded("knights").results


def test_grpo_lifts_the_accuracy_on_two_people_beyond_the_intervals(results):
    runs = results[(results["label"] == "grpo") & (results["setting"] == "2 people")]
    assert (runs["two_people_low"] > runs["two_people_high_before"]).all()


def test_checking_every_speaker_takes_over_under_grpo_on_two_people(results):
    runs = results[(results["label"] == "grpo") & (results["setting"] == "2 people")]
    assert (runs["two_people_checked_before"] < 0.35).all()
    assert (runs["two_people_checked"] > 0.5).all()


def test_puzzles_of_two_people_need_fewer_tokens(results):
    tokens = results[results["label"] == "grpo"].groupby("setting")["tokens"].mean()
    assert tokens["2 people"] < tokens["2 and 3 mixed"] < tokens["3 people"]


def test_every_label_has_the_same_seeds_and_the_same_steps(results):
    seeds = results.groupby(["label", "setting"])["seed"].agg(tuple)
    assert set(seeds) == {(0, 1)}
    assert results["steps"].nunique() == 1


def test_grpo_sg_was_trained_with_constants_of_this_pupil():
    runs = load_recorded("knights").about["runs"]
    options = runs["grpo_sg|2 people|0"]["method_options"]
    assert options["normalize"] is True and options["tau"] != 9.0


def test_the_curricula_are_compared_on_both_sizes():
    compared = curricula(load_recorded("knights")).results
    assert list(compared["label"].unique()) == ["2 people", "3 people", "2, then 3", "2 and 3 mixed"]
    assert compared[list(COLUMNS.values())].notna().all().all()


@pytest.mark.slow
def test_the_pupil_judges_truths_better_on_puzzles_of_its_homework_and_worse_with_three_people():
    from grpo_lessons.evaluation import evaluate
    from grpo_lessons.policies import load_policy
    from grpo_lessons.tasks.knights_homework import written_truths

    def right(people, split):
        task = KnightsKnaves(people, "compact")
        report = evaluate(load_policy("nano-knights", device="cpu"), task, n=300, seed=1, split=split)
        pairs = zip(report.texts, task.problems(split, 300, seed=1), strict=True)
        found, written = map(sum, zip(*(written_truths(*pair) for pair in pairs), strict=True))
        return found / written

    assert right(2, "train") - 0.03 > right(2, "held_out") > right(3, "held_out") + 0.05


@pytest.mark.slow
def test_the_pupil_seldom_checks_every_speaker_and_is_then_far_better_than_otherwise():
    from grpo_lessons.evaluation import evaluate
    from grpo_lessons.policies import load_policy

    task = KnightsKnaves(2, "compact")
    report = evaluate(load_policy("nano-knights", device="cpu"), task, n=300, seed=1)
    problems = task.problems("held_out", 300, seed=1)
    checked = [task.strategy(*pair) == "checked every speaker" for pair in zip(report.texts, problems, strict=True)]
    right = report.correct[:, 0]
    assert 0.05 < sum(checked) / 300 < 0.35
    others = [not one for one in checked]
    assert right[checked].mean() > 2 * right[others].mean()
