"""Checks of the side road on countdown: what two numbers make, who used what, and groups that say something."""

import re
from collections import Counter
from fractions import Fraction

from grpo_lessons.check.base import Exercise


def _values(a, b):
    quotients = [Fraction(x, y) for x, y in ((a, b), (b, a)) if y != 0]
    return sorted({Fraction(a + b), Fraction(a - b), Fraction(b - a), Fraction(a * b), *quotients})


def _as_text(function, *args):
    """Exact values are compared as texts: 1/3 is not 0.333."""
    values = function(*args)
    return None if values is None or values is ... else " ".join(map(str, values))


values_of_two = Exercise(
    name="countdown.values_of_two",
    todo="return the sorted list, each value once, of a+b, a-b, b-a, a*b, a/b and b/a, as Fractions.",
    right=_values,
    inputs=((3, 8), (4, 2), (5, 5), (0, 7), (2, 2)),
    measure=_as_text,
    wrong=(
        (
            lambda a, b: sorted({float(v) for v in _values(a, b)}),
            "these are floats: 1/3 is no float, so keep values exact with Fraction(a, b).",
        ),
        (
            lambda a, b: sorted(v for v in _values(a, b) if v.denominator == 1),
            "only whole values are kept, but 8/(3-8/3) passes through thirds on its way to 24.",
        ),
        (
            lambda a, b: sorted({Fraction(a + b), Fraction(a - b), Fraction(a * b), *([Fraction(a, b)] if b else [])}),
            "minus and divided by have a second order: b-a and b/a are missing.",
        ),
        (
            lambda a, b: [Fraction(v) for v in (a + b, a - b, b - a, a * b, Fraction(a, b), Fraction(b, a))],
            "each value once, in rising order, and nothing is divided by 0.",
        ),
    ),
)


def _uses(expression, numbers):
    return Counter(re.findall(r"[0-9]+", expression)) == Counter(map(str, numbers))


uses_numbers = Exercise(
    name="countdown.uses_numbers",
    todo="return True if the expression uses every number exactly as often as it is given; re.findall finds them.",
    right=_uses,
    inputs=(
        ("(3+5)*2", [2, 3, 5]),
        ("5*2", [2, 3, 5]),
        ("(3+5)*2-2", [2, 3, 5]),
        ("3+3+5", [3, 5, 5]),
        ("35*2", [2, 3, 5]),
        ("8/(3-8/3)", [3, 3, 8, 8]),
        ("12+1", [1, 12]),
        ("2+11", [1, 12]),
    ),
    wrong=(
        (
            lambda e, n: set(re.findall(r"[0-9]+", e)) == set(map(str, n)),
            "a set forgets how often: 3+3+5 does not use 5 twice.",
        ),
        (
            lambda e, n: Counter(re.findall(r"[0-9]+", e)) <= Counter(map(str, n)),
            "a number may be left out here, and every one of them must be used.",
        ),
        (
            lambda e, n: Counter(re.findall(r"[0-9]", e)) == Counter("".join(map(str, n))),
            "digit by digit, 35 looks like a 3 and a 5: compare whole numbers.",
        ),
        (
            lambda e, n: all(str(x) in e for x in n),
            "each number occurs somewhere in the text, but others may stand there too, or it inside a longer one.",
        ),
    ),
)


def _group_size(rate, share, alive=lambda p, G: 1 - p**G - (1 - p) ** G):
    return next((G for G in range(2, 100_000) if alive(rate, G) >= share), None)


group_size = Exercise(
    name="countdown.group_size",
    todo="return the smallest G from 2 on for which 1 - p**G - (1-p)**G is at least `share`.",
    right=_group_size,
    inputs=((0.24, 0.5), (0.03, 0.5), (0.007, 0.5), (0.9, 0.6), (0.5, 0.5), (0.97, 0.9)),
    wrong=(
        (
            lambda p, s: _group_size(p, s, lambda p, G: 1 - (1 - p) ** G),
            "a group in which all answers are right is dead as well: subtract p**G too.",
        ),
        (
            lambda p, s: _group_size(p, s, lambda p, G: min(1.0, p * G)),
            "p times G is how many right answers to expect, not the probability of a mixed group.",
        ),
        (
            lambda p, s: _group_size(p, s, lambda p, G: 1 - p**G - (1 - p) ** G if G % 2 == 0 else 0),
            "odd groups are groups too: try every G, not only even ones or powers of two.",
        ),
        (
            lambda p, s: _group_size(p, s, lambda p, G: 1 - p**G),
            "a group in which all answers are wrong is the usual dead one: subtract (1-p)**G.",
        ),
    ),
)
