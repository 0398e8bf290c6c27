"""`grpo-lessons doctor`: what this machine can run, and one training step as proof."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

COLOURS = {"ok": "green", "note": "yellow", "missing": "red"}


def doctor() -> None:
    """What this machine can run, library versions against the tested ones, what to install, one training step.

    Exit code 1 when the step fails; a missing library alone is no failure.
    """
    from grpo_lessons.doctor import examine, train_one_step

    step = train_one_step()
    table = Table("what", "found", "", "advice")
    for check in [*examine(), step]:
        table.add_row(check.what, Text(check.found), Text(check.status, COLOURS[check.status]), Text(check.advice))
    Console().print(table)
    if step.status != "ok":
        raise typer.Exit(1)
