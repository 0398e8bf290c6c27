"""Figures about groups and their advantages."""

import numpy as np

from grpo_lessons.advantages import dead_group_probability
from grpo_lessons.plots.style import PALETTE, new_axes


def dead_groups(group_sizes=(2, 4, 8, 16)):
    """Probability that all completions of a group get the same reward, against the pass rate.

    What to see: a group of two is dead at least half of the time, whatever the question; larger groups die
    only on questions that are nearly always right or nearly always wrong.

    group_sizes: completions per group, one curve each. Returns a Figure.
    """
    fig, ax = new_axes()
    rates = np.linspace(0, 1, 201)
    for size, ink in zip(group_sizes, PALETTE * 5, strict=False):
        dead = [dead_group_probability(float(rate), size) for rate in rates]
        ax.plot(100 * rates, [100 * d for d in dead], color=ink, linewidth=2)
        paper = {"fc": "white", "ec": "none", "pad": 1}
        ax.text(8, 100 * dead[16], f"G = {size}", color=ink, fontsize=9, ha="center", va="center", bbox=paper)
    ax.set(xlabel="pass rate of the question (%)", ylabel="dead groups (%)", xlim=(0, 100), ylim=(0, 102))
    return fig
