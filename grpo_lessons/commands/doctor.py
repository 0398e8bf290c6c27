"""`grpo-lessons doctor`: what this machine can run."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

COLOURS = {"ok": "green", "note": "yellow", "missing": "red"}


def doctor() -> None:
    """What this machine can run, library versions against the tested ones, and what to install."""
    from grpo_lessons.doctor import examine

    table = Table("what", "found", "", "advice")
    for check in examine():
        table.add_row(check.what, Text(check.found), Text(check.status, COLOURS[check.status]), Text(check.advice))
    Console().print(table)
