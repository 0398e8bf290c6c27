"""A progress line on a terminal and in a notebook, and nothing where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def progress_bar(total: int, done: int, title: str) -> Iterator[Callable[[dict], None]]:
    """Yields a function that takes a step's metrics and moves the bar one step on."""
    if in_notebook():
        yield _notebook_line(total, done, title)
        return
    with tqdm(total=total, initial=done, desc=title, unit="step", disable=not sys.stderr.isatty()) as bar:

        def advance(metrics: dict) -> None:
            bar.set_postfix_str(f"reward {reward_of(metrics)}, length {metrics['length_mean']:.1f}")
            bar.update()

        yield advance


def reward_of(metrics: dict) -> str:
    """The mean reward of a step, "-" where no completion got one."""
    value = metrics["reward_mean"]
    return "-" if value is None else f"{value:.2f}"


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this code."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def _notebook_line(total: int, done: int, title: str) -> Callable[[dict], None]:
    """One line of plain text that is written over, so that a saved notebook keeps the last state only."""
    from IPython.display import Pretty, display

    line = lambda text: Pretty(f"{title}: {text}")  # noqa: E731
    handle = display(line(f"0/{total} steps"), display_id=True)
    count = done

    def advance(metrics: dict) -> None:
        nonlocal count
        count += 1
        handle.update(line(f"{count}/{total} steps, reward {reward_of(metrics)}"))

    return advance
