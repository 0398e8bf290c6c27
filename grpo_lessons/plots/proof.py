"""Figures of the lessons on real models: dead groups before training, and the recorded SmolLM2 study."""

from grpo_lessons.plots.style import GREY, INK, PALETTE, VERMILLION, label_lines, new_axes, new_grid


def predicted_dead_groups(table, *, limit: float = 0.5):
    """Predicted share of dead groups against the group size, one line a level of difficulty.

    What to see: a level is worth training on from where its line is below the dashed one.

    table: of `difficulty.survey`. Returns a Figure.
    """
    sizes = sorted(int(name.removeprefix("dead_")) for name in table if name.startswith("dead_"))
    fig, ax = new_axes(size=(7, 3.8))
    for row, ink in zip(table.to_dict("records"), PALETTE * len(table), strict=False):
        label = f"{row['level']} ({row['pass_rate']:.0%} right)"
        ax.plot(sizes, [row[f"dead_{size}"] for size in sizes], marker="o", color=ink, label=label)
    ax.axhline(limit, color=INK, linestyle="--", linewidth=0.8)
    ax.set(xscale="log", ylim=(-0.03, 1.05), xlabel="group size (completions a problem)")
    ax.set_ylabel("dead groups (predicted share)")
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.minorticks_off()
    label_lines(ax)
    return fig


STUDY_LABELS = {"bare": ("question alone", VERMILLION), "shown": ("two examples", PALETTE[0])}


def smollm2_study(study):
    """The recorded SmolLM2 study: answer blocks and right answers while training, held-out accuracy before and after.

    What to see: without a reward to begin with nothing moves. After two examples the layout (dashed) comes first, and
    the right answers with it; on the right the two intervals are apart.

    study: `load_recorded("smollm2")`. Returns a Figure.
    """
    fig, axes = new_grid(1, 2, size=(10.5, 3.8))
    curve, ends = axes[0]
    for y, (label, (name, ink)) in enumerate(STUDY_LABELS.items()):
        run = study.curves[study.curves["label"] == label]
        block = 1 - run["reason_no_answer"]
        curve.plot(run["step"], block, marker="o", markersize=3, linestyle="--", color=ink, label=f"{name}: a block")
        curve.plot(run["step"], run["accuracy"], marker="o", markersize=3, color=ink, label=f"{name}: right")
        row = study.results.set_index("label").loc[label]
        for when, face, shift in (("before", "white", -0.15), ("after", ink, 0.15)):
            ends.plot([row[f"low_{when}"], row[f"high_{when}"]], [y + shift] * 2, color=ink, linewidth=1.2)
            ends.plot(row[f"accuracy_{when}"], y + shift, "o", mfc=face, mec=ink, zorder=3)
            ends.annotate(
                when, (row[f"high_{when}"], y + shift), (6, 0), textcoords="offset points", va="center", size=9
            )
    curve.set(xlabel="step", ylabel="completions (share)", ylim=(-0.03, 1.03))
    label_lines(curve)
    ends.set(xlim=(-0.03, 1.15), ylim=(1.5, -0.5), xlabel="held-out accuracy (share right, 95 % interval)")
    ends.set_yticks([0, 1], [name for name, _ in STUDY_LABELS.values()])
    ends.grid(axis="x", color=GREY, alpha=0.2)
    return fig
