"""An nbgrader course folder, made from the lessons and their solutions: nothing in it is written by hand.

    source/lesson04/lesson04.ipynb    set-up, then for each exercise: text, answer cell, check, hidden tests
    nbgrader_config.py, README.md     how it is graded, and what an instructor types

Two cells of one point each follow an answer: the check of the lesson, which students see and run, and the same check
on other inputs (grpo_lessons.workshop.hidden), which nbgrader takes out of the students' version.
Cell ids come from the exercise's name and stay the same from one build to the next.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grpo_lessons.notebooks import METADATA, write
from grpo_lessons.workshop.exercises import Lesson, LessonExercise, lesson_files, read_lesson

COURSE = Path(__file__).parent / "course"  # files that are copied as they are
INTRODUCTION = """# {title}

The exercises of *{name}*; the lesson explains what they ask. Write each answer into its cell. Do not rename, copy or
delete cells, and hand this file in under its own name, `{name}.ipynb`. More cells of your own are welcome.

An exercise has two points: one for the check below your answer, which you can run as often as you like, and one for
the same check on other inputs when the work is graded. A cell that runs too long is stopped. Outputs are not graded."""
CHECK = """from grpo_lessons import check

result = {check}({answer})
assert result, result.message"""
HIDDEN = """# Your function on other inputs, when the work is graded. Nothing to do here.
### BEGIN HIDDEN TESTS
from grpo_lessons.workshop.hidden import judge

result = judge("{name}", {answer})
assert result, result.message
### END HIDDEN TESTS"""


def build(course: Path, lessons: str = "") -> list[Path]:
    """Write the course folder; returns the source notebooks. Submissions and marks in it stay as they are.

    lessons: "01-09,12", or "" for all that have exercises, side roads included. ValueError for an unknown lesson, and
    for a folder with a README.md that is not a course's.
    """
    files = lesson_files()
    chosen = select(lessons, list(files))
    if (course / "README.md").exists() and not (course / "nbgrader_config.py").exists():
        raise ValueError(f"{course} has a README.md of its own: give a new folder, or one that an earlier build made")
    course.mkdir(parents=True, exist_ok=True)
    for path in COURSE.iterdir():
        if path.is_file():
            shutil.copy(path, course / path.name)
    written = []
    for name in chosen:
        target = course / "source" / name / f"{name}.ipynb"
        write(assignment(read_lesson(files[name])), target)
        written.append(target)
    return written


def select(lessons: str, names: list[str]) -> list[str]:
    """The assignments that "01-09,12,side_ppo" names, in their order; ValueError says which name is unknown."""
    if not lessons:
        return names
    wanted = set()
    for part in re.split(r"[,\s]+", lessons.strip()):
        if span := re.fullmatch(r"(\d+)-(\d+)", part):
            wanted |= {f"lesson{n:02d}" for n in range(int(span[1]), int(span[2]) + 1)} & set(names)
        else:
            wanted.add(f"lesson{int(part):02d}" if part.isdigit() else part)
    if unknown := wanted - set(names) or ({lessons} if not wanted else set()):
        raise ValueError(
            f"no exercises under {', '.join(sorted(unknown))}; give numbers such as 01-09,12 out of {', '.join(names)}"
        )
    return [name for name in names if name in wanted]


def assignment(lesson: Lesson) -> NotebookNode:
    """The instructor's notebook of a lesson, with solutions and hidden tests."""
    cells = [
        new_markdown_cell(INTRODUCTION.format(title=lesson.title, name=lesson.name), id=f"{lesson.name}-title"),
        _cell(f"{lesson.name}-setup", lesson.setup, locked=True),
    ]
    for exercise in lesson.exercises:
        cells += exercise_cells(exercise)
    return new_notebook(cells=cells, metadata=METADATA, nbformat_minor=5)


def exercise_cells(exercise: LessonExercise) -> list[NotebookNode]:
    """Text, answer, check and hidden tests. The stub is what students get; nbgrader removes the solution below it."""
    key = cell_id(exercise.name)
    text = [
        (new_markdown_cell if kind == "markdown" else new_code_cell)(source, id=f"{key}-text{i}")
        for i, (kind, source) in enumerate(_joined(exercise.text))
    ]
    answer = f"{exercise.stub}\n### BEGIN SOLUTION\n\n\n{exercise.solution}\n### END SOLUTION"
    cells = [
        _cell(key, answer, solution=True),
        _cell(f"{key}-check", CHECK.format(check=exercise.check, answer=exercise.answer), points=1),
        _cell(f"{key}-hidden", HIDDEN.format(name=exercise.name, answer=exercise.answer), points=1),
    ]
    for cell in cells:
        cell.metadata["grpo_lessons"] = {"exercise": exercise.name}
    return text + cells


def cell_id(exercise: str) -> str:
    """ "04.masked_mean" -> "04-masked_mean": ids hold no dots."""
    return exercise.replace(".", "-")


def _cell(name: str, source: str, *, solution: bool = False, locked: bool = False, points: int = 0) -> NotebookNode:
    """A code cell that nbgrader knows by `name`: an answer (solution), tests (points), or read only (locked)."""
    graded = {"grade": points > 0, "grade_id": name, "locked": locked or points > 0, "solution": solution}
    graded |= {"schema_version": 3, "task": False} | ({"points": points} if points else {})
    return new_code_cell(source, id=name, metadata={"nbgrader": graded})


def _joined(text: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Neighbouring paragraphs as one."""
    joined: list[tuple[str, str]] = []
    for kind, source in text:
        if joined and kind == joined[-1][0] == "markdown":
            joined[-1] = (kind, f"{joined[-1][1]}\n\n{source}")
        else:
            joined.append((kind, source))
    return joined
