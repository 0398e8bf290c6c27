"""What all figures share: colours, axes, labels beside the lines, and alt text.

Figures are made without pyplot, so nothing is global and nothing is shown twice. The background is white by
its own setting: a figure stays readable when the notebook's theme is dark.
"""

from html import escape
from io import BytesIO

from matplotlib.figure import Figure
from PIL import Image

INK, GREY, PALE = "#222222", "#767676", "#E8E8E8"
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY = "#CC79A7", "#56B4E9"

# Okabe and Ito's colours, distinguishable with any colour vision; three of Tol's for the rarer methods.
PALETTE = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)
METHODS = {
    "grpo": ("GRPO", BLUE),
    "gmpo": ("GMPO", VERMILLION),
    "grpo_sg": ("GRPO-SG", GREEN),
    "dr_grpo": ("Dr. GRPO", PURPLE),
    "dapo": ("DAPO", ORANGE),
    "gspo": ("GSPO", SKY),
    "ppo": ("PPO", INK),
    "ppo_separate": ("PPO, own critic", INK),
    "ppo_shared": ("PPO, shared critic", "#8C510A"),
    "ppo_none": ("PPO, no critic", "#999999"),
    "ar": ("AR", "#882255"),
    "lopti": ("Lopti", "#44AA99"),
    "ar_lopti": ("AR + Lopti", "#332288"),
    "high_entropy": ("80/20", "#999933"),
}


def colour(method: str) -> str:
    """The one colour of a method in all figures; grey for a name without its own."""
    return METHODS.get(method, (method, GREY))[1]


def title(method: str) -> str:
    """A method's name as it is written in figures; any other label is returned as it is."""
    return METHODS.get(method, (method, GREY))[0]


def new_grid(rows: int, cols: int, *, size=(9.0, 6.0), **subplots):
    """A figure of `size` inches with an array (rows, cols) of plain axes; `subplots` goes to matplotlib."""
    fig = Figure(figsize=size, dpi=100, facecolor="white", layout="constrained")
    axes = fig.subplots(rows, cols, squeeze=False, **subplots)
    for ax in axes.flat:
        ax.set_facecolor("white")
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(GREY)
        ax.tick_params(colors=INK, labelsize=9)
        ax.grid(axis="y", color=PALE, linewidth=0.8)
        ax.set_axisbelow(True)
    return fig, axes


def new_axes(*, size=(7.0, 4.0), **subplots):
    """A figure with one pair of axes: `fig, ax = new_axes()`."""
    fig, axes = new_grid(1, 1, size=size, **subplots)
    return fig, axes[0, 0]


def blank(ax) -> None:
    """Strip axes that only carry a drawing."""
    ax.set_axis_off()


def label_lines(ax, *, gap_points: float = 12.0) -> None:
    """Write each labelled line's name at its right end instead of a legend; close labels are moved apart."""
    lines = [line for line in ax.get_lines() if not line.get_label().startswith("_") and len(line.get_xdata())]
    height = ax.get_position().height * ax.figure.get_figheight() * 72
    ax.get_ylim()  # limits that follow the data are set when they are read, and transData does not read them
    to_axes = ax.transData + ax.transAxes.inverted()
    ends = [(line, line.get_xdata()[-1], line.get_ydata()[-1]) for line in lines]
    lowest = -float("inf")
    for line, x, y in sorted(ends, key=lambda end: end[2]):
        natural = to_axes.transform((x, y))[1] * height
        placed = max(natural, lowest + gap_points)
        lowest = placed
        ax.annotate(
            line.get_label(),
            (x, y),
            xytext=(6, placed - natural),
            textcoords="offset points",
            color=line.get_color(),
            fontsize=9,
            va="center",
            annotation_clip=False,
        )


def png(fig) -> bytes:
    """The figure as PNG with at most 256 colours, a third of the size; the same figure gives the same bytes."""
    drawn, small = BytesIO(), BytesIO()
    fig.savefig(drawn, format="png", dpi=130)
    Image.open(drawn).convert("RGB").quantize(256).save(small, format="png", optimize=True)
    return small.getvalue()


def bundle(fig, alt: str) -> tuple[dict, dict]:
    """Display data and metadata of a figure; notebooks read the alt text from the metadata."""
    data = {"image/png": png(fig), "text/plain": f"[figure] {alt}"}
    return data, {"image/png": {"alt": alt, "width": round(fig.get_figwidth() * 100)}}


def show(fig, *, alt: str, caption: str | None = None) -> None:
    """Put a figure on the page; below it one sentence that says what to see, and the picture in words.

    alt: what the picture shows, for a reader who cannot see it; required. It stands in the image's metadata
    and, because not every viewer reads those, folded under the figure. Outside a notebook it is printed.
    """
    if not alt or not alt.strip():
        raise ValueError('alt is empty; say in words what the figure shows: plots.show(fig, alt="...")')
    try:
        from IPython.display import display
    except ImportError:
        print(f"[figure] {alt}")
        return
    data, metadata = bundle(fig, alt)
    display(data, metadata=metadata, raw=True)
    words = f"<details><summary>The figure in words</summary>{escape(alt)}</details>"
    line = f"<p><em>{escape(caption)}</em></p>{words}" if caption else words
    display({"text/html": line, "text/plain": caption or ""}, raw=True)
