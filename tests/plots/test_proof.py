"""Figures of the lessons on real models."""

from types import SimpleNamespace

import pandas as pd

from grpo_lessons import plots

TABLE = pd.DataFrame(
    [
        {"level": "easy", "pass_rate": 0.5, "dead_4": 0.4, "dead_8": 0.1},
        {"level": "hard", "pass_rate": 0.0, "dead_4": 1.0, "dead_8": 1.0},
    ]
)
CURVES = pd.DataFrame(
    {
        "label": ["bare", "shown", "shown"],
        "step": [1, 1, 2],
        "accuracy": [0.0, 0.1, 0.6],
        "reason_no_answer": [1.0, 0.75, 0.25],
    }
)
RESULTS = pd.DataFrame(
    [
        {"label": label, "accuracy_before": 0.1, "low_before": 0.0, "high_before": 0.2, "accuracy_after": after}
        | {"low_after": after - 0.1, "high_after": after + 0.1}
        for label, after in (("bare", 0.1), ("shown", 0.7))
    ]
)


def texts(ax):
    return [t.get_text() for t in ax.texts]


def test_each_level_has_a_line_over_the_group_sizes_and_the_limit_one_of_its_own():
    (ax,) = plots.predicted_dead_groups(TABLE).axes
    first, second, limit = ax.get_lines()
    assert list(first.get_xdata()) == [4, 8] and list(second.get_ydata()) == [1.0, 1.0]
    assert list(limit.get_ydata()) == [0.5, 0.5]
    assert texts(ax) == ["easy (50% right)", "hard (0% right)"]
    assert ax.get_xlabel() and ax.get_ylabel()


def test_the_study_is_drawn_as_two_curves_and_as_before_and_after():
    curve, ends = plots.smollm2_study(SimpleNamespace(curves=CURVES, results=RESULTS)).axes
    assert [list(line.get_ydata()) for line in curve.get_lines()] == [[0.0], [0.0], [0.25, 0.75], [0.1, 0.6]]
    assert sorted(texts(curve)) == [
        f"{who}: {what}" for who in ("question alone", "two examples") for what in ("a block", "right")
    ]
    assert texts(ends) == ["before", "after"] * 2
    assert curve.get_ylim() == (-0.03, 1.03) and ends.get_xlabel() and curve.get_xlabel()
