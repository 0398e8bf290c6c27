"""The reader's guesses beside what happened."""

import numpy as np
import pandas as pd

from grpo_lessons.plots.style import BLUE, GREY, INK, new_axes

NO_GUESS = (
    'no guess to draw yet: write one in place of\nthe dots of a check.predict("...", ...) cell and run the lesson'
)


def calibration(predictions):
    """Each guess of the course as a dot: guess divided by outcome; twice and half are equally far from right.

    What to see: dots left of the line were too low, right of it too high; a lean to one side is a habit.

    predictions: the table from `check.predictions()` (columns key, guess, actual). Guesses that are not
    numbers, or not above zero, have no ratio and are counted in the title. Without any guess the figure says how to
    write one down. Returns a Figure.
    """
    table = pd.DataFrame(predictions, columns=["key", "guess", "actual"])
    numbers = table[["guess", "actual"]].apply(pd.to_numeric, errors="coerce")
    drawn = table[(numbers > 0).all(axis=1)]
    ratio = np.log2((numbers["guess"] / numbers["actual"])[drawn.index].astype(float))
    fig, ax = new_axes(size=(7, 1.4 + 0.32 * max(len(drawn), 3)))
    ax.axvline(0, color=INK, linewidth=1)
    ax.scatter(ratio, range(len(drawn)), color=BLUE, zorder=3)
    ax.hlines(range(len(drawn)), 0, ratio, color=BLUE, linewidth=1)
    ax.set_yticks(range(len(drawn)), drawn["key"])
    reach = max(1.5, float(ratio.abs().max()) + 0.5) if len(drawn) else 1.5
    ticks = range(-int(reach), int(reach) + 1)
    ax.set_xticks(ticks, ["right" if t == 0 else f"{2 ** abs(t)}x {'high' if t > 0 else 'low'}" for t in ticks])
    ax.set(xlim=(-reach, reach), xlabel="guess divided by outcome (log scale)", ylabel="guess")
    ax.set_title(f"{len(drawn)} guesses drawn, {len(table) - len(drawn)} without a ratio", fontsize=10, color=GREY)
    if len(drawn) == 0:
        ax.set_yticks([])
        ax.text(0, 0, NO_GUESS, ha="center", va="center", color=INK, bbox={"fc": "white", "ec": "none", "pad": 6})
        ax.set_ylim(-1, 1)
    return fig
