from dataclasses import replace

import numpy as np
import pytest
from recorded import made_up_study

from grpo_lessons import plots
from grpo_lessons.plots.recorded import label_inks, label_name

SETTINGS = ("5e-04", "1e-03")
FIGURES = {
    "accuracy_by_setting": lambda: plots.accuracy_by_setting(made_up_study(), xlabel="learning rate"),
    "accuracy_by_label": lambda: plots.accuracy_by_label(made_up_study(), "1e-03"),
    "log_ratio_bands": lambda: plots.log_ratio_bands(made_up_study(), SETTINGS),
    "recorded_curves": lambda: plots.recorded_curves(made_up_study(), {"entropy": "entropy (nats)"}, SETTINGS),
    "gradient_spikes": lambda: plots.gradient_spikes(made_up_study(), ["grpo", "gmpo"], SETTINGS),
    "train_and_held_out": lambda: plots.train_and_held_out(made_up_study(), SETTINGS),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_outer_axes_are_named(name):
    axes = FIGURES[name]().axes
    assert all(ax.get_xlabel() for ax in axes if ax.get_subplotspec().is_last_row())
    labelled = [ax for ax in axes if ax.get_subplotspec().is_first_col()]
    assert all(ax.get_ylabel() or any(t.get_text() == "GRPO" for t in ax.get_yticklabels()) for ax in labelled)


def marks(ax):
    """Label's name -> (x, y) of its means, from the lines with round marks."""
    names = [line.get_label() for line in ax.lines if not line.get_label().startswith("_")]
    means = [line for line in ax.lines if line.get_marker() == "o"]
    return {name: (list(m.get_xdata()), list(m.get_ydata())) for name, m in zip(names, means, strict=True)}


def test_accuracies_stand_at_their_means_and_learning_rates_read_as_numbers():
    ax = FIGURES["accuracy_by_setting"]().axes[0]
    assert marks(ax)["GMPO"][1] == pytest.approx([0.7, 0.7])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.0005", "0.001"]


def test_names_stand_right_of_the_last_marks():
    ax = FIGURES["accuracy_by_setting"]().axes[0]
    assert min(text.xy[0] for text in ax.texts) > max(max(x) for x, _ in marks(ax).values())


def test_settings_stand_in_the_order_asked_for():
    fig = plots.accuracy_by_setting(made_up_study(), xlabel="learning rate", settings=SETTINGS[::-1])
    x = marks(fig.axes[0])["GRPO"][0]
    assert x == sorted(x)
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["0.001", "0.0005"]


def test_each_seed_is_a_dot_beside_its_mean():
    ax = FIGURES["accuracy_by_label"]().axes[0]
    dots = [line.get_xdata() for line in ax.lines if line.get_marker() == "."]
    assert [sorted(d) for d in dots] == [[0.2, 0.4], [0.6, 0.8]]
    assert [container.lines[0].get_xdata()[0] for container in ax.containers] == pytest.approx([0.3, 0.7])


def test_a_label_without_runs_in_a_setting_is_left_out_there():
    study = made_up_study()
    kept = (study.results["label"] == "grpo") | (study.results["setting"] == "1e-03")
    held_out = plots.train_and_held_out(replace(study, results=study.results[kept]), SETTINGS).axes
    assert [sum(line.get_marker() == "o" for line in ax.lines) for ax in held_out] == [2, 4]


def test_bands_of_a_row_have_the_same_limits():
    first, second = FIGURES["log_ratio_bands"]().axes[:2]
    assert first.get_ylim() == second.get_ylim()


def test_a_thick_line_is_the_mean_of_the_thin_ones():
    study = made_up_study()
    study.curves.loc[study.curves["seed"] == 1, "entropy"] += 2.0
    ax = plots.recorded_curves(study, {"entropy": "entropy (nats)"}, SETTINGS).axes[0]
    thin0, thin1, thick = (line.get_ydata() for line in ax.lines[:3])
    assert np.allclose(thick, (thin0 + thin1) / 2)


def test_spikes_of_all_seeds_are_counted_in_the_title_and_marked():
    ax = FIGURES["gradient_spikes"]().axes[1]
    marks = [line.get_xdata() for line in ax.lines if line.get_marker() == "v"]
    assert ax.get_title() == "GRPO, 0.001: 2"
    assert [list(m) for m in marks] == [[12], [12]]


def test_a_step_without_gradient_is_a_gap_on_the_logarithmic_axis():
    study = made_up_study()
    study.curves.loc[study.curves["step"] == 3, "grad_norm_max"] = 0.0
    line = plots.gradient_spikes(study, ["grpo"], SETTINGS).axes[0].lines[0]
    assert list(np.isnan(line.get_ydata()).nonzero()[0]) == [2]


def test_hollow_is_training_and_filled_is_held_out():
    ax = FIGURES["train_and_held_out"]().axes[0]
    hollow, filled = [line for line in ax.lines if line.get_marker() == "o"][:2]
    assert (hollow.get_markerfacecolor(), hollow.get_xdata()[0]) == ("white", pytest.approx(0.9))
    assert filled.get_xdata()[0] == pytest.approx(0.3)


def test_labels_without_a_colour_of_their_own_get_different_ones():
    study = made_up_study()
    study.results["label"] = study.results["label"].replace({"grpo": "gmpo_wide", "gmpo": "gmpo_narrow"})
    assert len(set(label_inks(study).values())) == 2


@pytest.mark.parametrize(
    ("label", "name"), [("gmpo", "GMPO"), ("gmpo_no_clip", "GMPO without clipping"), ("my own", "my own")]
)
def test_names_are_for_people(label, name):
    assert label_name(label) == name
