"""One page about a class: the numbers, what is not told, no names, and bad files that stop nobody."""

import csv
import json
import os

import pytest

from grpo_lessons import quiz
from grpo_lessons.evaluation import wilson_interval
from grpo_lessons.workshop.report import report

HEAD = "assignment,duedate,timestamp,student_id,last_name,first_name,email,raw_score,late_submission_penalty,score"
HEAD += ",max_score"


def sitting(lesson, n_right):
    """The first questions right, the others with the misunderstanding of their first wrong option."""
    answers = {}
    for i, question in enumerate(quiz.load(lesson).questions):
        wrong = next(option.misunderstanding for option in question.options if not option.right)
        answers[question.id] = "right" if i < n_right else wrong
    return answers


def hand_in(folder, name, **sittings):
    """sittings: before=2 means two right of five in lesson 04."""
    (folder / "quizzes").mkdir(parents=True, exist_ok=True)
    content = {"04": {when: sitting("04", n_right) for when, n_right in sittings.items()}}
    (folder / "quizzes" / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")


def mark(assignment, student, score, stamp="2026-11-30 10:00:00"):
    return f"{assignment},,{stamp},{student},Lovelace,Ada,ada@example.org,{score},0.0,{score},10.0"


def grades(folder, *rows):
    folder.mkdir(exist_ok=True)
    (folder / "grades.csv").write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")


def table(out, what):
    with open(out / "report.csv", encoding="utf-8", newline="") as file:
        return {(row["name"], row["when"]): row for row in csv.DictReader(file) if row["what"] == what}


@pytest.fixture
def out(tmp_path, monkeypatch):
    """Without the picture, which takes most of the time; one test below draws it."""
    monkeypatch.setattr("grpo_lessons.plots.style.png", lambda fig: b"")
    return tmp_path / "out"


@pytest.fixture
def folder(tmp_path):
    """Six people, before 1 2 1 2 1 2 and after 4 4 3 4 4 5 of five right; their marks 5, 6, ..., 10 of 10."""
    folder = tmp_path / "class"
    for i, (before, after) in enumerate(zip((1, 2, 1, 2, 1, 2), (4, 4, 3, 4, 4, 5), strict=True)):
        hand_in(folder, f"ada{i}", before=before, after=after)
    grades(folder, *(mark("lesson04", f"s{i}", 5.0 + i) for i in range(6)))
    return folder


def test_means_before_and_after_and_their_paired_difference(folder, out):
    assert report(folder, out) == []
    rows = table(out, "quiz")
    shares = {when: float(rows["04", when]["share"]) for when in ("before", "after", "difference")}
    assert shares == {"before": 0.3, "after": 0.8, "difference": 0.5}
    assert all(float(row["low"]) <= float(row["share"]) <= float(row["high"]) for row in rows.values())
    assert float(rows["04", "difference"]["low"]) > 0


def test_marks_are_shares_of_the_points_of_those_who_handed_in(folder, out):
    rows = [mark("lesson04", f"s{i}", 5.0 + i) for i in range(6)]
    grades(folder, *rows, mark("lesson04", "s9", 0.0, stamp=""))
    assert report(folder, out) == ["grades.csv: 1 rows without time stamp and points count as not handed in"]
    row = table(out, "assignment")["lesson04", ""]
    assert (row["people"], row["share"]) == ("6", "0.75")


def test_a_misunderstanding_is_counted_in_people_with_wilsons_interval(folder, out):
    report(folder, out)
    name = f"04 {sitting('04', 1)['04.2']}"  # held before by the three people with one right answer
    row = table(out, "misunderstanding")[name, "before"]
    low, high = wilson_interval(3, 6)
    assert (row["chosen"], row["people"]) == ("3", "6")
    assert (float(row["low"]), float(row["high"])) == (round(low, 2), round(high, 2))


def test_a_number_near_none_or_near_all_is_not_told(folder, out):
    report(folder, out)
    rows = table(out, "misunderstanding")
    everybody = f"04 {sitting('04', 2)['04.3']}"  # wrong before for all six, after for nobody
    assert (rows[everybody, "before"]["chosen"], rows[everybody, "before"]["share"]) == (">3", "")
    assert (rows[everybody, "after"]["chosen"], rows[everybody, "after"]["share"]) == ("<3", "")


def test_fewer_than_five_people_are_not_told_of(tmp_path, out):
    for i in range(4):
        hand_in(tmp_path / "class", f"p{i}", before=2, after=4)
    grades(tmp_path / "class", *(mark("lesson04", f"s{i}", 7.0) for i in range(4)))
    report(tmp_path / "class", out)
    assert table(out, "quiz")["04", ""]["people"] == table(out, "assignment")["lesson04", ""]["people"] == "<5"
    assert table(out, "misunderstanding") == {} and "70%" not in (out / "report.md").read_text(encoding="utf-8")


def test_a_mean_that_would_tell_everybodys_result_is_not_told(tmp_path, out):
    for i in range(6):
        hand_in(tmp_path / "class", f"p{i}", before=i % 3, after=5)
    report(tmp_path / "class", out)
    rows = table(out, "quiz")
    assert rows["04", "before"]["share"] and not rows["04", "after"]["share"]
    assert ("04", "difference") not in rows


def test_who_answered_once_only_cannot_be_found_by_subtraction(folder, out):
    hand_in(folder, "late", before=0)
    report(folder, out)
    row = table(out, "quiz")["04", "before"]
    assert (row["people"], row["share"]) == ("6", "0.3")


def test_no_name_reaches_the_page(folder, out):
    (folder / "quizzes" / "ada_broken.json").write_text("{", encoding="utf-8")
    assert "ada_broken.json" in report(folder, out)[0]
    pages = "".join((out / name).read_text(encoding="utf-8") for name in ("report.md", "report.csv")).lower()
    assert not any(name in pages for name in ("ada", "lovelace", "s0", "s1"))


def bad_answers(**changes):
    return json.dumps({"04": {"before": sitting("04", 2) | changes}})


BAD = {
    "not JSON": ("{", "it is not the `.progress/quiz.json` of a participant"),
    "another JSON": ("[1]", "it holds no answers"),
    "too large": ('"' + "x" * 1_000_001 + '"', "1,000,003 bytes"),
    "deep": ("[" * 100_000, "it is not the `.progress/quiz.json` of a participant"),
    "an unknown answer": (bad_answers(**{"04.1": "flat-earth"}), "'flat-earth' is no answer to 04.1"),
    "a list as answer": (bad_answers(**{"04.1": ["right"]}), "['right'] is no answer to 04.1"),
    "a question too many": (
        bad_answers(**{"04.6": "right"}),
        "it answers 04.1, 04.2, 04.3, 04.4, 04.5, 04.6; the quiz",
    ),
    "an unknown lesson": (json.dumps({"99": {"before": {"99.1": None}}}), "lesson '99' has no quiz"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_quiz_file_gets_a_line_and_stops_nobody(fault, folder, out):
    content, expected = BAD[fault]
    (folder / "quizzes" / "zz.json").write_text(content, encoding="utf-8")
    lines = report(folder, out)
    assert len(lines) == 1 and expected in lines[0]
    assert table(out, "quiz")["04", "before"]["people"] == "6"


def test_a_link_to_nowhere_and_bytes_that_are_no_text_get_a_line_each(folder, out):
    os.symlink(folder / "gone", folder / "quizzes" / "link.json")
    (folder / "quizzes" / "bytes.json").write_bytes(b"\xff\xfe\x00")
    assert len(report(folder, out)) == 2


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("lesson04,,x,s9,Doe, Jr,Jo,,1.0,0.0,1.0,10.0", "a row of 12 fields, left out: is there a comma in a name?"),
        (mark("lesson04", "s9", "many"), "line 8: left out, score and max_score are no marks"),
        (mark("lesson04", "s9", "nan"), "line 8: left out, score and max_score are no marks"),
    ],
)
def test_a_bad_row_of_the_grades_gets_a_line_and_stops_nobody(row, expected, folder, out):
    grades(folder, *(mark("lesson04", f"s{i}", 5.0 + i) for i in range(6)), row)
    assert report(folder, out) == [f"grades.csv, {expected}" if "line" in expected else f"grades.csv: {expected}"]
    assert table(out, "assignment")["lesson04", ""]["people"] == "6"


def test_another_table_in_place_of_the_grades_gets_a_line(folder, out):
    (folder / "grades.csv").write_text("name,points\nAda,3\n", encoding="utf-8")
    assert "it lacks the columns assignment, timestamp, student_id, score, max_score" in report(folder, out)[0]
    assert table(out, "assignment") == {}


def test_an_empty_folder_says_what_to_put_there(tmp_path, out):
    with pytest.raises(ValueError, match=r"nothing to report .* put each participant's \.progress/quiz\.json into"):
        report(tmp_path, out)


def test_the_page_names_the_rule_the_picture_and_what_is_held_most(folder, tmp_path):
    out = tmp_path / "page"
    report(folder, out)
    page = (out / "report.md").read_text(encoding="utf-8")
    held = quiz.load("04").misunderstandings[sitting("04", 1)["04.2"]]
    assert "everything about fewer than 5 people" in page and "(report.png)" in page and held.says in page
    assert (out / "report.png").read_bytes().startswith(b"\x89PNG")
