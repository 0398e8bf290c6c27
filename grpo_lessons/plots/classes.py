"""A class before and after, and its marks."""

import pandas as pd

from grpo_lessons.plots.style import BLUE, GREY, INK, new_grid


def class_report(table: pd.DataFrame):
    """Left: quizzes, hollow before and filled after. Right: assignments. Means with their 95 % intervals.

    What to see: a lesson moved the class where the two intervals are apart; where only one mark stands, the class sat
    once.

    table: of `workshop.report.rows` (columns what, name, when, share, low, high); rows without a share are not drawn.
    Returns a Figure.
    """
    told = table[table["share"].notna() & (table["when"] != "difference")]
    quizzes, marks = told[told["what"] == "quiz"], told[told["what"] == "assignment"]
    rows = max(quizzes["name"].nunique(), marks["name"].nunique(), 2)
    fig, axes = new_grid(1, 2, size=(10, 1.4 + 0.45 * rows))
    _rows(axes[0, 0], quizzes, "quizzes: right answers (mean share, 95 % interval)", "lesson")
    _rows(axes[0, 1], marks, "assignments: points (mean share, 95 % interval)", "")
    return fig


def _rows(ax, rows: pd.DataFrame, xlabel: str, word: str) -> None:
    names = list(dict.fromkeys(rows["name"]))
    paired = rows.groupby("name")["when"].transform("nunique") == 2
    for row, two in zip(rows.itertuples(), paired, strict=True):
        y = names.index(row.name) + (0.16 if row.when == "after" else -0.16) * two
        ax.plot([row.low, row.high], [y, y], color=BLUE, linewidth=1.2)
        ax.plot(row.share, y, "o", mfc="white" if row.when == "before" else BLUE, mec=BLUE, zorder=3)
        label = f"{row.when} {row.share:.0%}".strip()
        side = {"ha": "left", "x": row.high + 0.02} if row.high < 0.75 else {"ha": "right", "x": row.low - 0.02}
        ax.text(side["x"], y, label, ha=side["ha"], va="center", color=INK, fontsize=9)
    ax.set(xlim=(-0.02, 1.02), ylim=(max(len(names), 1) - 0.5, -0.5), xlabel=xlabel)
    ax.set_yticks(range(len(names)), [f"{word} {name}".strip() for name in names])
    ax.grid(axis="x", color=GREY, alpha=0.2)
    ax.grid(axis="y", visible=False)
    if not names:
        ax.text(0.5, 0, "nothing to draw", ha="center", va="center", color=GREY)
