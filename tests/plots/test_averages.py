import pytest
import torch

from grpo_lessons import plots


def test_each_token_shows_its_weight_a_clipped_one_0_and_padding_nothing():
    weights = {"GRPO": torch.tensor([[0.25, 0.0, 0.0], [-0.0625, -0.0625, -0.0625]])}
    (ax,) = plots.token_weights(weights, {"right": 2, "wrong": 3}).axes
    written = [text.get_text() for text in ax.texts]
    assert written == ["right", "+0.250", "0", "wrong", "-0.062", "-0.062", "-0.062"]


def test_the_push_of_a_group_of_eight_with_one_right_answer():
    """Centred: 7/8 + 7/8 = 1.75 against 4. By std: sqrt(1/8 * 7/8) against 1/2, since sum |A| is 2 G p (1-p) / std."""
    (ax,) = plots.question_push(8).axes
    divided, centred = (line.get_ydata() for line in ax.get_lines())
    assert centred[1] == pytest.approx(43.75, abs=0.01)
    assert divided[1] == pytest.approx(100 * (7 / 64) ** 0.5 / 0.5, abs=0.01)
    assert (float(divided[0]), float(divided[8]), float(centred[4])) == (0, 0, 100)
