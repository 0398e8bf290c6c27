"""Accuracies with their 95 % intervals, side by side."""

from grpo_lessons.plots.style import GREY, INK, PALETTE, new_axes


def accuracy_intervals(table: dict[str, dict], *, xlabel: str = "accuracy (share right, 95 % interval)"):
    """One row for each thing measured, one mark for each policy, with 95 % intervals; other shares with their xlabel.

    What to see: two marks differ for sure only where their intervals are apart.

    table: row label -> {series label -> EvalReport, or (accuracy, (low, high))}. Returns a Figure.
    """
    series = list(dict.fromkeys(name for row in table.values() for name in row))
    fig, ax = new_axes(size=(7.5, 0.9 + 0.34 * len(table) * max(1, len(series))))
    step = 0.8 / max(1, len(series))
    for place, row in enumerate(table.values()):
        for i, name in enumerate(series):
            if name not in row:
                continue
            accuracy, (low, high) = _numbers(row[name])
            y = place + (i - (len(series) - 1) / 2) * step
            ink = PALETTE[i % len(PALETTE)]
            ax.errorbar(accuracy, y, xerr=[[accuracy - low], [high - accuracy]], fmt="o", color=ink, capsize=3)
            side = ("left", high + 0.015) if high < 0.7 else ("right", low - 0.015)
            ax.text(side[1], y, f"{name}, {accuracy:.0%}", color=INK, fontsize=9, ha=side[0], va="center")
    ax.set(xlim=(-0.02, 1.02), ylim=(len(table) - 0.5, -0.5), xlabel=xlabel)
    ax.set_yticks(range(len(table)), list(table))
    ax.grid(axis="x", color=GREY, alpha=0.2)
    ax.grid(axis="y", visible=False)
    return fig


def _numbers(report) -> tuple[float, tuple[float, float]]:
    return (report.accuracy, report.interval) if hasattr(report, "accuracy") else report
