"""Figures of the training curves of recorded studies."""

from grpo_lessons.plots.recorded import label_inks, label_name, plain
from grpo_lessons.plots.style import INK, label_lines, new_grid
from grpo_lessons.spikes import spikes


def log_ratio_bands(study, settings):
    """How far tokens moved between sampling and each update: one column a label, one row a setting.

    What to see: the pale band holds all tokens (its edges are the mean over seeds of each step's extremes, thin lines
    are single seeds), the dark one 98 of 100 (of the step's last update). The limits are the same along a row.

    study: a Recorded whose curves have log_ratio_min, _max, _q01, _q99. Returns a Figure.
    """
    inks = label_inks(study)
    size = (min(10, 1 + 3.2 * len(inks)), 0.7 + 2.6 * len(settings))
    fig, axes = new_grid(len(settings), len(inks), size=size, sharex=True, sharey="row")
    for row, setting in zip(axes, settings, strict=True):
        for ax, (label, ink) in zip(row, inks.items(), strict=True):
            runs = _runs(study, label, setting)
            for _, run in runs.groupby("seed"):
                for edge in ("log_ratio_min", "log_ratio_max"):
                    ax.plot(run["step"], run[edge], color=ink, linewidth=0.6, alpha=0.5)
            mean = runs.groupby("step")[["log_ratio_min", "log_ratio_max", "log_ratio_q01", "log_ratio_q99"]].mean()
            ax.fill_between(mean.index, mean["log_ratio_min"], mean["log_ratio_max"], color=ink, alpha=0.2, linewidth=0)
            ax.fill_between(mean.index, mean["log_ratio_q01"], mean["log_ratio_q99"], color=ink, alpha=0.7, linewidth=0)
            ax.axhline(0, color=INK, linewidth=0.8)
            ax.set_title(f"{label_name(label)}, {plain(setting)}", fontsize=10)
        row[0].set_ylabel("log ratio (nats)")
    for ax in axes[-1]:
        ax.set_xlabel("step (one rollout each)")
    return fig


def recorded_curves(study, columns: dict[str, str], settings):
    """Columns of the training curves: one panel for each column (rows) and setting; a thin line a seed.

    What to see: whether the thick lines (means over the seeds) differ by more than the thin ones do. Gradient norms
    stand on a logarithmic axis, with gaps where they are 0.

    columns: name in the curves -> name of the axis with its unit. Returns a Figure.
    """
    inks = label_inks(study)
    size = (0.9 + 4.2 * len(settings), 0.5 + 2.7 * len(columns))
    fig, axes = new_grid(len(columns), len(settings), size=size, sharex=True, sharey="row")
    for row, (column, ylabel) in zip(axes, columns.items(), strict=True):
        for ax, setting in zip(row, settings, strict=True):
            for label, ink in inks.items():
                runs = _runs(study, label, setting)
                if runs.empty:
                    continue
                if column.startswith("grad_norm"):
                    runs = runs.assign(**{column: runs[column].where(runs[column] > 0)})
                for _, run in runs.groupby("seed"):
                    ax.plot(run["step"], run[column], color=ink, linewidth=0.6, alpha=0.4)
                mean = runs.groupby("step")[column].mean()
                ax.plot(mean.index, mean, color=ink, linewidth=2, label=label_name(label))
            ax.set_title(plain(setting), fontsize=10)
            ax.set_yscale("log" if column.startswith("grad_norm") else "linear")
        row[0].set_ylabel(ylabel)
        label_lines(row[-1])
    for ax in axes[-1]:
        ax.set_xlabel("step (one rollout each)")
    return fig


def gradient_spikes(study, labels, settings, *, factor=2.0, window=10):
    """Largest gradient norm of each step, all seeds; a mark where it is a spike by `spikes.spikes`.

    What to see: how often a curve leaves its own recent level. The axes are logarithmic and the same in all panels;
    a gap is a step without gradient, since all of its groups were dead.

    Returns a Figure with one row a label and one column a setting.
    """
    inks = label_inks(study)
    size = (0.9 + 2.9 * len(settings), 0.5 + 1.8 * len(labels))
    fig, axes = new_grid(len(labels), len(settings), size=size, sharex=True, sharey=True)
    for row, label in zip(axes, labels, strict=True):
        for ax, setting in zip(row, settings, strict=True):
            total = 0
            for _, run in _runs(study, label, setting).groupby("seed"):
                norms = run["grad_norm_max"].to_numpy()
                found = spikes(norms, factor=factor, window=window)
                ax.plot(run["step"], run["grad_norm_max"].where(norms > 0), color=inks[label], linewidth=0.9, alpha=0.7)
                ax.plot(run["step"][found], norms[found], "v", color=INK, markersize=5)
                total += int(found.sum())
            ax.set_yscale("log")
            ax.set_title(f"{label_name(label)}, {plain(setting)}: {total}", fontsize=9)
        row[0].set_ylabel("gradient norm")
    for ax in axes[-1]:
        ax.set_xlabel("step")
    return fig


def _runs(study, label: str, setting: str):
    curves = study.curves
    return curves[(curves["label"] == label) & (curves["setting"] == setting)].sort_values("step")
