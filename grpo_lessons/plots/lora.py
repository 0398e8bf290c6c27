"""Figures of lesson 11: how low a rank is, where the 16 levels of NF4 lie, and where the bytes of a run go."""

import torch

from grpo_lessons.plots.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALETTE,
    SKY,
    VERMILLION,
    label_lines,
    new_axes,
    new_grid,
)
from grpo_lessons.quantization import NF4_LEVELS

# What a bar is made of: the parts of a MemoryEstimate that are summed, by phase where they are held in one only.
BAR_PARTS = (
    ("weights", BLUE, ("weights", "reference"), None),
    ("adapters, gradients, optimizer", VERMILLION, ("adapters", "gradients", "optimizer"), None),
    ("activations", ORANGE, ("activations",), "updating"),
    ("logits, workspace", GREEN, (), "updating"),
    ("KV cache, sampling", SKY, ("kv_cache", "sampling_logits"), "sampling"),
    ("context, allocator", GREY, ("context", "allocator"), None),
)


def captured_by_rank(curves: dict[str, torch.Tensor]):
    """Share of a matrix that its best approximation of each rank holds, one line a matrix.

    What to see: a line that jumps up at once is a matrix of low rank; a random matrix is the measure of "not low".

    curves: name -> (ranks,) from `low_rank.captured`. Returns a Figure.
    """
    fig, ax = new_axes(size=(8, 4.2))
    for ink, (name, share) in zip(PALETTE, curves.items(), strict=False):
        ax.plot(range(1 + len(share)), [0.0, *share.tolist()], color=ink, label=name)
    ax.set(xlabel="rank of the approximation", ylabel="share of the squared size that it holds", ylim=(0, 1.03))
    ax.set_xlim(0, max(map(len, curves.values())))
    _legend_from_the_top(ax)
    return fig


def _legend_from_the_top(ax) -> None:
    """The lines meet at their right ends, so their names stand in a legend, the highest line first."""
    lines = sorted(ax.get_lines(), key=lambda line: -sum(line.get_ydata()) / len(line.get_ydata()))
    ax.legend(lines, [line.get_label() for line in lines], frameon=False, fontsize=9, loc="lower right")


def accuracy_by_rank(reports: dict[int, object], lines: dict[str, float]):
    """Accuracy of a policy that keeps only the best approximation of rank r of what training changed.

    What to see: from which rank on the dots reach the line of the whole update.

    reports: rank -> EvalReport. lines: name -> accuracy, drawn across. Returns a Figure.
    """
    fig, ax = new_axes(size=(8, 3.8))
    ranks = list(reports)
    for place, report in enumerate(reports.values()):
        low, high = report.interval
        bars = [[report.accuracy - low], [high - report.accuracy]]
        ax.errorbar(place, report.accuracy, yerr=bars, fmt="o", color=BLUE, capsize=3)
    for name, accuracy in lines.items():
        ax.plot([-0.5, len(ranks) - 0.5], [accuracy] * 2, color=INK, linewidth=0.9, linestyle="--", label=name)
    ax.set(xlabel="rank kept of each matrix's update", ylabel="held-out accuracy (share right)")
    ax.set(xlim=(-0.5, len(ranks) - 0.5), ylim=(0, 1.03))
    ax.set_xticks(range(len(ranks)), ranks)
    label_lines(ax)
    return fig


def levels_against_weights(scaled: torch.Tensor):
    """The weights of many blocks, divided by their block's largest, with the 16 levels of NF4 and 16 even ones.

    What to see: NF4 has many levels where the weights are many.

    scaled: (N,) from -1 to 1. Returns a Figure.
    """
    fig, axes = new_grid(2, 1, size=(8, 4.2), sharex=True, sharey=True)
    kinds = {"16 levels of NF4": NF4_LEVELS, "16 even levels": torch.linspace(-1, 1, 16)}
    for ax, (name, levels) in zip(axes[:, 0], kinds.items(), strict=True):
        ax.hist(scaled.numpy(), bins=81, range=(-1, 1), density=True, color=SKY)
        ax.vlines(levels, 0, 2.2, color=VERMILLION, linewidth=1)
        ax.set_title(name, loc="left", fontsize=10)
        ax.set_ylabel("density")
    axes[-1, 0].set(xlabel="weight / largest magnitude of its block", xlim=(-1.03, 1.03))
    return fig


def memory_bars(estimates: dict[str, object], cards=(8, 12, 24)):
    """The memory of a run in GiB, one bar a way of training, made of its parts at its peak; a line for each card.

    What to see: which bars end left of the card's line, and what the long ones are made of.

    estimates: name -> MemoryEstimate. cards: sizes in GiB. Returns a Figure.
    """
    fig, ax = new_axes(size=(9, 1.5 + 0.6 * len(estimates)))
    bars = {name: bar_sizes(estimate) for name, estimate in estimates.items()}
    left = [0.0] * len(bars)
    for part, ink, _, _ in BAR_PARTS:
        sizes = [sizes[part] / 2**30 for sizes in bars.values()]
        if any(sizes):
            ax.barh(range(len(bars)), sizes, left=left, color=ink, height=0.6, label=part)
        left = [a + b for a, b in zip(left, sizes, strict=True)]
    for y, total in enumerate(left):
        ax.text(total + 0.2, y, f"{total:.1f}", va="center", fontsize=9, color=INK)
    for card in cards:
        ax.axvline(card, color=INK, linewidth=0.9, linestyle=":")
        around = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(card, -0.62, f"{card} GB card", fontsize=9, ha="center", color=INK, bbox=around)
    ax.set(xlabel="memory at the peak (GiB)", ylim=(len(bars) - 0.5, -0.8))
    ax.set_yticks(range(len(bars)), list(bars))
    ax.grid(axis="y", visible=False)
    fig.legend(frameon=False, fontsize=9, ncols=3, loc="outside upper center")
    return fig


def bar_sizes(estimate) -> dict[str, int]:
    """Bytes of each part of a bar; they sum to the estimate's total."""
    parts, sizes = estimate.parts(), {}
    for name, _, members, phase in BAR_PARTS:
        held = phase is None or phase == estimate.phase
        sizes[name] = sum(parts.get(m, 0) for m in members if m != "gradients" or estimate.phase == "updating") * held
    if estimate.phase == "updating":
        sizes["logits, workspace"] = max(estimate.logits, estimate.workspace)
    return sizes
