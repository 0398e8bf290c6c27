import pytest

from grpo_lessons import plots


def test_each_mark_stands_at_its_accuracy_and_says_whose_it_is():
    table = {
        "2 people": {"before": (0.4, (0.3, 0.5)), "after": (0.9, (0.85, 0.95))},
        "3 people": {"after": (0.6, (0.5, 0.7))},
    }
    (ax,) = plots.accuracy_intervals(table).axes
    assert [text.get_text() for text in ax.texts] == ["before, 40%", "after, 90%", "after, 60%"]
    assert [container.lines[0].get_xdata()[0] for container in ax.containers] == pytest.approx([0.4, 0.9, 0.6])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["2 people", "3 people"]


def test_no_label_lies_on_its_own_interval():
    (ax,) = plots.accuracy_intervals({"a": {"x": (0.2, (0.1, 0.3)), "y": (0.9, (0.8, 1.0))}}).axes
    (low, high) = (text.get_position()[0] for text in ax.texts)
    assert low > 0.3 and high < 0.8
