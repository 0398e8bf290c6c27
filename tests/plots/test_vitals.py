"""The vital signs of a run: the same limits for all of a ward, gaps where nothing moved, and the same in words."""

from types import SimpleNamespace

import pandas as pd
import pytest

from grpo_lessons import plots


def run(moved=0.1, norm=1.0, tokens=10.0):
    steps = range(1, 13)
    rows = [
        {
            "step": step,
            "reward_mean": step / 12,
            "dead_groups": 0.25,
            "truncated": 0.0,
            "length_mean": tokens,
            "entropy": 0.2,
            "log_ratio_q01": -moved,
            "log_ratio_q99": moved / 2,
            "grad_norm_max": norm * (step != 3),
        }
        for step in steps
    ]
    evals = [
        {"step": s, "split": "held_out", "accuracy": a, "low": a - 0.1, "high": a + 0.1}
        for s, a in ((0, 0.4), (12, 0.3))
    ]
    return SimpleNamespace(table=pd.DataFrame(rows), evals=pd.DataFrame(evals))


def test_every_panel_has_a_title_and_a_unit_and_the_lower_ones_name_the_step():
    axes = plots.vital_signs(run()).axes
    assert all(ax.get_title() and ax.get_ylabel() for ax in axes)
    assert all(ax.get_xlabel() for ax in axes[3:])


def test_all_runs_of_a_ward_have_the_same_limits():
    ward = [run(), run(moved=3.0, norm=20.0, tokens=40.0)]
    limits = [[(ax.get_xlim(), ax.get_ylim()) for ax in plots.vital_signs(log, among=ward).axes] for log in ward]
    assert limits[0] == limits[1]
    assert limits[0] != [(ax.get_xlim(), ax.get_ylim()) for ax in plots.vital_signs(ward[0]).axes]


def test_movement_is_the_larger_distance_and_a_step_without_gradient_is_a_gap():
    *_, movement, gradient = plots.vital_signs(run()).axes
    assert list(movement.lines[0].get_ydata()) == [0.1] * 12
    assert list(pd.isna(gradient.lines[0].get_ydata()).nonzero()[0]) == [2]


def test_a_run_that_never_moved_says_so_in_its_panel():
    ward = [run(moved=0.0), run()]
    assert [text.get_text() for text in plots.vital_signs(ward[0], among=ward).axes[4].texts] == ["0 in every step"]


@pytest.mark.parametrize(
    "words", ["reward 0.25 to 0.83", "share of dead groups 0.25 to 0.25", "held-out accuracy 0.40 to 0.30"]
)
def test_in_words(words):
    assert words in plots.vital_words(run())
