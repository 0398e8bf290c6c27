"""Pretraining, SFT, RLHF and RLVR in one picture."""

from grpo_lessons.plots.style import BLUE, GREY, INK, new_axes

# stage, what it reads, what tells it right from wrong, what comes out
STAGES = (
    ("Pretraining", "text from everywhere", "the next token\nof the text", "a base model:\ncontinues text"),
    (
        "SFT",
        "prompts with written\nanswers",
        "the next token\nof the answer",
        "an instruct model:\nimitates answers",
    ),
    (
        "RLHF",
        "prompts; people compare\nthe model's answers",
        "a learned model\nof their preference",
        "answers that\npeople prefer",
    ),
    (
        "RLVR",
        "prompts with an answer\nthat code can check",
        "a verifier:\nright or wrong",
        "answers that\nthe verifier accepts",
    ),
)
ROWS = ("reads", "learns from", "gives")


def training_stages(highlight: str = "RLVR"):
    """The four ways to train a language model, from left to right; this course is about the last.

    What to see: only in the last two does the model learn from its own answers, and only in the last is the
    judge a program. The order is the usual one, but RLVR also works straight on a base model (R1-Zero).

    highlight: name of the filled stage. Returns a Figure.
    """
    names = [stage[0] for stage in STAGES]
    if highlight not in names:
        raise ValueError(f"highlight is {highlight!r}; it must be one of {', '.join(names)}")
    fig, ax = new_axes(size=(10, 3.6))
    ax.set_axis_off()
    ax.set(xlim=(-0.75, 3.6), ylim=(-0.35, 3.5))
    for row, label in enumerate(ROWS):
        ax.text(-0.5, 2 - row, label, ha="right", va="center", color=GREY, fontsize=10)
    for column, (name, *cells) in enumerate(STAGES):
        today = name == highlight
        frame = {"boxstyle": "round,pad=0.5", "fc": BLUE if today else "white", "ec": BLUE if today else GREY}
        paint = "white" if today else INK
        ax.text(
            column,
            3.1,
            name,
            ha="center",
            va="center",
            fontsize=12,
            color=paint,
            fontweight="bold",
            bbox=frame,
        )
        for row, cell in enumerate(cells):
            ax.text(column, 2 - row, cell, ha="center", va="center", fontsize=9.5, color=BLUE if today else INK)
        if column:
            arrow = {"arrowstyle": "-|>", "color": GREY}
            ax.annotate("", (column - 0.36, 3.1), xytext=(column - 0.64, 3.1), arrowprops=arrow)
    return fig
