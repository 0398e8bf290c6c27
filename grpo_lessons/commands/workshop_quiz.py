"""`grpo-lessons workshop quiz|report`: forms to print, and one page about a class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def quiz(out: Annotated[Path, typer.Argument(help="The folder to write into.")]) -> None:
    """Write each lesson's quiz as a form to print, `forms/04.md`, and its key apart from it, `keys/04.md`."""
    from grpo_lessons import quiz as quizzes

    for folder, text in ((out / "forms", quizzes.form), (out / "keys", quizzes.key)):
        folder.mkdir(parents=True, exist_ok=True)
        for lesson in quizzes.lessons():
            (folder / f"{lesson}.md").write_text(text(lesson) + "\n", encoding="utf-8")
    print(f"{len(quizzes.lessons())} forms in {out / 'forms'}, keys in {out / 'keys'}")


def report(
    folder: Annotated[Path, typer.Argument(help="With quizzes/*.json, one a participant, and grades.csv.")],
    out: Annotated[Path, typer.Argument(help="The folder to write report.md, report.csv and report.png into.")],
) -> None:
    """Turn a class's quiz answers and marks into one page without names; the lines below it are for you alone."""
    from grpo_lessons.workshop.report import report as write_report

    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in write_report(folder, out):
        console.print(line)
    console.print(f"written: report.md, report.csv, report.png in {out}")
