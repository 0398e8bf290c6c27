import pandas as pd

from grpo_lessons import plots

COLUMNS = ["what", "name", "when", "share", "low", "high"]


def test_hidden_rows_and_differences_are_not_drawn():
    rows = [
        ("quiz", "04", "before", 0.4, 0.3, 0.5),
        ("quiz", "04", "after", 0.8, 0.7, 0.9),
        ("quiz", "04", "difference", 0.4, 0.2, 0.6),
        ("quiz", "05", "", None, None, None),
        ("assignment", "lesson04", "", 0.7, 0.6, 0.8),
    ]
    quizzes, marks = plots.class_report(pd.DataFrame(rows, columns=COLUMNS)).axes
    assert [text.get_text() for text in quizzes.texts] == ["before 40%", "after 80%"]
    assert [text.get_text() for text in marks.texts] == ["70%"]
    assert [label.get_text() for label in quizzes.get_yticklabels()] == ["lesson 04"]


def test_nothing_to_tell_is_said():
    axes = plots.class_report(pd.DataFrame([], columns=COLUMNS)).axes
    assert [text.get_text() for ax in axes for text in ax.texts] == ["nothing to draw", "nothing to draw"]
