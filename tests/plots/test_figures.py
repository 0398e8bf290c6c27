from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from grpo_lessons import plots
from grpo_lessons.plots import _HOMES
from grpo_lessons.plots.style import bundle


def run(steps=12, evals=True):
    """A made-up log with all columns; only the figures are under test."""
    x = np.arange(1, steps + 1)
    table = pd.DataFrame(
        {
            "step": x,
            "reward_mean": x / steps,
            "accuracy": x / steps / 2,
            "length_mean": 20.0 - x,
            "length_finished": 18.0 - x,
            "log_ratio_min": -0.1 * x,
            "log_ratio_max": 0.2 * x,
            "log_ratio_q01": -0.05,
            "log_ratio_q99": 0.05,
            "strategy_guess": 1 - x / steps,
            "strategy_column_sum": x / steps,
        }
    )
    rows = [
        {"step": s, "split": split, "n": 50, "accuracy": a, "low": a - 0.1, "high": a + 0.05}
        for split, a in (("dev", 0.9), ("held_out", 0.4))
        for s in (0, steps)
    ]
    return SimpleNamespace(table=table, evals=pd.DataFrame(rows if evals else []))


FIGURES = {
    "training_panel": lambda: plots.training_panel(run()),
    "methods_panel": lambda: plots.methods_panel({"grpo": run(), "gmpo": run()}),
    "compare_curves": lambda: plots.compare_curves({"grpo": [run(), run()], "gmpo": run()}, "accuracy"),
    "dead_groups": lambda: plots.dead_groups(),
    "question_push": lambda: plots.question_push(),
    "strategy_shares": lambda: plots.strategy_shares(run()),
    "calibration": lambda: plots.calibration([("04.length", 30, 40.0)]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_axis_is_named(name):
    fig = FIGURES[name]()
    shared_x, shared_y = name in ("training_panel", "methods_panel"), name == "methods_panel"
    axes = fig.axes
    assert all(ax.get_xlabel() for ax in axes if not shared_x or ax.get_subplotspec().is_last_row())
    assert all(ax.get_ylabel() for ax in axes if not shared_y or ax.get_subplotspec().is_first_col())


@pytest.mark.parametrize("name", [*FIGURES, "loop_diagram", "training_stages", "token_credit"])
def test_the_background_is_white_so_that_a_dark_theme_does_not_swallow_the_ink(name):
    fig = FIGURES.get(name, lambda: getattr(plots, name)())()
    assert fig.get_facecolor() == (1, 1, 1, 1)


def test_no_figure_is_hidden_by_a_module_of_the_same_name():
    """Importing plots/x.py binds `plots.x` to the module, whatever __getattr__ says."""
    assert set(_HOMES) & set(_HOMES.values()) == set()


def test_held_out_accuracy_is_drawn_not_that_of_dev():
    line = plots.training_panel(run()).axes[0].lines[0]
    assert list(line.get_ydata()) == [0.4, 0.4]


def test_without_evaluations_the_rollouts_accuracy_is_drawn_and_said():
    ax = plots.training_panel(run(evals=False)).axes[0]
    assert ax.get_title() == "Accuracy of the rollouts"


def test_methods_have_the_same_limits_along_a_row():
    short = run()
    short.table["length_mean"] *= 0.1
    fig = plots.methods_panel({"grpo": run(), "gmpo": short})
    rows = np.reshape(fig.axes, (4, 2))
    assert all(left.get_ylim() == right.get_ylim() for left, right in rows)


def test_a_method_keeps_its_colour_beside_others():
    fig = plots.compare_curves({"gmpo": run(), "grpo": run()}, "accuracy")
    inks = {line.get_label(): line.get_color() for line in fig.axes[0].lines}
    assert (inks["GMPO"], inks["GRPO"]) == ("#D55E00", "#0072B2")


def test_labels_of_lines_that_end_together_stand_apart_whatever_the_scale():
    """Limits that matplotlib has not set yet would make 0.1 of 30 look like a third of the axis."""
    _, ax = plots.new_axes()
    ax.plot([0, 1], [0.0, 19.0], label="low")
    ax.plot([0, 1], [30.0, 19.1], label="high")
    plots.label_lines(ax)
    low, high = ax.texts
    to_points = ax.figure.dpi_scale_trans.inverted()
    ends = [72 * to_points.transform(ax.transData.transform(text.xy))[1] for text in (low, high)]
    assert ends[1] + high.xyann[1] - ends[0] - low.xyann[1] == pytest.approx(12, abs=0.5)


def test_a_missing_column_names_those_there_are():
    with pytest.raises(ValueError, match=r"no column 'entropy'; it has step, reward_mean"):
        plots.compare_curves({"grpo": run()}, "entropy")


def test_a_strategy_too_rare_for_a_label_is_named_in_the_title():
    log = run()
    log.table["strategy_hedge"] = 0.01
    assert plots.strategy_shares(log).axes[0].get_title() == "without a label, always below 8 %: hedge"


def test_strategies_need_their_columns():
    log = SimpleNamespace(table=run().table[["step", "accuracy"]])
    with pytest.raises(ValueError, match="strategy_"):
        plots.strategy_shares(log)


def test_loop_fills_the_stage_of_today_only():
    fills = [text.get_bbox_patch().get_facecolor()[:3] for text in plots.loop_diagram("verify").axes[0].texts]
    assert [fill != (1, 1, 1) for fill in fills] == [False, False, True, False, False]


def test_loop_refuses_a_stage_that_is_none():
    with pytest.raises(ValueError, match="ask, sample, verify, compare, update"):
        plots.loop_diagram("reward")


def test_calibration_counts_the_guesses_it_cannot_draw():
    fig = plots.calibration([("a", 20, 10.0), ("b", "yes", "no"), ("c", 0, 5)])
    assert fig.axes[0].get_title() == "1 guesses drawn, 2 without a ratio"
    assert fig.axes[0].collections[0].get_offsets()[0, 0] == 1.0  # twice too high: one doubling


def test_calibration_without_a_guess_says_how_to_write_one_down():
    (ax,) = plots.calibration([]).axes
    assert "write one in place of" in ax.texts[0].get_text()
    assert (ax.get_title(), list(ax.get_yticks())) == ("0 guesses drawn, 0 without a ratio", [])


def test_alt_text_stands_in_the_metadata_of_the_image():
    data, metadata = bundle(plots.loop_diagram(), "Five boxes in a ring.")
    assert metadata["image/png"]["alt"] == "Five boxes in a ring."
    assert data["image/png"].startswith(b"\x89PNG")


def test_the_same_figure_gives_the_same_bytes():
    assert bundle(plots.dead_groups(), "x")[0] == bundle(plots.dead_groups(), "x")[0]


@pytest.mark.parametrize("alt", ["", "  "])
def test_a_figure_without_words_is_refused(alt):
    with pytest.raises(ValueError, match="say in words"):
        plots.show(plots.loop_diagram(), alt=alt)


def test_live_plot_prints_every_fifth_step_and_the_last_one_outside_notebooks(capsys):
    log = run()
    with plots.LivePlot(every=5) as live:
        for steps in range(13):
            live(SimpleNamespace(table=log.table.iloc[:steps], evals=log.evals))
    steps = [line.split()[1] for line in capsys.readouterr().out.splitlines()]
    assert steps == ["1", "6", "11", "12"]
