from types import SimpleNamespace

import pandas as pd

from grpo_lessons import plots


def run(paid, right):
    return SimpleNamespace(table=pd.DataFrame({"step": [1, 2], "reward_mean": paid, "accuracy": right}))


def test_each_panel_shows_what_its_run_paid_and_what_was_right_with_the_same_limits():
    fig = plots.paid_and_right(
        {"shown examples": run([0.3, 0.9], [0.2, 0.1]), "all tests": run([0.2, 0.7], [0.2, 0.7])}
    )
    first, second = fig.axes
    assert [line.get_ydata().tolist() for line in first.lines] == [[0.3, 0.9], [0.2, 0.1]]
    assert {text.get_text() for text in second.texts} == {"paid", "right"}
    assert first.get_ylim() == second.get_ylim()
    assert "shown examples" in first.get_title()
