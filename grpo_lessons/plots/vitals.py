"""The vital signs of one training run: the first figure to draw when a run does not learn."""

from grpo_lessons.plots.style import BLUE, GREY, VERMILLION, label_lines, new_grid
from grpo_lessons.plots.training import held_out


def vital_signs(run, *, among=()):
    """Six small pictures of one run, with the same limits for every run of `among`.

    What to see: signs in pairs. Reward beside held-out accuracy: do they rise together? Dead groups beside both: is
    there still something to rank? Movement beside the gradient norm: does a gradient move the policy, and how far?
    Movement and gradient norm stand on logarithmic axes; a step in which they are exactly 0 is a gap.

    run: a RunLog, or anything with `table` and `evals`. Returns a Figure.
    """
    fig, axes = new_grid(2, 3, size=(10, 4.8), sharex=True)
    for ax, draw in zip(axes.flat, (_reward, _shares, _length, _entropy, _movement, _gradient), strict=True):
        draw(ax, run, among or (run,))
    for ax in axes[1]:
        ax.set_xlabel("step (one rollout each)")
    return fig


def movement(table):
    """How far the policy moved within each rollout: at most 2 % of the last update's |log ratio| are larger."""
    return table[["log_ratio_q01", "log_ratio_q99"]].abs().max(axis=1)


def vital_words(run) -> str:
    """What `vital_signs` shows, in words: means over the first and over the last five steps."""
    table, evals = run.table, held_out(run)
    table = table.assign(movement=movement(table))
    parts = [
        f"{name} {_number(table[column].iloc[:5].mean())} to {_number(table[column].iloc[-5:].mean())}"
        for column, name in _WORDS.items()
    ]
    exam = f"; held-out accuracy {evals['accuracy'].iloc[0]:.2f} to {evals['accuracy'].iloc[-1]:.2f}"
    return "From the first to the last five steps: " + "; ".join(parts) + (exam if len(evals) else "") + "."


_WORDS = {
    "reward_mean": "reward",
    "dead_groups": "share of dead groups",
    "truncated": "share of truncated completions",
    "length_mean": "tokens a completion",
    "entropy": "entropy in nats a token",
    "movement": "movement within a rollout in nats",
    "grad_norm_max": "largest gradient norm",
}


def _number(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"


def _reward(ax, run, among) -> None:
    evals = held_out(run)
    top = max(1.0, *(log.table["reward_mean"].max() for log in among))
    ax.plot(run.table["step"], run.table["reward_mean"], color=GREY, linewidth=1.5, label="reward")
    if len(evals):
        bars = [evals["accuracy"] - evals["low"], evals["high"] - evals["accuracy"]]
        ax.errorbar(evals["step"], evals["accuracy"], yerr=bars, fmt="none", color=BLUE, capsize=2)
        ax.plot(evals["step"], evals["accuracy"], "o-", color=BLUE, linewidth=1, markersize=4, label="held out")
    ax.set(ylim=(-0.03, 1.05 * top), ylabel="points, share right", title="Reward; held-out accuracy")
    label_lines(ax)


def _shares(ax, run, among) -> None:
    for column, name, ink in (("dead_groups", "dead", VERMILLION), ("truncated", "truncated", BLUE)):
        ax.plot(run.table["step"], run.table[column], color=ink, linewidth=1.5, label=name)
    ax.set(ylim=(-0.03, 1.05), ylabel="share", title="Dead groups; truncated")
    label_lines(ax)


def _length(ax, run, among) -> None:
    ax.plot(run.table["step"], run.table["length_mean"], color=BLUE, linewidth=1.5)
    ax.set(ylim=(0, 1.05 * max(log.table["length_mean"].max() for log in among)), ylabel="tokens", title="Length")


def _entropy(ax, run, among) -> None:
    ax.plot(run.table["step"], run.table["entropy"], color=BLUE, linewidth=1.5)
    ax.set(ylim=(0, 1.05 * max(log.table["entropy"].max() for log in among)), ylabel="nats a token", title="Entropy")


def _movement(ax, run, among) -> None:
    _logarithmic(ax, run.table["step"], movement(run.table), [movement(log.table) for log in among])
    ax.set(ylabel="|log ratio| (nats)", title="Movement within a rollout")


def _gradient(ax, run, among) -> None:
    _logarithmic(ax, run.table["step"], run.table["grad_norm_max"], [log.table["grad_norm_max"] for log in among])
    ax.set(ylabel="largest of the step", title="Gradient norm")


def _logarithmic(ax, steps, values, of_all) -> None:
    """A line with gaps where the value is 0; small dots, so that a lone step between two gaps is seen."""
    positive = [v for series in of_all for v in series if v > 0] or [1.0]
    ax.plot(steps, values.where(values > 0), ".-", color=BLUE, linewidth=1, markersize=3)
    ax.set(yscale="log", ylim=(min(positive) / 2, 2 * max(positive)), xlim=(0, 1.02 * steps.max()))
    if not (values > 0).any():
        ax.text(0.5, 0.5, "0 in every step", transform=ax.transAxes, ha="center", color=GREY)
