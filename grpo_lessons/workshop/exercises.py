"""The exercises of a lesson as data: text and stub from the lesson, set-up and answer from its solutions.

An exercise is a code cell with `metadata.grpo_lessons.exercise`; the cell with the same id in the solutions answers it.
A "try it" exercise without such a cell has no check and therefore no marks.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grpo_lessons.paths import notebooks_dir
from grpo_lessons.workshop.source_text import check_call, definitions, imports_of, names_in, without_file_links

MARKER = re.compile(r"^\*\*(Exercise )?\d")  # "**2.** ..." or "**Exercise 2.** ..." begins an exercise's text


@dataclass(frozen=True)
class LessonExercise:
    """One graded exercise.

    name: "04.masked_mean". text: markdown and code that say what to do, in order, as (cell type, source).
    stub, solution: code without the call of the check. check: "check.lesson04.masked_mean".
    answer: what the check is called with, "my_masked_mean".
    """

    name: str
    text: tuple[tuple[str, str], ...]
    stub: str
    solution: str
    check: str
    answer: str


@dataclass(frozen=True)
class Lesson:
    """name: "lesson04", or "side_ppo". title: its first heading. setup: code that all of its exercises need."""

    name: str
    title: str
    setup: str
    exercises: tuple[LessonExercise, ...]


def lesson_files() -> dict[str, Path]:
    """Every lesson and side road that has solutions, in reading order: name -> path of the lesson."""
    folder = notebooks_dir()
    paths = [*sorted(folder.glob("[0-9][0-9]_*.ipynb")), *sorted((folder / "side_roads").glob("*.ipynb"))]
    return {lesson_name(path): path for path in paths if solutions_file(path).is_file()}


def lesson_name(path: Path) -> str:
    """04_grpo_from_scratch.ipynb -> lesson04; side_roads/countdown.ipynb -> side_countdown."""
    return f"lesson{path.stem[:2]}" if path.stem[:2].isdigit() else f"side_{path.stem.split('_')[0]}"


def solutions_file(path: Path) -> Path:
    """Where the solutions of a lesson or side road lie."""
    if path.stem[:2].isdigit():
        return path.parent / "solutions" / f"{path.stem[:2]}_solutions.ipynb"
    return path.parent.parent / "solutions" / f"{path.stem}_solutions.ipynb"


def read_lesson(path: Path) -> Lesson:
    """The exercises of a lesson. ValueError where one has no solution, or a cell cannot be read as an exercise."""
    lesson, solutions = (nbformat.read(p, as_version=4).cells for p in (path, solutions_file(path)))
    answers = {name: cell.source for cell in solutions if (name := exercise_id(cell))}
    exercises = []
    for i, cell in enumerate(lesson):
        if name := exercise_id(cell):
            if name not in answers:
                raise ValueError(f"{path.name}: exercise {name} has no cell in {solutions_file(path).name}")
            exercises.append(_exercise(name, exercise_text(lesson, i), cell.source, answers[name]))
    title = re.sub(r"^#+\s*", "", lesson[0].source.splitlines()[0])
    return Lesson(lesson_name(path), title, _setup(lesson, solutions, exercises), tuple(exercises))


def exercise_id(cell: NotebookNode) -> str | None:
    """The exercise that a code cell holds, or None."""
    return cell.metadata.get("grpo_lessons", {}).get("exercise") if cell.cell_type == "code" else None


def exercise_text(cells: list[NotebookNode], at: int) -> list[tuple[str, str]]:
    """What stands before the exercise at index `at` and belongs to it, as (cell type, source).

    Backwards from the exercise: cells that only print a source, and text from the exercise's number on, or from the
    list just above it. In the middle of a lesson the section is named.
    """
    start = at
    while start > 0 and (cells[start - 1].cell_type == "markdown" or is_shown_source(cells[start - 1])):
        start -= 1
    pieces = [(cell.cell_type, part) for cell in cells[start:at] for part in _paragraphs(cell)]
    numbers = [i for i, (kind, part) in enumerate(pieces) if kind == "markdown" and MARKER.match(part)]
    first = numbers[-1] if numbers else 0
    if first > 1 and re.match(r"\d\. ", pieces[first - 1][1]):
        first -= 2  # "These are the rules:" and the list
    heading = next((h for c in cells[at::-1] for h in re.findall(r"^## (.+)$", _markdown(c), re.M)[::-1]), "")
    pieces = [(kind, part) for i, (kind, part) in enumerate(pieces) if kind == "code" or i >= first]
    where = [("markdown", f"*In the lesson: {heading}*")] if heading not in ("", "Exercises") and pieces else []
    return [(kind, without_file_links(part) if kind == "markdown" else part) for kind, part in where + pieces]


def is_shown_source(cell: NotebookNode) -> bool:
    """Whether a code cell does nothing but print the source of functions."""
    if cell.cell_type != "code" or "inspect.getsource" not in cell.source:
        return False
    kept = (ast.Import, ast.ImportFrom, ast.Expr)
    return all(isinstance(statement, kept) for statement in ast.parse(cell.source).body)


def _paragraphs(cell: NotebookNode) -> list[str]:
    return [cell.source] if cell.cell_type == "code" else [p.strip() for p in cell.source.split("\n\n") if p.strip()]


def _markdown(cell: NotebookNode) -> str:
    return cell.source if cell.cell_type == "markdown" else ""


def _exercise(name: str, text: list[tuple[str, str]], cell: str, solution: str) -> LessonExercise:
    check, answer = check_call(cell)
    _, answered = check_call(solution)
    code = definitions(solution) + ("" if answered == answer else f"\n\n\n{answer} = {answered}")
    return LessonExercise(name, tuple(text), definitions(cell), code, check, answer)


def _setup(lesson: list[NotebookNode], solutions: list[NotebookNode], exercises: list[LessonExercise]) -> str:
    """The solutions' code before their first exercise, and the lesson's imports that shown code needs besides."""
    first = next(i for i, cell in enumerate(solutions) if exercise_id(cell))
    setup = "\n\n".join(cell.source for cell in solutions[:first] if cell.cell_type == "code")
    shown = "\n".join(source for exercise in exercises for kind, source in exercise.text if kind == "code")
    used = names_in(shown) - set(imports_of(setup)) - set(imports_of(shown))
    known = imports_of("\n".join(cell.source for cell in lesson if cell.cell_type == "code"))
    checks = exercises[0].check.split(".")[1]
    loaded = f"from grpo_lessons.check import {checks}  # loaded here, so that no exercise has to wait for it"
    return "\n".join([*sorted({known[name] for name in used & known.keys()}), setup, loaded])
