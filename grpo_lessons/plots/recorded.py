"""Figures of the results of recorded studies: several labels (methods), settings and seeds at once."""

import pandas as pd

from grpo_lessons.methods import METHODS
from grpo_lessons.plots.style import GREY, PALETTE, PURPLE, colour, label_lines, new_axes, new_grid, title
from grpo_lessons.pooled import pooled

SPARE = (PURPLE, "#882255", "#332288", "#999933")


def accuracy_by_setting(
    study, column="accuracy", *, xlabel: str, ylabel="held-out accuracy (share right)", settings=None
):
    """Mean over the seeds with its 95 % interval, one line a label, one place a setting; a small dot for each seed.

    What to see: whether the lines differ by more than their intervals and their dots do.

    study: a Recorded. column: a share in its results. settings: their order (default: the study's). Returns a Figure.
    """
    table, inks = pooled(study, column), label_inks(study)
    places = {setting: i for i, setting in enumerate(settings or dict.fromkeys(study.results["setting"]))}
    fig, ax = new_axes(size=(8, 4.4))
    for i, (label, ink) in enumerate(inks.items()):
        shift = 0.05 * (i - (len(inks) - 1) / 2)
        rows, seeds = (t[t["label"] == label] for t in (table, study.results))
        rows = rows.sort_values("setting", key=lambda column: column.map(places))
        x = rows["setting"].map(places) + shift
        bars = [rows["mean"] - rows["low"], rows["high"] - rows["mean"]]
        ax.errorbar(x, rows["mean"], yerr=bars, fmt="none", color=ink, capsize=3)
        ax.plot(x, rows["mean"], color=ink, marker="o", linewidth=1.2)
        ax.plot(seeds["setting"].map(places) + shift - 0.025, seeds[column], ".", color=ink, markersize=5)
        ax.plot([len(places) - 0.9], rows["mean"].iloc[-1:], linestyle="none", color=ink, label=label_name(label))
    ax.set(xlabel=xlabel, ylabel=ylabel, xlim=(-0.4, len(places) - 0.6), ylim=(-0.02, 1.02))
    ax.set_xticks(list(places.values()), [plain(s) for s in places])
    label_lines(ax)
    return fig


def accuracy_by_label(study, setting, column="accuracy", *, xlabel="held-out accuracy (share right)"):
    """One row a label: mean over the seeds with its 95 % interval, and a small dot for each seed.

    What to see: two labels differ where neither their intervals nor their dots overlap.

    study: a Recorded. setting: one of its settings. column: a share in its results. Returns a Figure.
    """
    table, inks = pooled(study, column).set_index(["label", "setting"]), label_inks(study)
    inks = {label: ink for label, ink in inks.items() if (label, setting) in table.index}
    fig, ax = new_axes(size=(8, 0.9 + 0.5 * len(inks)))
    for y, (label, ink) in enumerate(inks.items()):
        row = table.loc[(label, setting)]
        seeds = study.results[(study.results["label"] == label) & (study.results["setting"] == setting)][column]
        bars = [[row["mean"] - row["low"]], [row["high"] - row["mean"]]]
        ax.errorbar(row["mean"], y, xerr=bars, fmt="o", color=ink, capsize=3)
        ax.plot(seeds, [y + 0.25] * len(seeds), ".", color=ink, markersize=6)
    ax.set_yticks(range(len(inks)), [label_name(label) for label in inks])
    ax.set(xlim=(-0.02, 1.02), ylim=(len(inks) - 0.4, -0.6), xlabel=xlabel)
    ax.grid(axis="x", color=GREY, alpha=0.2)
    return fig


def methods_overview(study):
    """Held-out accuracy, completion length and entropy over training, a thick line a method and a thin one a seed.

    What to see: the methods differ by less than their seeds do; answers first shrink, then grow.

    study: a Recorded with one setting, whose curves have held_out where it was evaluated. Returns a Figure.
    """
    columns = {
        "held_out": "held-out accuracy (share right)",
        "length_mean": "completion length (tokens)",
        "entropy": "entropy (nats a token)",
    }
    fig, (axes,) = new_grid(1, len(columns), size=(11, 3.4))
    for ax, (column, ylabel) in zip(axes, columns.items(), strict=True):
        for label, ink in label_inks(study).items():
            runs = study.curves[study.curves["label"] == label].dropna(subset=[column])
            if column == "held_out":
                runs = pd.concat([_untrained(study, label), runs])
            for _, run in runs.groupby("seed"):
                ax.plot(run["step"], run[column], color=ink, linewidth=0.6, alpha=0.4)
            mean = runs.groupby("step")[column].mean()
            ax.plot(mean.index, mean, color=ink, linewidth=2, label=label_name(label))
        ax.set(xlabel="step (32 questions x 8 completions)", ylabel=ylabel)
        ax.set_ylim(bottom=0)
    label_lines(axes[-1])
    return fig


def _untrained(study, label):
    """The evaluation before training as step 0 of each seed's held-out curve."""
    results = study.results[study.results["label"] == label]
    return results[["seed"]].assign(step=0, held_out=results["accuracy_before"])


def train_and_held_out(study, settings):
    """Accuracy on the problems that were trained on (hollow) and on held-out ones (filled), joined by a line.

    What to see: the length of the line is the gap of generalisation; whiskers are 95 % intervals over seeds and
    problems. One panel a setting.

    Returns a Figure.
    """
    inks = label_inks(study)
    tables = {column: pooled(study, column).set_index(["label", "setting"]) for column in ("train", "accuracy")}
    size = (min(10, 2 + 2.7 * len(settings)), 0.9 + 0.45 * len(inks))
    fig, axes = new_grid(1, len(settings), size=size, sharex=True, sharey=True)
    for ax, setting in zip(axes[0], settings, strict=True):
        for y, (label, ink) in enumerate(inks.items()):
            if (label, setting) not in tables["train"].index:
                continue
            seen, unseen = (tables[column].loc[(label, setting)] for column in ("train", "accuracy"))
            ax.plot([seen["mean"], unseen["mean"]], [y, y], color=ink, linewidth=2, alpha=0.5)
            for row, face, shift in ((seen, "white", -0.14), (unseen, ink, 0.14)):
                ax.plot([row["low"], row["high"]], [y + shift] * 2, color=ink, linewidth=1)
                ax.plot(row["mean"], y, "o", mfc=face, mec=ink, zorder=3)
        ax.set_title(plain(setting), fontsize=10)
        ax.set_xlabel("accuracy (share right)")
        ax.grid(axis="x", color=GREY, alpha=0.2)
    axes[0, 0].set_yticks(range(len(inks)), [label_name(label) for label in inks])
    axes[0, 0].set_ylim(len(inks) - 0.5, -0.5)
    return fig


def label_inks(study) -> dict[str, str]:
    """Label -> colour, in the order of the study: a method's own, or one of the spare ones."""
    spare, labels = iter((*SPARE, *PALETTE)), dict.fromkeys(study.results["label"])
    return {label: colour(label) if colour(label) != GREY else next(spare) for label in labels}


def label_name(label: str) -> str:
    """The short name of a method, the registry's title for a rarer one, any other label as it is."""
    known = title(label) != label or label not in METHODS
    return title(label) if known else METHODS[label].title


def plain(setting: str) -> str:
    """1e-03 as 0.001; any other setting as it is."""
    try:
        return f"{float(setting):g}"
    except ValueError:
        return setting
