"""What a critic expects along a completion, and the advantages that follow from it."""

from grpo_lessons.plots.style import BLUE, GREY, INK, ORANGE, SKY, VERMILLION, new_grid

BARS = ((BLUE, VERMILLION), (SKY, ORANGE))  # for each lam: above 0, below 0


def critic_view(completions: list[dict]):
    """Two strips for each completion: the value before each token, and the advantage of each token.

    What to see: where the line steps up or down, the critic has learned something; with a small lam the advantage
    stands at that step, with lam 1 it is spread over all tokens before it.

    completions: dicts with `title`, `tokens` (T texts), `values` (T numbers, expected before each token), `outcome`
    (the reward) and `advantages` (one or two of label -> T numbers). Returns a Figure.
    """
    ratios = {"height_ratios": [3, 2] * len(completions)}
    fig, axes = new_grid(2 * len(completions), 1, size=(9, 3.6 * len(completions)), gridspec_kw=ratios)
    height = max(abs(a) for c in completions for row in c["advantages"].values() for a in row)
    longest = max(len(c["tokens"]) for c in completions)
    for i, completion in enumerate(completions):
        above, below = axes[2 * i, 0], axes[2 * i + 1, 0]
        _values(above, completion)
        _advantages(below, completion)
        below.set_ylim(-1.15 * height, 1.15 * height)
        for ax in (above, below):
            ax.set_xlim(-0.7, longest + 1.8)
            ax.set_xticks(range(len(completion["tokens"])), [])
        _name_tokens(below, completion["tokens"])
    below.set_xlabel("token that is chosen")
    return fig


def _name_tokens(ax, tokens: list[str]) -> None:
    """Single characters upright, longer tokens turned, so that they do not run into each other."""
    for label in ax.set_xticklabels(tokens, family="monospace", fontsize=9):
        label.set_rotation(90 if len(label.get_text()) > 2 else 0)


def _values(ax, completion: dict) -> None:
    tokens, outcome = completion["tokens"], completion["outcome"]
    ax.plot(range(len(tokens)), completion["values"], color=INK, marker="o", markersize=4, linewidth=1.5)
    ax.plot(len(tokens), outcome, marker="*", markersize=12, color=BLUE if outcome > 0 else VERMILLION)
    ax.text(len(tokens) + 0.25, outcome, "outcome", fontsize=8, color=INK, va="center")
    ax.set(ylim=(-0.2, 1.2), ylabel="expected\nreward")
    ax.set_title(completion["title"], loc="left", fontsize=10, color=INK)


def _advantages(ax, completion: dict) -> None:
    rows = completion["advantages"]
    width = 0.8 / len(rows)
    for i, ((label, advantages), (up, down)) in enumerate(zip(rows.items(), BARS, strict=False)):
        places = [t + (i - (len(rows) - 1) / 2) * width for t in range(len(advantages))]
        ax.bar(places, advantages, width, color=[up if a > 0 else down for a in advantages])
        ax.bar([0], [0], color=up, label=label)
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set_ylabel("advantage\n(reward)")
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="lower left", bbox_to_anchor=(0, 0.98), borderpad=0)
