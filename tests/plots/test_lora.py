from types import SimpleNamespace

import pytest
import torch

from grpo_lessons import plots
from grpo_lessons.memory import estimate_memory
from grpo_lessons.plots.lora import bar_sizes
from grpo_lessons.quantization import NF4_LEVELS


def test_a_curve_of_captured_shares_begins_at_rank_0_with_nothing():
    (ax,) = plots.captured_by_rank({"weight": torch.tensor([0.5, 1.0]), "update": torch.tensor([0.9, 1.0])}).axes
    assert [list(line.get_ydata()) for line in ax.lines] == [[0, 0.5, 1], pytest.approx([0, 0.9, 1])]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["update", "weight"]
    assert ax.get_xlabel() and ax.get_ylabel()


def test_each_rank_stands_at_its_accuracy_with_its_interval():
    reports = {r: SimpleNamespace(accuracy=a, interval=(a - 0.1, a + 0.1)) for r, a in ((0, 0.3), (8, 0.8))}
    (ax,) = plots.accuracy_by_rank(reports, {"whole update": 0.9}).axes
    dots = [container.lines[0].get_ydata()[0] for container in ax.containers]
    assert dots == [0.3, 0.8]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "8"]
    assert [text.get_text() for text in ax.texts] == ["whole update"]


def test_the_levels_are_drawn_where_they_are_on_the_same_axes():
    upper, lower = plots.levels_against_weights(torch.linspace(-1, 1, 100)).axes
    drawn = sorted(segment[0][0] for segment in upper.collections[0].get_segments())
    assert drawn == pytest.approx(NF4_LEVELS.tolist())
    assert upper.get_ylim() == lower.get_ylim()


@pytest.mark.parametrize(
    "settings",
    [
        {"lora_rank": None},
        {"quantize": "nf4", "micro_batch": 1},
        {"quantize": "nf4", "micro_batch": 1, "prompts_per_step": 64, "gradient_checkpointing": True, "kl_beta": 0.1},
    ],
)
def test_the_parts_of_a_bar_sum_to_the_total_in_either_phase(settings):
    estimate = estimate_memory("qwen2.5-1.5b", **settings)
    assert sum(bar_sizes(estimate).values()) == estimate.total
    (ax,) = plots.memory_bars({"run": estimate}).axes
    assert ax.patches[-1].get_x() + ax.patches[-1].get_width() == pytest.approx(estimate.total / 2**30)


def test_cards_are_lines_at_their_size():
    (ax,) = plots.memory_bars({"run": estimate_memory("nano")}, cards=(8, 24)).axes
    assert [line.get_xdata()[0] for line in ax.lines] == [8, 24]
