"""Submissions of a simulated class, made from a course folder as students would make them."""

import json
from pathlib import Path

import nbformat

from grpo_lessons.workshop.assignments import cell_id
from grpo_lessons.workshop.exercises import Lesson


def right(lesson: Lesson) -> dict[str, str]:
    """The answers of the solutions: cell id -> source."""
    return {cell_id(e.name): f"{e.stub}\n\n\n{e.solution}" for e in lesson.exercises}


def wrong(lesson: Lesson, at: int, which: int = 0) -> dict[str, str]:
    """All right but for exercise `at`, which is answered with one of the wrong functions of its own check."""
    exercise = lesson.exercises[at]
    return right(lesson) | {cell_id(exercise.name): f"{exercise.answer} = {exercise.check}.wrong[{which}][0]"}


def replaced(lesson: Lesson, at: int, body: str) -> dict[str, str]:
    """All right but for exercise `at`, a function with any arguments and the given body."""
    exercise = lesson.exercises[at]
    return right(lesson) | {cell_id(exercise.name): f"def {exercise.answer}(*args):\n    {body}"}


def released(course: Path, lesson: str) -> dict:
    """The students' version, as JSON."""
    return json.loads((course / "release" / lesson / f"{lesson}.ipynb").read_text(encoding="utf-8"))


def answered(notebook: dict, answers: dict[str, str]) -> dict:
    """The notebook with these sources in place of its own."""
    for cell in notebook["cells"]:
        cell["source"] = answers.get(cell["id"], cell["source"])
    return notebook


def hand_in(course: Path, student: str, lesson: str, notebook: dict | bytes) -> Path:
    """Write a submission; bytes are written as they are."""
    path = course / "submitted" / student / lesson / f"{lesson}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode())
    return path


def as_released(source: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """What nbgrader makes of an instructor's notebook: no solutions, no hidden tests. For tests without nbgrader."""
    released = nbformat.from_dict(source)
    for cell in released.cells:
        for region in ("SOLUTION", "HIDDEN TESTS"):
            before, _, rest = cell.source.partition(f"### BEGIN {region}\n")
            cell.source = before + rest.partition(f"### END {region}")[2]
    return released
