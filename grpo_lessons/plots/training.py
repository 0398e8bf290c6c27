"""Figures of training runs, drawn from the tables of a RunLog."""

import pandas as pd

from grpo_lessons.plots.style import GREY, INK, PALETTE, colour, label_lines, new_axes, new_grid, title


def training_panel(run, *, method: str = "grpo"):
    """One run in four pictures.

    What to see: the held-out accuracy (with its 95 % interval) should follow the reward; where the two part,
    the verifier is being gamed. Length is drawn for all and for finished completions: a gap means truncation.
    The log-ratio band shows how far the policy moved from the one that sampled, before each clip.

    run: a RunLog, or anything with `table` and `evals`. Returns a Figure.
    """
    fig, axes = new_grid(2, 2, size=(9, 6), sharex=True)
    for ax, draw in zip(axes.flat, PANELS.values(), strict=True):
        draw(ax, run, colour(method))
    for ax in axes[1]:
        ax.set_xlabel("step (one rollout each)")
    return fig


def methods_panel(runs: dict):
    """Methods side by side: one column each, one row per quantity, the same limits along a row.

    What to see: compare along a row; the axes do not change between columns, so a lower curve is lower.

    runs: method name -> RunLog. Returns a Figure.
    """
    fig, axes = new_grid(4, len(runs), size=(3.2 * len(runs) + 0.8, 9), sharex=True, sharey="row")
    for column, (name, run) in enumerate(runs.items()):
        for ax, draw in zip(axes[:, column], PANELS.values(), strict=True):
            draw(ax, run, colour(name))
            if column:
                ax.set_ylabel("")
            ax.set_title(ax.get_title() if ax is not axes[0, column] else title(name), fontsize=10)
        axes[-1, column].set_xlabel("step")
    return fig


def compare_curves(runs: dict, column: str, *, ylabel: str | None = None):
    """One quantity of several methods in one picture, a thin line per seed and a thick one for their mean.

    What to see: whether the methods differ by more than their seeds do.

    runs: label -> RunLog or list of RunLogs (one per seed); a method's name as label gets its fixed colour.
    column: a column of `RunLog.table`, or "held_out" for the held-out accuracy. Returns a Figure.
    """
    fig, ax = new_axes(size=(7.5, 4.2))
    spare = iter(PALETTE * 10)
    for label, logs in runs.items():
        ink = colour(label) if colour(label) != GREY else next(spare)
        series = [_series(log, column) for log in (logs if isinstance(logs, list | tuple) else [logs])]
        for one in series:
            ax.plot(one.index, one, color=ink, linewidth=0.8, alpha=0.45 if len(series) > 1 else 0)
        mean = pd.concat(series, axis=1).mean(axis=1)
        ax.plot(mean.index, mean, color=ink, linewidth=2, label=title(label))
    ax.set(xlabel="step (one rollout each)", ylabel=ylabel or column.replace("_", " "))
    label_lines(ax)
    return fig


def _series(log, column: str) -> pd.Series:
    if column == "held_out":
        evals = held_out(log)
        return evals.set_index("step")["accuracy"] if len(evals) else pd.Series(dtype=float)
    if column not in log.table:
        raise ValueError(f"the run has no column {column!r}; it has {', '.join(map(str, log.table.columns))}")
    return log.table.set_index("step")[column]


def held_out(run) -> pd.DataFrame:
    """The evaluations of a run on held-out problems, or on dev problems where there are none."""
    evals = run.evals
    if evals.empty:
        return evals
    split = "held_out" if (evals["split"] == "held_out").any() else "dev"
    return evals[evals["split"] == split]


def _accuracy(ax, run, ink: str) -> None:
    evals = held_out(run)
    ax.set(ylabel="accuracy (share right)", ylim=(-0.02, 1.02))
    if evals.empty:
        ax.plot(run.table["step"], run.table["accuracy"], color=ink, linewidth=1.5)
        ax.set_title("Accuracy of the rollouts")
        return
    below, above = evals["accuracy"] - evals["low"], evals["high"] - evals["accuracy"]
    ax.errorbar(evals["step"], evals["accuracy"], yerr=[below, above], color=ink, marker="o", capsize=3)
    ax.set_title(f"Accuracy on {evals['split'].iloc[0].replace('_', '-')} problems, 95 % interval")


def _reward(ax, run, ink: str) -> None:
    ax.plot(run.table["step"], run.table["reward_mean"], color=ink, linewidth=1.5)
    ax.set(ylabel="reward (mean per completion)", title="Reward while training")


def _length(ax, run, ink: str) -> None:
    table = run.table
    ax.plot(table["step"], table["length_mean"], color=ink, linewidth=1.5, label="all")
    ax.plot(table["step"], table["length_finished"], color=GREY, linewidth=1.5, linestyle="--", label="finished")
    ax.set(ylabel="length (tokens)", title="Completion length")
    label_lines(ax)


def _log_ratio(ax, run, ink: str) -> None:
    table, x = run.table, run.table["step"]
    ax.fill_between(x, table["log_ratio_min"], table["log_ratio_max"], color=ink, alpha=0.2, linewidth=0)
    if "log_ratio_q01" in table:
        ax.fill_between(x, table["log_ratio_q01"], table["log_ratio_q99"], color=ink, alpha=0.6, linewidth=0)
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set(ylabel="log ratio (nats)", title="Log ratio: extremes, 1-99 % (dark)")


PANELS = {"accuracy": _accuracy, "reward": _reward, "length": _length, "log_ratio": _log_ratio}
