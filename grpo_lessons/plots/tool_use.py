"""Who wrote which token of a completion with tools, and how the habit of searching changes while a policy trains."""

from grpo_lessons.plots.style import BLUE, GREY, INK, ORANGE, PALE, label_lines, new_axes, new_grid

COLUMNS = 78  # characters in a line of `who_wrote`
WRITTEN, READ = "#CFE3F2", PALE


def who_wrote(completions: list[dict]):
    """Completions as text: tokens of the policy on blue, with mask 1; tokens of the environment on grey, with mask 0.

    What to see: only what stands on blue is in the loss; what stands on grey was read.

    completions: dicts with `title`, `tokens` (T texts) and `mask` (T numbers). Returns a Figure.
    """
    blocks = [(c["title"], _wrap(c["tokens"], c["mask"])) for c in completions]
    height = sum(len(lines) + 1.6 for _, lines in blocks)
    fig, ax = new_axes(size=(9, 0.25 * height + 0.3))
    ax.set_axis_off()
    ax.set(xlim=(0, COLUMNS + 1), ylim=(height, -0.2))
    y = 0.4
    for title, lines in blocks:
        ax.text(0, y, title, fontsize=10, color=INK, va="center")
        for line in lines:
            y += 1
            for x, character, kept in line:
                box = {"facecolor": WRITTEN if kept else READ, "edgecolor": "none"}
                ax.add_patch(_cell(x, y, box))
                ax.text(x + 0.5, y, character, family="monospace", fontsize=8.5, ha="center", va="center", color=INK)
        y += 1.6
    return fig


def _cell(x: float, y: float, box: dict):
    from matplotlib.patches import Rectangle

    return Rectangle((x, y - 0.45), 1, 0.9, **box)


def _wrap(tokens: list[str], mask: list[float]) -> list[list[tuple[int, str, bool]]]:
    """Lines of (column, character, kept)."""
    cells = [(character, kept > 0) for token, kept in zip(tokens, mask, strict=True) for character in token]
    lines = [cells[start : start + COLUMNS] for start in range(0, len(cells), COLUMNS)]
    return [[(x, *cell) for x, cell in enumerate(line)] for line in lines]


def search_over_training(panels: dict[str, list], *, window: int = 3):
    """Share of completions with a call, for questions with and without a note; one panel for each setting, 3 a row.

    What to see: two lines that part, one going up and one going down, are a policy that learns when to search; thin
    lines are seeds, thick ones their mean.

    panels: title -> tables of `tasks.lookup_report.search_shares`, one a seed. window: steps in the running mean.
    Returns a Figure.
    """
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    fig, axes = new_grid(rows, columns, size=(1.2 + 3.1 * columns, 3.4 * rows), sharey=True)
    for ax in axes.flat[len(panels) :]:
        ax.remove()
    for ax, (title, tables) in zip(axes.flat, panels.items(), strict=False):
        for column, ink in (("no note", BLUE), ("note", ORANGE)):
            smooth = [100 * t[column].rolling(window, min_periods=1).mean() for t in tables]
            for table, line in zip(tables, smooth, strict=True):
                ax.plot(table["step"], line, color=ink, linewidth=0.7, alpha=0.5)
            ax.plot(tables[0]["step"], sum(smooth) / len(smooth), color=ink, linewidth=2, label=column)
        ax.set(title=title, xlabel="step (one rollout each)", ylim=(-2, 102))
        ax.axhline(100, color=GREY, linewidth=0.5)
    for ax in axes[:, 0]:
        ax.set_ylabel("completions with a call (%)")
    label_lines(axes[0, -1])
    return fig
