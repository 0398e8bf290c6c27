"""Whose numbers these are: the line under a figure, and the refusal to put a number under another model's name."""

from types import SimpleNamespace

import pytest

from grpo_lessons import plots
from grpo_lessons.origin import Origin

NANO = Origin("nano", "transformers", "AMD EPYC, 2 cores, no GPU", "2026-11-30")


def figure(title=""):
    fig, ax = plots.new_axes()
    ax.set(xlabel="step", ylabel="reward", title=title)
    return fig


def test_the_line_names_policy_backend_hardware_and_date():
    assert str(NANO) == "policy nano, transformers, AMD EPYC, 2 cores, no GPU, 2026-11-30"


def test_the_figure_carries_it(capsys):
    fig = figure()
    plots.show_measured(fig, NANO, alt="A line.")
    assert fig._supxlabel.get_text() == str(NANO)
    assert "A line. At the foot: policy nano" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("title", "alt", "caption"),
    [("Qwen2.5-1.5B under GRPO", "a", None), ("", "The reward of Qwen.", None), ("", "a", "SmolLM2 learns.")],
)
def test_an_output_of_nano_never_stands_under_another_name(title, alt, caption):
    with pytest.raises(ValueError, match="and the numbers are those of nano"):
        plots.show_measured(figure(title), NANO, alt=alt, caption=caption)


def test_a_hub_id_is_the_model_it_names():
    qwen = Origin("unsloth/Qwen2.5-1.5B-Instruct-bnb-4bit", "unsloth", "NVIDIA L4", "2027-01-01")
    assert qwen.other_policies("Qwen under GRPO") == []
    assert qwen.other_policies("nano under GRPO") == ["nano"]


def test_run_and_study_speak_of_their_own_machine_and_day():
    machine = {"hardware": "one card", "date": "2027-01-02"}
    log = SimpleNamespace(header={"policy": "smollm2", "backend": "unsloth", "machine": machine})
    assert Origin.of_run(log) == Origin("smollm2", "unsloth", "one card", "2027-01-02")
    study = SimpleNamespace(about={"policy": {"name": "smollm2"}, "machine": machine})
    assert str(Origin.of_study(study)).endswith("one card, recorded 2027-01-02")
