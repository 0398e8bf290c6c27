"""The marks of a submission, read from nbgrader's gradebook, and what its cells said where one was stopped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nbformat

LEFT_OUT = "LeftOut"  # the error that stands for a cell which was not run (execution.py)


@dataclass(frozen=True)
class Mark:
    """points out of out_of for an exercise, "04.masked_mean"."""

    exercise: str
    points: float
    out_of: float


class Marks:
    """The gradebook of a course."""

    def __init__(self, course: Path) -> None:
        self.course, self.url = course, f"sqlite:///{(course / 'gradebook.db').resolve()}"

    def enrol(self, students: list[str]) -> None:
        """Everybody gets a line in the export, also whose submission cannot be graded."""
        with self._gradebook() as book:
            for student in students:
                book.update_or_create_student(student)

    def forget(self, lesson: str, student: str) -> None:
        """Take back the marks of an earlier submission."""
        from nbgrader.api import MissingEntry

        with self._gradebook() as book:
            try:
                book.remove_submission(lesson, student)
            except MissingEntry:
                return

    def of(self, lesson: str, student: str) -> list[Mark]:
        """The marks of all exercises, in the order of the assignment; [] if nothing was graded."""
        from nbgrader.api import MissingEntry

        with self._gradebook() as book:
            try:
                grades = book.find_submission_notebook(lesson, lesson, student).grades
            except MissingEntry:
                return []
            points = {grade.name: (grade.score, grade.max_score) for grade in grades}
        marks: dict[str, Mark] = {}
        for cell in nbformat.read(self.course / "release" / lesson / f"{lesson}.ipynb", as_version=4).cells:
            test = cell.metadata.get("nbgrader", {}).get("grade_id")
            if test in points:
                name = cell.metadata.get("grpo_lessons", {}).get("exercise", test)
                before = marks.get(name, Mark(name, 0.0, 0.0))
                earned, most = points[test]
                marks[name] = Mark(name, before.points + earned, before.out_of + most)
        return list(marks.values())

    def _gradebook(self):
        from nbgrader.api import Gradebook

        return Gradebook(self.url)


def stopped_cells(autograded: Path) -> list[str]:
    """One line for each exercise, or cell, that was stopped while it ran or left out for what it did."""
    lines = {}
    for i, cell in enumerate(nbformat.read(autograded, as_version=4).cells):
        name = cell.metadata.get("grpo_lessons", {}).get("exercise", f"cell {i + 1}")
        for output in cell.get("outputs", []):
            if output.get("ename") == LEFT_OUT:
                lines[name] = f"{name}: {output.evalue[:200]}"
            elif output.get("ename") == "CellTimeoutError":
                lines.setdefault(name, f"{name}: a cell ran out of time and was interrupted")
    return list(lines.values())
