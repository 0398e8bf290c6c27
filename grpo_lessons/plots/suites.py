"""What a test suite pays, beside what is right."""

from grpo_lessons.plots.style import BLUE, GREY, label_lines, new_grid


def paid_and_right(runs: dict):
    """Mean reward and share of right completions over training, one panel a run, the same limits.

    What to see: as long as the two lines lie on each other, the suite pays for what is right and nothing else.

    runs: label -> RunLog, or anything with `table` that has step, reward_mean and accuracy. Returns a Figure.
    """
    fig, (axes,) = new_grid(1, len(runs), size=(1.2 + 3.4 * len(runs), 3.4), sharex=True, sharey=True)
    for ax, (label, run) in zip(axes, runs.items(), strict=True):
        table = run.table
        ax.plot(table["step"], table["reward_mean"], color=GREY, linewidth=2, linestyle="--", label="paid")
        ax.plot(table["step"], table["accuracy"], color=BLUE, linewidth=2, label="right")
        ax.set_title(f"paid for: {label}", fontsize=10)
        ax.set(xlabel="step (one rollout each)", ylim=(-0.02, 1.02))
        label_lines(ax)
    axes[0].set_ylabel("share of completions")
    return fig
