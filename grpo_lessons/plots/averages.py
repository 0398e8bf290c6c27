"""Figures of lesson 05: the weight of a token, and the weight of a question."""

import torch

from grpo_lessons.advantages import group_advantages
from grpo_lessons.plots.credit import UP_DOWN
from grpo_lessons.plots.style import BLUE, INK, PURPLE, new_axes, new_grid


def token_weights(weights: dict[str, torch.Tensor], lengths: dict[str, int]):
    """The weight of every token of a few answers, one panel for each average.

    What to see: at ratio 1 all tokens of a row are alike; how the rows compare is what the averages disagree
    about. A white token is in the answer and gets no push: it was clipped.

    weights: title -> (B, T). lengths: name of each of the B answers -> its tokens. Colours and the height of a
    panel are the same for all. Returns a Figure.
    """
    fig, axes = new_grid(len(weights), 1, size=(8, 0.5 + 1.05 * len(weights)))
    limit = max(float(w.abs().max()) for w in weights.values())
    for ax, (name, weight) in zip(axes.flat, weights.items(), strict=True):
        ax.set_axis_off()
        ax.set(xlim=(-1.6, max(lengths.values())), ylim=(len(lengths) - 0.4, -0.55))
        ax.set_title(name, loc="left", fontsize=10, fontweight="bold", color=INK)
        for row, (answer, length) in enumerate(lengths.items()):
            ax.text(-0.1, row, answer, ha="right", va="center", fontsize=9, color=INK)
            for column, value in enumerate(weight[row, :length].tolist()):
                _token(ax, row, column, value, limit)
    return fig


def _token(ax, row: int, column: int, value: float, limit: float) -> None:
    face = UP_DOWN(0.5 + 0.5 * value / limit)
    ink = "white" if abs(value) > 0.6 * limit else INK
    ax.fill_between([column + 0.04, column + 0.96], row - 0.4, row + 0.4, color=face, ec="#AAAAAA", lw=0.6)
    number = f"{value:+.3f}" if value else "0"
    ax.text(column + 0.5, row, number, ha="center", va="center", fontsize=8, color=ink)


def question_push(group_size: int = 8):
    """How hard a whole group pushes, against the pass rate of its question, with and without the division by std.

    What to see: dots are groups of `group_size` with 0, 1, 2, ... right answers. Both curves are 0 at the ends and
    highest in the middle; the one with the division stays high much nearer to the ends.

    Push: the sum of the |advantages| over the group, in percent of that of a half-right group. Returns a Figure.
    """
    fig, ax = new_axes(size=(7, 3.8))
    right = torch.arange(group_size + 1)
    rewards = (torch.arange(group_size) < right[:, None]).float()
    curves = (("sample", "divided by std", BLUE, (-2, 3), "right"), ("none", "centred only", PURPLE, (2, -4), "left"))
    for std, label, ink, offset, side in curves:
        push = group_advantages(rewards, std=std).abs().sum(1)
        push = 100 * push / push[group_size // 2]
        ax.plot(100 * right / group_size, push, color=ink, marker="o", markersize=5, linewidth=1.5)
        place = 100 * float(right[2]) / group_size + offset[0], float(push[2]) + offset[1]
        ax.text(*place, label, color=ink, fontsize=9, ha=side)
    ax.set(xlabel="pass rate of the question (%)", ylabel="push of the group (% of a half-right one)")
    ax.set(xlim=(-2, 102), ylim=(0, 106))
    return fig
