"""Show a figure of measured numbers with the line that says whose they are."""

from matplotlib.text import Text

from grpo_lessons.origin import Origin
from grpo_lessons.plots.style import GREY, show


def show_measured(fig, origin: Origin, *, alt: str, caption: str | None = None) -> None:
    """`show`, with policy, backend, hardware and date at the foot of the figure.

    Raises ValueError if figure, alt text or caption name another policy than the one that was measured.
    """
    words = [t.get_text() for t in fig.findobj(Text)]
    for text in (*words, alt, caption or ""):
        if others := origin.other_policies(text):
            raise ValueError(
                f"{text[:60]!r} speaks of {', '.join(others)}, and the numbers are those of {origin.policy}: "
                "name the policy that was measured, or leave names to the line at the foot"
            )
    show(stamped(fig, origin), alt=f"{alt} At the foot: {origin}.", caption=caption)


def stamped(fig, origin: Origin):
    """The figure with the origin at its foot."""
    fig.supxlabel(str(origin), x=0.995, ha="right", fontsize=7, color=GREY)
    return fig
