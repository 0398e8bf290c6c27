"""How a class is graded around nbgrader: one process a submission, one outcome whatever happens. Without nbgrader."""

import csv
import json
import os
import time
from dataclasses import dataclass, field
from types import SimpleNamespace

import nbformat
import pupils
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from grpo_lessons.commands.workshop import build
from grpo_lessons.workshop import grader, grading
from grpo_lessons.workshop.assignments import assignment
from grpo_lessons.workshop.exercises import lesson_files, read_lesson
from grpo_lessons.workshop.grading import Outcome, grade, grade_one, one_line, students_of
from grpo_lessons.workshop.marks import LEFT_OUT, Mark, stopped_cells

LESSON = read_lesson(lesson_files()["lesson06"])
MARKS = [Mark("06.pass_at_k", 2.0, 2.0), Mark("06.wilson", 1.0, 2.0), Mark("06.majority", 0.0, 2.0)]


@dataclass
class Book:
    """Stands for nbgrader's gradebook: everybody who was graded has MARKS."""

    course: object
    enrolled: list = field(default_factory=list)
    forgotten: list = field(default_factory=list)

    def enrol(self, students):
        self.enrolled += students

    def forget(self, lesson, student):
        self.forgotten.append((lesson, student))

    def of(self, lesson, student):
        return MARKS


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A released course with two right submissions; nbgrader stands still for ada and succeeds for bob."""
    release = tmp_path / "release" / "lesson06" / "lesson06.ipynb"
    release.parent.mkdir(parents=True)
    nbformat.write(pupils.as_released(assignment(LESSON)), release)
    (tmp_path / "gradebook.db").touch()
    for student in ("ada", "bob"):
        notebook = pupils.answered(json.loads(release.read_text()), pupils.right(LESSON))
        pupils.hand_in(tmp_path, student, "lesson06", notebook)

    def nbgrader(course, *arguments, timeout=None):
        if "--student=ada" in arguments:
            return "it took more than 9 s in all and was ended"
        if arguments[0] == "autograde":
            graded = course / "autograded" / "bob" / "lesson06" / "lesson06.ipynb"
            graded.parent.mkdir(parents=True)
            graded.write_bytes((course / "checked" / "bob" / "lesson06" / "lesson06.ipynb").read_bytes())
        return ""

    monkeypatch.setattr(grading, "nbgrader", nbgrader)
    monkeypatch.setattr(grading, "require_nbgrader", lambda: None)
    monkeypatch.setattr(grading, "Marks", Book)
    return tmp_path


def test_one_submission_that_cannot_be_graded_stops_nobody_else(course):
    said = []
    outcomes = grade(course, say=said.append)
    assert [(outcome.student, outcome.marks) for outcome in outcomes] == [("ada", []), ("bob", MARKS)]
    assert said == [
        "lesson06  ada              no marks",
        "    not graded: it took more than 9 s in all and was ended",
        "lesson06  bob              3 of 6   06.wilson 1/2, 06.majority 0/2",
    ]
    assert (course / "grading_report.txt").read_text().splitlines() == said
    with open(course / "marks.csv", newline="") as file:
        assert [row["exercise"] for row in csv.DictReader(file)] == [mark.exercise for mark in MARKS]


def test_more_points_than_there_are_count_as_none(course, monkeypatch):
    monkeypatch.setattr(Book, "of", lambda *_: [Mark("06.wilson", 40.0, 2.0)])
    outcome = grade(course, say=lambda line: None)[1]
    assert outcome.marks == [] and outcome.troubles[0].startswith("more points than there are")


def test_marks_that_change_behind_the_graders_back_are_said(course, monkeypatch):
    answers = iter([MARKS, MARKS[::-1]])
    monkeypatch.setattr(Book, "of", lambda *_: next(answers))
    said = []
    grade(course, say=said.append)
    assert said[-1].startswith("lesson06  bob: the marks changed after grading")


def test_marks_of_an_earlier_submission_are_taken_back_before_a_new_one_is_looked_at(course):
    book = Book(course)
    (course / "submitted" / "bob" / "lesson06" / "lesson06.ipynb").write_text("no JSON")
    old = course / "feedback" / "bob" / "lesson06" / "lesson06.html"
    old.parent.mkdir(parents=True)
    old.touch()
    old.chmod(0o444)
    old.parent.chmod(0o555)
    outcome = grade_one(book, "lesson06", "bob", grading.released_lessons(course, "06")["lesson06"], 30)
    assert outcome.marks == [] and "is not JSON" in outcome.troubles[0]
    assert book.forgotten == [("lesson06", "bob")] and not old.exists()


def test_a_lesson_that_was_not_handed_in_is_said(course):
    (course / "submitted" / "eve").mkdir()
    outcome = grade_one(Book(course), "lesson06", "eve", new_notebook(), 30)
    assert outcome.lines() == ["lesson06  eve              no marks", "    not handed in"]


def test_a_folder_in_capitals_is_named(course):
    (course / "submitted" / "eve" / "Lesson06").mkdir(parents=True)
    outcome = grade_one(Book(course), "lesson06", "eve", new_notebook(), 30)
    assert outcome.troubles == ["not handed in; rename its folder Lesson06 to lesson06"]


def test_what_is_graded_is_a_copy_and_the_submission_stays_as_it_is(course):
    path = course / "submitted" / "bob" / "lesson06" / "lesson06.ipynb"
    before = path.read_bytes()
    grade(course, say=lambda line: None)
    assert path.read_bytes() == before
    assert sorted(p.name for p in (course / "checked" / "bob" / "lesson06").iterdir()) == [
        "lesson06.ipynb",
        "timestamp.txt",
    ]


def test_only_folders_with_names_that_nbgrader_can_hold_are_students(tmp_path):
    for name in ("ada", "joão", "17", "a.b@c-d", "*", "a,b", ".hidden"):
        (tmp_path / "submitted" / name).mkdir(parents=True)
    (tmp_path / "submitted" / "all.zip").touch()
    students, lines = students_of(tmp_path)
    assert students == ["17", "a.b@c-d", "ada", "joão"]
    assert [line.split(":")[0] for line in lines] == ["submitted/'*'", "submitted/'a,b'", "submitted/all.zip is a file"]


def test_a_course_without_submissions_or_without_releases_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"they lie in submitted/STUDENT/LESSON/LESSON.ipynb"):
        students_of(tmp_path)
    with pytest.raises(ValueError, match="make it with `grpo-lessons workshop build"):
        grading.released_lessons(tmp_path, "")


def test_without_nbgrader_the_sources_are_built_and_the_error_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr(grader, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="make workshop"):
        build(tmp_path, "06")
    assert (tmp_path / "source" / "lesson06" / "lesson06.ipynb").is_file()


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("print('graded')", ""),
        ("raise SystemExit(1)", "nbgrader autograde failed; see grading.log"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "the grading process was killed (signal 9)"),
        ("import time; time.sleep(60)", "it took more than 2 s in all and was ended"),
    ],
)
def test_whatever_happens_to_the_grading_process_becomes_a_sentence(tmp_path, monkeypatch, program, sentence):
    monkeypatch.setattr(grader, "find_spec", lambda name: True)
    (tmp_path / "nbgrader.py").write_text(program)  # `python -m` looks in the working directory first
    start = time.monotonic()
    limit = 2 if sentence.startswith("it took") else 50
    answer = grader.nbgrader(tmp_path, "autograde", "lesson06", timeout=limit)
    assert answer == sentence or (sentence and answer.startswith(sentence))
    assert time.monotonic() - start < 50
    assert "$ nbgrader autograde lesson06" in (tmp_path / "grading.log").read_text()


def test_cells_that_were_stopped_are_named_once_for_each_exercise(tmp_path):
    error = SimpleNamespace(
        time=new_output("error", ename="CellTimeoutError", evalue=""),
        left=new_output("error", ename=LEFT_OUT, evalue="a cell ran longer than 5 s and was interrupted"),
        wrong=new_output("error", ename="AssertionError", evalue="no"),
    )
    mine = {"grpo_lessons": {"exercise": "06.wilson"}}
    cells = [
        new_markdown_cell("text"),
        new_code_cell("a", metadata=mine, outputs=[error.time]),
        new_code_cell("b", metadata=mine, outputs=[error.left]),
        new_code_cell("c", metadata={"grpo_lessons": {"exercise": "06.majority"}}, outputs=[error.wrong]),
        new_code_cell("d", outputs=[error.time]),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "graded.ipynb")
    assert stopped_cells(tmp_path / "graded.ipynb") == [
        "06.wilson: a cell ran longer than 5 s and was interrupted",
        "cell 5: a cell ran out of time and was interrupted",
    ]


def test_names_of_submitted_files_can_neither_forge_a_line_nor_stop_the_report(course):
    folder = course / "submitted" / "bob" / "lesson06"
    (folder / "x\nlesson06  eve              6 of 6").touch()
    grade(course, say=lambda line: None)
    lines = (course / "grading_report.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split()[1] for line in lines if line.startswith("lesson06")] == ["ada", "bob"]
    assert r"x\nlesson06  eve              6 of 6" in lines[-1]
    assert one_line(os.fsdecode(b"caf\xe9 \x1b[2J")) == r"caf\udce9 \x1b[2J"  # Latin-1, and an order to the terminal


def test_the_time_for_a_submission_does_not_grow_with_cells_of_its_own(course, monkeypatch):
    notebook = pupils.released(course, "lesson06")
    limits = []
    monkeypatch.setattr(grading, "nbgrader", lambda *arguments, timeout: limits.append(timeout) or "it did not end")
    for extra in (0, 1000):
        notebook["cells"] += [{"cell_type": "code", "metadata": {}, "source": "while True: pass"}] * extra
        pupils.hand_in(course, "bob", "lesson06", notebook)
        grade_one(Book(course), "lesson06", "bob", grading.released_lessons(course, "06")["lesson06"], 30)
    assert limits[0] == limits[1] < 1200


def test_full_marks_are_one_line():
    outcome = Outcome("lesson06", "ada", [Mark("06.wilson", 2.0, 2.0)])
    assert outcome.lines() == ["lesson06  ada              2 of 2"]
