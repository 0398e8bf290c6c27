import pandas as pd
import pytest

from grpo_lessons import plots
from grpo_lessons.plots.tool_use import READ, WRITTEN


def test_characters_stand_on_the_colour_of_who_wrote_them():
    completion = {"title": "right", "tokens": ["<call>", "M", "<result>", "x"], "mask": [1.0, 1.0, 0.0, 0.0]}
    (ax,) = plots.who_wrote([completion]).axes
    title, *texts = (text.get_text() for text in ax.texts)
    assert (title, "".join(texts)) == ("right", "<call>M<result>x")
    import matplotlib.colors as colours

    kinds = [colours.to_hex(patch.get_facecolor()).upper() for patch in ax.patches]
    assert kinds == [WRITTEN] * 7 + [READ] * 9


def test_a_long_completion_goes_on_in_the_next_line():
    completion = {"title": "long", "tokens": ["a"] * 100, "mask": [1.0] * 100}
    (ax,) = plots.who_wrote([completion]).axes
    heights = {text.get_position()[1] for text in ax.texts[1:]}
    assert len(heights) == 2


def test_thick_lines_are_the_mean_of_the_seeds():
    tables = [pd.DataFrame({"step": [1, 2], "note": [low, 0.0], "no note": [1.0, 1.0]}) for low in (0.2, 0.6)]
    left, right = plots.search_over_training({"cost 0": tables, "cost 0.2": tables}, window=1).axes
    by_name = {line.get_label(): line.get_ydata() for line in left.get_lines()}
    assert by_name["note"].tolist() == pytest.approx([40.0, 0.0])
    assert by_name["no note"].tolist() == [100.0, 100.0]
    assert (left.get_title(), right.get_title()) == ("cost 0", "cost 0.2")
