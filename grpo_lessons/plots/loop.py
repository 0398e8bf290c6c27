"""The five stages of the training loop as a ring."""

from matplotlib.patches import FancyArrowPatch

from grpo_lessons.plots.style import BLUE, GREY, INK, new_axes

STAGES = {
    "ask": "a question\nwith a checkable answer",
    "sample": "a group of completions\nfrom the policy",
    "verify": "one reward\nper completion",
    "compare": "advantage: better or\nworse than its group",
    "update": "raise or lower each\ntoken's probability",
}
CENTRES = ((0, 1), (1.5, 0.3), (1.05, -0.85), (-1.05, -0.85), (-1.5, 0.3))


def loop_diagram(stage: str | None = None):
    """The loop of every lesson: ask, sample, verify, compare, update, and again.

    What to see: the filled stage is the one that today's lesson opens up; the others stay closed boxes.

    stage: one of the five names, or None to fill none. Returns a Figure.
    """
    if stage is not None and stage not in STAGES:
        raise ValueError(f"stage is {stage!r}; it must be one of {', '.join(STAGES)}, or None")
    fig, ax = new_axes(size=(7, 4.6))
    ax.set_axis_off()
    ax.set(xlim=(-2.1, 2.1), ylim=(-1.38, 1.3))
    for i, (name, says) in enumerate(STAGES.items()):
        today = name == stage
        x, y = CENTRES[i]
        ax.text(
            x,
            y,
            f"{i + 1}  {name}\n{says}",
            ha="center",
            va="center",
            fontsize=10,
            color="white" if today else INK,
            fontweight="bold" if today else "normal",
            bbox={
                "boxstyle": "round,pad=0.55",
                "fc": BLUE if today else "white",
                "ec": BLUE if today else GREY,
            },
            zorder=3,
        )
        gap = 64 if y == CENTRES[(i + 1) % 5][1] else 42  # points; boxes are wider than they are high
        arrow = {"arrowstyle": "-|>", "mutation_scale": 16, "color": GREY, "shrinkA": gap, "shrinkB": gap}
        ring = {"connectionstyle": "arc3,rad=-0.25", "zorder": 1}
        ax.add_patch(FancyArrowPatch((x, y), CENTRES[(i + 1) % 5], **arrow, **ring))
    return fig
