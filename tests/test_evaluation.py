"""Accuracy, intervals, pass@k and paired comparison against values worked out elsewhere."""

import numpy as np
import pytest
from engine import nano

from grpo_lessons.evaluation import (
    accuracy_interval,
    evaluate,
    majority_answer,
    mean_pass_at_k,
    paired_bootstrap,
    pass_at_k,
    powers_of_two,
    wilson_interval,
)
from grpo_lessons.tasks.addition import Addition


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (5, 10, 0.2366, 0.7634),  # centre (0.5 + 0.19207) / 1.38415 = 0.5, half 0.2634
        (0, 10, 0.0, 0.2775),  # z^2 / (n + z^2) = 3.8415 / 13.8415
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I, method 3
    ],
)
def test_wilson_interval(successes, n, low, high):
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_wilson_interval_of_impossible_counts(successes, n):
    with pytest.raises(ValueError, match="0 <= successes <= n"):
        wilson_interval(successes, n)


def test_pass_at_k_counts_draws_without_repetition():
    assert pass_at_k(4, 1, 2) == 0.5  # 3 of the 6 pairs hold the right one
    assert pass_at_k(5, 2, 3) == pytest.approx(0.9)  # 1 of the 10 triples misses both
    assert (pass_at_k(4, 0, 4), pass_at_k(4, 4, 1), pass_at_k(4, 3, 2)) == (0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="n=4, c=1, k=5"):
        pass_at_k(4, 1, 5)


def test_mean_pass_at_k_averages_over_problems():
    correct = np.array([[1, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
    assert mean_pass_at_k(correct, 2) == 0.25
    assert powers_of_two(9) == [1, 2, 4, 8]


def test_several_samples_a_problem_are_not_counted_as_independent():
    """Ten problems, five always right and five never: a hundred samples each add nothing."""
    correct = np.repeat(np.array([[True], [False]] * 5), 100, axis=1)
    low, high = accuracy_interval(correct)
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 10), abs=0.08)
    wrong_low, wrong_high = wilson_interval(500, 1000)
    assert high - low > 5 * (wrong_high - wrong_low)


def test_equal_scores_on_every_problem_do_not_claim_certainty():
    assert accuracy_interval(np.ones((10, 4), dtype=bool)) == pytest.approx((0.7225, 1.0), abs=1e-4)


def test_paired_bootstrap_sees_a_small_gain_on_the_same_problems_and_not_on_others():
    rng = np.random.default_rng(0)
    b = rng.random(400) < 0.5
    a = b.copy()
    a[np.flatnonzero(~b)[:20]] = True  # 20 more of 400 right, none lost
    paired = paired_bootstrap(a, b, seed=0)
    assert paired.difference == pytest.approx(0.05)
    assert paired.significant and paired.interval[0] > 0.02
    shuffled = paired_bootstrap(a, rng.permutation(b), seed=0)
    assert shuffled.difference == pytest.approx(0.05) and not shuffled.significant


def test_paired_bootstrap_refuses_different_problems():
    with pytest.raises(ValueError, match="got 3 and 2"):
        paired_bootstrap([1, 0, 1], [1, 0], seed=0)


def test_evaluation_counts_problems_samples_and_reasons():
    policy = nano()
    report = evaluate(policy, Addition(), n=10, samples=4, seed=1, batch=16)
    assert report.correct.shape == (10, 4) and len(report.texts) == 40
    assert report.accuracy == report.correct.mean() == report.pass_at[1]
    assert report.pass_at[4] == report.correct.any(1).mean()
    assert sum(report.reasons.values()) == 40
    assert report.reasons["correct"] == report.correct.sum()
    assert report.lengths.shape == report.finished.shape == (40,)
    assert report.length == report.lengths.mean() and report.truncated == 1 - report.finished.mean()
    again = evaluate(policy, Addition(), n=10, samples=4, seed=1, batch=16)
    assert again.texts == report.texts


def test_greedy_evaluation_gives_the_same_answer_to_each_sample():
    report = evaluate(nano(), Addition(), n=6, samples=3, temperature=0)
    assert all(len(set(report.texts[3 * i : 3 * i + 3])) == 1 for i in range(6))
    assert str(report).endswith("on 6 problems, 3 samples each")


def test_evaluation_takes_its_problems_from_the_split():
    asked = []

    class Spy(Addition):
        def verify(self, completion, problem):
            asked.append(problem.prompt[0]["content"])
            return super().verify(completion, problem)

    evaluate(nano(), Spy(), n=5, split="dev", seed=2)
    assert asked == [p.prompt[0]["content"] for p in Addition().problems("dev", 5, 2)]


@pytest.mark.parametrize(
    ("answers", "elected"),
    [
        (["7", "8", "8"], "8"),
        ([None, None, None, "8"], "8"),  # no answer is no vote
        (["9", "8", "8", "9"], "9"),  # a tie: the one that came first
        ([None, None], None),
        ([], None),
    ],
)
def test_the_majority_answer_counts_votes_only(answers, elected):
    assert majority_answer(answers) == elected
