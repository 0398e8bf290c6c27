"""Grading a class: every submission is checked, mended where it can be, and graded apart from all others.

submitted/STUDENT/lesson04/lesson04.ipynb    what was handed in; never changed
checked/, autograded/                        the mended copy, and the same with the tests run
feedback/STUDENT/lesson04/lesson04.html      for the student
grades.csv, marks.csv                        nbgrader's export, and one row for each exercise
grading_report.txt, grading.log              one line for each student and each trouble; all that nbgrader said
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grpo_lessons.notebooks import write
from grpo_lessons.workshop.assignments import select
from grpo_lessons.workshop.grader import nbgrader, remove, require_nbgrader
from grpo_lessons.workshop.marks import Mark, Marks, stopped_cells
from grpo_lessons.workshop.preflight import check_submission

STUDENT = re.compile(r"[\w@-][\w.@-]*")  # what nbgrader's patterns and its CSV can hold


@dataclass
class Outcome:
    """One student's work on one lesson. marks: empty if it could not be graded."""

    lesson: str
    student: str
    marks: list[Mark] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """For the report: the student's line, and below it one for each trouble."""
        if self.marks:
            points, out_of = sum(m.points for m in self.marks), sum(m.out_of for m in self.marks)
            lost = ", ".join(f"{m.exercise} {m.points:g}/{m.out_of:g}" for m in self.marks if m.points < m.out_of)
            head = f"{points:g} of {out_of:g}" + (f"   {lost}" if lost else "")
        else:
            head = "no marks"
        return [f"{self.lesson}  {self.student:16} {head}", *(f"    {trouble}" for trouble in self.troubles)]


def grade(course: Path, lessons: str = "", *, timeout: int = 30, say: Callable[[str], None] = print) -> list[Outcome]:
    """Grade all submissions of the course; `say` gets each line of the report as soon as it is known.

    lessons: "01-09,12", "" for all that were released. timeout: seconds for one cell.
    ValueError if nbgrader, the course or the released assignments are missing.
    """
    require_nbgrader()
    released = released_lessons(course, lessons)
    report: list[str] = []

    def tell(lines: list[str]) -> None:
        for line in map(one_line, lines):
            say(line)
            report.append(line)

    students, strange = students_of(course)
    tell(strange)
    book = Marks(course)
    book.enrol(students)
    outcomes = []
    for lesson, notebook in released.items():
        for student in students:
            outcomes.append(grade_one(book, lesson, student, notebook, timeout))
            tell(outcomes[-1].lines())
    tell(finish(book, outcomes))
    (course / "grading_report.txt").write_text("\n".join(report) + "\n", encoding="utf-8")
    return outcomes


def one_line(text: str) -> str:
    """The text with line ends and whatever else cannot be shown as escapes: names of submitted files may hold any."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def released_lessons(course: Path, lessons: str) -> dict[str, NotebookNode]:
    """The students' version of each chosen assignment: name -> notebook."""
    files = {path.stem: path for path in sorted(course.glob("release/*/*.ipynb"))}
    if not files or not (course / "gradebook.db").is_file():
        raise ValueError(
            f"{course} has no released assignments: make it with `grpo-lessons workshop build {course}`, "
            "or run `nbgrader generate_assignment lesson01` in it"
        )
    return {name: nbformat.read(files[name], as_version=4) for name in select(lessons, list(files))}


def students_of(course: Path) -> tuple[list[str], list[str]]:
    """The students with a folder in submitted/, and a line for each entry that is none."""
    students, lines = [], []
    for path in sorted((course / "submitted").glob("*")):
        if path.name.startswith("."):
            continue
        if not path.is_dir() and not path.is_symlink():
            lines.append(f"submitted/{path.name} is a file: unpack it to submitted/STUDENT/LESSON/LESSON.ipynb")
        elif not STUDENT.fullmatch(path.name):
            lines.append(f"submitted/{path.name!r}: rename it; a student's folder has letters, digits, - _ . @ only")
        else:
            students.append(path.name)
    if not students:
        raise ValueError(f"no submissions in {course / 'submitted'}: they lie in submitted/STUDENT/LESSON/LESSON.ipynb")
    return students, lines


def grade_one(book: Marks, lesson: str, student: str, release: NotebookNode, timeout: int) -> Outcome:
    """Check, mend and grade one submission; whatever goes wrong becomes a line of the outcome."""
    course, outcome = book.course, Outcome(lesson, student)
    for step in ("checked", "autograded", "feedback"):
        remove(course / step / student / lesson)
    book.forget(lesson, student)
    folder = course / "submitted" / student / lesson
    if not folder.exists() and not folder.is_symlink():
        alike = [path.name for path in folder.parent.glob("*") if path.name.casefold() == lesson]
        outcome.troubles.append(
            f"not handed in; rename its folder {alike[0]} to {lesson}" if alike else "not handed in"
        )
        return outcome
    checked = check_submission(folder, lesson, release)
    outcome.troubles += checked.troubles
    if checked.notebook is None:
        return outcome
    copy = course / "checked" / student / lesson
    write(checked.notebook, copy / f"{lesson}.ipynb")
    changed = datetime.fromtimestamp(checked.changed, UTC)
    (copy / "timestamp.txt").write_text(f"{changed:%Y-%m-%d %H:%M:%S} UTC\n", encoding="utf-8")  # nbgrader reads it
    cells = sum(cell.cell_type == "code" for cell in release.cells)  # not the submission's: it may have thousands
    failed = nbgrader(
        course, "autograde", lesson, f"--student={student}", "--force", f"--Execute.timeout={timeout}",
        "--CourseDirectory.submitted_directory=checked", timeout=120 + cells * (timeout + 15),
    )  # fmt: skip
    if failed:
        book.forget(lesson, student)
        outcome.troubles.append(f"not graded: {failed}")
        return outcome
    outcome.marks = book.of(lesson, student)
    if any(mark.points > mark.out_of for mark in outcome.marks):
        outcome.marks = []
        book.forget(lesson, student)
        outcome.troubles.append("more points than there are: its code wrote into gradebook.db; no marks, read it")
    outcome.troubles += stopped_cells(course / "autograded" / student / lesson / f"{lesson}.ipynb")
    return outcome


def finish(book: Marks, outcomes: list[Outcome]) -> list[str]:
    """Feedback, export and table of marks; a line for what failed, and for marks that are no longer what they were."""
    course = book.course
    lines = [
        f"{outcome.lesson}  {outcome.student}: the marks changed after grading: the code of another submission wrote "
        "into gradebook.db; read those with troubles, take the guilty one out of submitted/ and grade again"
        for outcome in outcomes
        if outcome.marks and book.of(outcome.lesson, outcome.student) != outcome.marks
    ]
    for lesson in dict.fromkeys(outcome.lesson for outcome in outcomes if outcome.marks):
        if failed := nbgrader(course, "generate_feedback", lesson, "--force"):
            lines.append(f"{lesson}: feedback is incomplete: {failed}")
    if failed := nbgrader(course, "export", "--to=grades.csv"):
        lines.append(f"grades.csv was not written: {failed}")
    with open(course / "marks.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["student", "lesson", "exercise", "points", "out_of"])
        for outcome in outcomes:
            for mark in outcome.marks:
                table.writerow([outcome.student, outcome.lesson, mark.exercise, mark.points, mark.out_of])
    return lines
