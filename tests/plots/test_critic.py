import pytest

from grpo_lessons import plots

COMPLETION = {
    "title": "right",
    "tokens": ["7", "5", "EOS"],
    "values": [0.5, 0.6, 0.9],
    "outcome": 1.0,
    "advantages": {"lam 1": [0.5, 0.4, 0.1], "lam 0": [0.1, 0.3, -0.1]},
}


def test_the_line_stands_before_each_token_and_the_outcome_after_the_last():
    values, below = plots.critic_view([COMPLETION]).axes
    line, outcome = values.get_lines()
    assert line.get_ydata().tolist() == [0.5, 0.6, 0.9]
    assert (outcome.get_xdata()[0], outcome.get_ydata()[0]) == (3, 1.0)
    assert [label.get_text() for label in below.get_xticklabels()] == ["7", "5", "EOS"]


def test_the_bars_are_the_advantages_and_all_completions_share_their_limits():
    wrong = {**COMPLETION, "tokens": ["6", "EOS"], "values": [0.5, 0.2], "outcome": 0.0}
    wrong["advantages"] = {"lam 1": [-0.5, -0.2]}
    _, first, _, second = plots.critic_view([COMPLETION, wrong]).axes
    heights = [bar.get_height() for bar in first.patches if bar.get_height()]
    assert heights == pytest.approx([0.5, 0.4, 0.1, 0.1, 0.3, -0.1])
    assert first.get_ylim() == second.get_ylim() and first.get_xlim() == second.get_xlim()
