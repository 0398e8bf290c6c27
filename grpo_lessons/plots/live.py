"""A training run drawn while it runs; no widget is needed."""

import pandas as pd

from grpo_lessons.plots.style import GREY, bundle, colour, label_lines, new_grid
from grpo_lessons.progress import in_notebook


class LivePlot:
    """Draws the run while it trains; give it to `train` as `on_step`.

        with plots.LivePlot() as live:
            log = train(policy, task, config, on_step=live)

    In a notebook one picture is renewed every `every` steps and once more at the end of the `with` block.
    Elsewhere one line of text is printed instead. `log` keeps the run.
    """

    def __init__(self, *, method: str = "grpo", every: int = 5):
        self.method, self.every = method, every
        self.log = None
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.log is not None and len(self.log.table):
            self._show()

    def __call__(self, log) -> None:
        """log: the RunLog so far, as `train` hands it to `on_step`."""
        self.log = log
        steps = len(log.table)
        if steps and (steps - 1) % self.every == 0:
            self._show()

    def figure(self):
        """The picture so far: reward and accuracy, length, log ratio, against the step."""
        table = self.log.table
        fig, (axes,) = new_grid(1, 3, size=(10, 3.1))
        ink = colour(self.method)
        _lines(axes[0], table, {"accuracy": (ink, "right"), "reward_mean": (GREY, "reward")}, "share, or mean reward")
        _lines(axes[1], table, {"length_mean": (ink, "all"), "length_finished": (GREY, "finished")}, "length (tokens)")
        _lines(
            axes[2], table, {"log_ratio_max": (ink, "largest"), "log_ratio_min": (GREY, "smallest")}, "log ratio (nats)"
        )
        return fig

    def _show(self) -> None:
        last = self.log.table.iloc[-1]
        text = "  ".join(
            f"{name} {last[name]:.3g}" for name in ("step", "reward_mean", "accuracy", "length_mean") if name in last
        )
        if not in_notebook():
            print(text)
            return
        from IPython.display import display

        data, metadata = bundle(self.figure(), f"Training so far: {text}")
        if self._handle is None:
            self._handle = display(data, metadata=metadata, raw=True, display_id=True)
        else:
            self._handle.update(data, metadata=metadata, raw=True)


def _lines(ax, table: pd.DataFrame, inks: dict, ylabel: str) -> None:
    for name, (ink, label) in inks.items():
        if name in table:
            ax.plot(table["step"], table[name], color=ink, linewidth=1.5, label=label)
    ax.set(xlabel="step (one rollout each)", ylabel=ylabel)
    label_lines(ax)
