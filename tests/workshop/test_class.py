"""A simulated class goes through `workshop build` and `workshop grade`, nbgrader included; expected marks literal."""

import csv
from pathlib import Path

import pupils
import pytest

pytest.importorskip("nbgrader", reason="needs nbgrader (make test-slow installs it)")

from grpo_lessons.commands.workshop import build
from grpo_lessons.workshop.exercises import lesson_files, read_lesson
from grpo_lessons.workshop.grading import grade

pytestmark = pytest.mark.slow

TIMEOUT = 20  # seconds for a cell; the two loops use them up
LESSONS = {name: read_lesson(lesson_files()[name]) for name in ("lesson06", "lesson17")}  # three exercises each
FAULTS = {
    "lesson06": {"endless_loop": (0, "while True: pass"), "crashed_kernel": (1, "__import__('os')._exit(1)")},
    # A loop that is deaf to the interrupt, and a kernel that leaves politely.
    "lesson17": {
        "endless_loop": (1, "__import__('signal').signal(2, 1)\n    while True: pass"),
        "crashed_kernel": (0, "get_ipython().ask_exit()"),
    },
}
MARKS = {  # of six
    "all_right": 6,
    "all_empty": 0,
    "typical_wrong": 4,
    "endless_loop": 4,
    "crashed_kernel": 4,
    "tampered_test": 4,
    "not_json": 0,
}


def tampered(course: Path, lesson: str) -> dict:
    """A wrong answer to the first exercise, and tests that pass whatever stands there."""
    notebook = pupils.answered(pupils.released(course, lesson), pupils.wrong(LESSONS[lesson], 0))
    for cell in notebook["cells"]:
        if cell["id"].endswith(("-check", "-hidden")):
            cell["source"], cell["metadata"]["nbgrader"]["points"] = "assert True", 100
    return notebook


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The graded course; its report's lines by (lesson, student)."""
    course = tmp_path_factory.mktemp("course")
    build(course, "06,17")
    for name, lesson in LESSONS.items():
        answers = {"all_right": pupils.right(lesson), "all_empty": {}, "typical_wrong": pupils.wrong(lesson, 2)}
        answers |= {fault: pupils.replaced(lesson, *how) for fault, how in FAULTS[name].items()}
        for student, answer in answers.items():
            pupils.hand_in(course, student, name, pupils.answered(pupils.released(course, name), answer))
        pupils.hand_in(course, "tampered_test", name, tampered(course, name))
        pupils.hand_in(course, "not_json", name, b"PK\x03\x04 a zip file")
    outcomes = grade(course, timeout=TIMEOUT)
    return course, {(outcome.lesson, outcome.student): outcome for outcome in outcomes}


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("student", MARKS)
def test_the_export_has_the_marks_that_each_submission_deserves(course, lesson, student):
    with open(course[0] / "grades.csv", newline="") as file:
        rows = {(row["assignment"], row["student_id"]): row for row in csv.DictReader(file)}
    row = rows[lesson, student]
    assert (float(row["score"]), float(row["max_score"])) == (MARKS[student], 6)


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_loop_and_a_crash_cost_their_own_exercise_and_say_so(course, lesson):
    for student, words in (("endless_loop", f"ran longer than {TIMEOUT} s"), ("crashed_kernel", "ended the kernel")):
        outcome, at = course[1][lesson, student], FAULTS[lesson][student][0]
        assert [mark.points for mark in outcome.marks] == [0 if i == at else 2 for i in range(3)]
        assert [words in line and LESSONS[lesson].exercises[at].name in line for line in outcome.troubles] == [True]


@pytest.mark.parametrize("lesson", LESSONS)
def test_tampered_tests_are_named_and_the_genuine_ones_count(course, lesson):
    outcome = course[1][lesson, "tampered_test"]
    assert [mark.points for mark in outcome.marks] == [0, 2, 2]
    assert len(outcome.troubles) == 6 and all("the genuine one counts" in line for line in outcome.troubles)


def test_every_student_has_a_line_and_what_cannot_be_graded_says_why(course):
    report = (course[0] / "grading_report.txt").read_text()
    for lesson, student in course[1]:
        assert f"{lesson}  {student:16}" in report
    assert report.count("not graded: lesson06.ipynb is not JSON") == 1
    assert [outcome.troubles for (_, s), outcome in course[1].items() if s in ("all_right", "all_empty")] == [[]] * 4


@pytest.mark.parametrize("lesson", LESSONS)
def test_graded_submissions_have_feedback_with_the_hint_of_the_check(course, lesson):
    for student in MARKS:
        page = course[0] / "feedback" / student / lesson / f"{lesson}.html"
        assert page.is_file() == (student != "not_json")
    assert "Not yet" in (course[0] / "feedback" / "typical_wrong" / lesson / f"{lesson}.html").read_text()


def test_marks_by_exercise_are_written_for_the_report(course):
    with open(course[0] / "marks.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 * 2 * 3
    wrong = [row for row in rows if row["student"] == "typical_wrong" and row["points"] == "0.0"]
    assert [row["exercise"] for row in wrong] == ["06.majority", "17.training_states"]
