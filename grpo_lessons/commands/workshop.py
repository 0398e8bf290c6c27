"""`grpo-lessons workshop build|grade|quiz|report`: assignments for a class, their marks, quizzes on paper, a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

workshop = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="For instructors: assignments through nbgrader, marks, quizzes, and a report without names.",
)
Lessons = Annotated[str, typer.Option(help="Which lessons, such as 01-09,12; all without it.")]
Course = Annotated[Path, typer.Argument(help="The course folder.")]


@workshop.command()
def build(out: Course, lessons: Lessons = "") -> None:
    """Make an nbgrader course folder from the lessons: `source/` with solutions, `release/` for the students."""
    from grpo_lessons.workshop.assignments import build as build_course
    from grpo_lessons.workshop.grader import nbgrader, require_nbgrader

    console = Console(highlight=False, markup=False, soft_wrap=True)
    built = build_course(out, lessons)
    console.print(f"{len(built)} assignments in {out}/source")
    require_nbgrader()
    for name in [path.stem for path in built] if lessons else ["*"]:
        if failed := nbgrader(out, "generate_assignment", name, "--force"):
            raise ValueError(f"{name} was not released: {failed}")
    console.print(f"what students get is in {out}/release; what to do with it says {out}/README.md")


@workshop.command()
def grade(
    course: Course,
    lessons: Lessons = "",
    timeout: Annotated[int, typer.Option(help="Seconds for one cell.")] = 30,
) -> None:
    """Check, mend and grade all submissions; feedback, `grades.csv`, `marks.csv` and a report. Runs students' code."""
    from grpo_lessons.workshop.grading import grade as grade_course

    console = Console(highlight=False, markup=False, soft_wrap=True)
    grade_course(course, lessons, timeout=timeout, say=console.print)
    console.print(f"written: grades.csv, marks.csv, grading_report.txt, feedback/ in {course}")


@workshop.command()
def quiz(out: Annotated[Path, typer.Argument(help="The folder to write into.")]) -> None:
    """Write each lesson's quiz as a form to print, `forms/04.md`, and its key apart from it, `keys/04.md`."""
    from grpo_lessons import quiz as quizzes

    for folder, text in ((out / "forms", quizzes.form), (out / "keys", quizzes.key)):
        folder.mkdir(parents=True, exist_ok=True)
        for lesson in quizzes.lessons():
            (folder / f"{lesson}.md").write_text(text(lesson) + "\n", encoding="utf-8")
    print(f"{len(quizzes.lessons())} forms in {out / 'forms'}, keys in {out / 'keys'}")


@workshop.command()
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
