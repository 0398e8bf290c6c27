"""How the policy's ways of answering change while it trains."""

from grpo_lessons.plots.style import GREY, INK, PALETTE, new_axes

PREFIX = "strategy_"
SMALLEST = 8  # percent; a thinner band has no room for its name


def strategy_shares(run, *, window: int = 1):
    """Stacked shares of the strategies (columns `strategy_*` of the run's table) over the steps.

    What to see: which way of answering grows at whose expense. A change of length is often
    a change of this mix.

    run: a RunLog, or anything with `table`. window: steps in the running mean. Returns a Figure.
    """
    columns = [name for name in run.table.columns if str(name).startswith(PREFIX)]
    if not columns:
        raise ValueError(f"the run's table has no column that starts with {PREFIX!r}; log strategies while training")
    shares = 100 * run.table[columns].rolling(window, min_periods=1).mean()
    steps = run.table["step"]
    fig, ax = new_axes(size=(7.5, 4.2))
    ax.stackplot(steps, shares.to_numpy().T, colors=PALETTE * 3, alpha=0.85, edgecolor="white", linewidth=0.5)
    ax.set(xlabel="step (one rollout each)", ylabel="share of completions (%)", ylim=(0, 100))
    ax.set_xlim(steps.min(), steps.max())
    tops = shares.cumsum(axis=1)
    small = [name.removeprefix(PREFIX) for name in columns if shares[name].max() < SMALLEST]
    if small:
        ax.set_title(f"without a label, always below {SMALLEST} %: {', '.join(small)}", fontsize=9, color=GREY)
    for name in columns:
        here = shares[name].idxmax()
        if shares[name][here] >= SMALLEST:
            middle = tops[name][here] - shares[name][here] / 2
            side = _side(steps[here], steps.min(), steps.max())
            words = name.removeprefix(PREFIX).replace("_", " ")
            box = {"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1.5}
            ax.text(steps[here], middle, f" {words} ", color=INK, fontsize=9, ha=side, va="center", bbox=box)
    return fig


def _side(x: float, low: float, high: float) -> str:
    """Text near the left edge starts there, near the right edge ends there."""
    place = (x - low) / max(high - low, 1)
    return "left" if place < 0.2 else "right" if place > 0.8 else "center"
