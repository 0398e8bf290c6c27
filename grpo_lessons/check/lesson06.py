"""Checks of lesson 06: pass@k, Wilson's interval and the majority vote."""

from collections import Counter
from math import comb, sqrt

from grpo_lessons import evaluation
from grpo_lessons.check.base import Exercise

pass_at_k = Exercise(
    name="06.pass_at_k",
    todo="1 minus the chance that k samples, drawn from the n without repetition, miss all c correct ones.",
    right=evaluation.pass_at_k,
    inputs=((10, 3, 1), (10, 3, 4), (10, 0, 5), (10, 8, 4), (16, 1, 8), (5, 5, 5)),
    wrong=(
        (
            lambda n, c, k: 1 - (1 - c / n) ** k,
            "this draws with repetition: too low for few samples; use combinations, C(n - c, k) / C(n, k).",
        ),
        (lambda n, c, k: c / n, "this is pass@1 for every k."),
        (
            lambda n, c, k: min(1.0, k * c / n),
            "chances of overlapping events do not add up: take 1 minus 'all k miss'.",
        ),
        (lambda n, c, k: comb(n - c, k) / comb(n, k), "this is the chance that all k miss; take 1 minus it."),
        (lambda n, c, k: comb(c, k) / comb(n, k), "this is the chance that all k are right; one right one is enough."),
        (lambda n, c, k: float(c > 0), "one right sample among all n is pass@n; here only k of them are drawn."),
    ),
)

Z = 1.959964


def _wilson(k, n, z=Z, root=sqrt):
    p = k / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * root(p * (1 - p) / n + z * z / (4 * n * n))
    return centre - half, centre + half


def _wald(k, n):
    half = Z * sqrt(k / n * (1 - k / n) / n)
    return k / n - half, k / n + half


def _centred_on_p(k, n):
    low, high = _wilson(k, n)
    half = (high - low) / 2
    return k / n - half, k / n + half


wilson = Exercise(
    name="06.wilson",
    todo="centre (p + z²/2n) / (1 + z²/n), half width z / (1 + z²/n) * sqrt(p(1-p)/n + z²/4n²), z = 1.96.",
    right=evaluation.wilson_interval,
    inputs=((7, 10), (45, 100), (0, 20), (20, 20), (499, 500)),
    wrong=(
        (_wald, "this is p ± 1.96 sqrt(p(1-p)/n): at 0 or n successes it has no width, and it leaves [0, 1]."),
        (
            lambda k, n: (max(0.0, _wald(k, n)[0]), min(1.0, _wald(k, n)[1])),
            "this is p ± 1.96 sqrt(p(1-p)/n) cut off at 0 and 1; at 0 or n successes it claims certainty.",
        ),
        (_centred_on_p, "the half width is Wilson's, the centre is not: it moves from p towards one half."),
        (lambda k, n: _wilson(k, n, z=1.645), "z is that of a 90 % interval; for 95 % it is 1.96."),
        (lambda k, n: _wilson(k, n, root=lambda x: x), "the square root is missing in the half width."),
        (lambda k, n: _wilson(k, n)[::-1], "the two ends are swapped: return (low, high)."),
        (lambda k, n: tuple(100 * end for end in _wilson(k, n)), "these are percent: return shares between 0 and 1."),
    ),
    tolerance=5e-4,
)


majority = Exercise(
    name="06.majority",
    todo="the most frequent answer; None has no vote; a tie goes to the answer that came first; no votes: None.",
    right=evaluation.majority_answer,
    inputs=(
        (["75", "65", "75", "85", "75"],),
        (["65", None, "75", "75", None, None],),
        (["65", "112", "8", "112", "65", "8"],),
        ([None, None],),
        ([None, "7"],),
    ),
    wrong=(
        (lambda answers: Counter(answers).most_common(1)[0][0], "None is counted as a vote: leave it out first."),
        (
            lambda answers: max(sorted({a for a in answers if a}), key=answers.count, default=None),
            "a tie goes to the answer that sorts first; here it goes to the one that came first.",
        ),
        (
            lambda answers: max((a for a in reversed(answers) if a), key=answers.count, default=None),
            "a tie goes to the answer that came last; here it goes to the one that came first.",
        ),
        (
            lambda answers: next((a for a in answers if a), None),
            "this is the first answer: count how often each occurs.",
        ),
        (
            lambda answers: max((answers.count(a) for a in answers if a), default=None),
            "this is the number of votes; return the answer itself.",
        ),
        (
            lambda answers: next((a for a in answers if a and answers.count(a) > len(answers) / 2), None),
            "the most frequent answer wins even without more than half of the votes.",
        ),
    ),
)
