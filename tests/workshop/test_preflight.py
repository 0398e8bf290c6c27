"""What is found and mended in a submission before it is graded. Each case is one sentence of the report."""

import json
import os

import pupils
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from grpo_lessons.workshop.assignments import assignment
from grpo_lessons.workshop.exercises import lesson_files, read_lesson
from grpo_lessons.workshop.preflight import MAX_SOURCE, check_submission, conspicuous

LESSON = read_lesson(lesson_files()["lesson06"])  # pass_at_k, wilson, majority
RELEASE = pupils.as_released(assignment(LESSON))
RIGHT = pupils.right(LESSON)


@pytest.fixture
def notebook() -> dict:
    """A right submission, as JSON."""
    return pupils.answered(json.loads(json.dumps(RELEASE)), RIGHT)


@pytest.fixture
def check(tmp_path):
    """Hands a notebook in and checks it."""

    def run(notebook):
        path = pupils.hand_in(tmp_path, "ada", "lesson06", notebook)
        return check_submission(path.parent, "lesson06", RELEASE)

    return run


def cell(notebook: dict, name: str) -> dict:
    return next(cell for cell in notebook["cells"] if cell["id"] == name)


def ids(notebook) -> list[str]:
    """The cells that nbgrader knows, in order."""
    return [cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata]


def test_a_right_submission_has_no_troubles_and_keeps_its_answers(check, notebook):
    checked = check(notebook)
    assert checked.troubles == []
    assert ids(checked.notebook) == ids(RELEASE)
    assert {cell.id: cell.source for cell in checked.notebook.cells if cell.id in RIGHT} == RIGHT


def test_a_tampered_test_is_replaced_and_its_points_too(check, notebook):
    cell(notebook, "06-wilson-check")["source"] = "assert True"
    cell(notebook, "06-wilson-hidden")["metadata"]["nbgrader"]["points"] = 100
    cell(notebook, "lesson06-setup")["source"] = "class check: ..."
    checked = check(notebook)
    assert sorted(checked.troubles) == [
        "cell 06-wilson-check was changed; the genuine one counts",
        "cell 06-wilson-hidden was changed; the genuine one counts",
        "cell lesson06-setup was changed; the genuine one counts",
    ]
    genuine = {cell.id: cell for cell in RELEASE.cells if cell.id not in RIGHT}
    for mended in checked.notebook.cells:
        if mended.id in genuine:
            assert (mended.source, mended.metadata) == (genuine[mended.id].source, genuine[mended.id].metadata)


def test_an_answer_cell_renamed_for_nbgrader_is_found_by_the_notebooks_own_id(check, notebook):
    cell(notebook, "06-wilson")["metadata"]["nbgrader"]["grade_id"] = "mine"
    checked = check(notebook)
    assert checked.troubles == ["a cell was renamed to 'mine': recognised as 06-wilson"]
    assert ids(checked.notebook) == ids(RELEASE)


def test_an_answer_cell_that_lost_both_ids_is_found_by_its_function(check, notebook):
    lost = cell(notebook, "06-wilson")
    lost["id"], lost["metadata"] = "x1", {}
    checked = check(notebook)
    assert checked.troubles == ["answer cell 06-wilson had lost its id; it was recognised by `def my_wilson`"]
    assert ids(checked.notebook) == ids(RELEASE)


def test_missing_cells_are_put_back_in_their_place_and_a_missing_answer_is_said(check, notebook):
    gone = ("lesson06-setup", "06-pass_at_k-check", "06-wilson")
    notebook["cells"] = [c for c in notebook["cells"] if c["id"] not in gone]
    checked = check(notebook)
    assert checked.troubles == [
        "answer cell 06-wilson is missing",
        "test cell 06-pass_at_k-check is missing; it was put back",
        "cell lesson06-setup is missing; it was put back",
    ]
    assert ids(checked.notebook)[0] == "lesson06-setup"
    at = ids(checked.notebook).index("06-pass_at_k")
    assert ids(checked.notebook)[at + 1 : at + 3] == ["06-pass_at_k-check", "06-pass_at_k-hidden"]
    assert {"06-wilson-check", "06-wilson-hidden"} <= set(ids(checked.notebook))


def test_of_two_copies_of_an_answer_the_last_counts_and_the_first_still_runs(check, notebook):
    copied = dict(cell(notebook, "06-wilson"), id="copy", source="z = 1.96")
    notebook["cells"].insert(1, copied)
    checked = check(notebook)
    assert checked.troubles == ["cell 06-wilson is there twice; the last one counts"]
    named = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in checked.notebook.cells}
    assert named["06-wilson"] == RIGHT["06-wilson"]
    assert "z = 1.96" in [cell.source for cell in checked.notebook.cells]
    all_ids = [cell.id for cell in checked.notebook.cells]
    assert len(all_ids) == len(set(all_ids))


def test_a_test_above_its_answer_is_moved_below_it(check, notebook):
    moved = cell(notebook, "06-wilson-check")
    notebook["cells"].remove(moved)
    notebook["cells"].insert(0, moved)
    checked = check(notebook)
    assert checked.troubles == ["test cell 06-wilson-check stood above its answer; it was moved below"]
    at = ids(checked.notebook).index("06-wilson")
    assert ids(checked.notebook)[at + 1 : at + 3] == ["06-wilson-check", "06-wilson-hidden"]


def test_cells_of_the_students_own_stay_where_they_are(check, notebook):
    at = notebook["cells"].index(cell(notebook, "06-wilson-check"))
    notebook["cells"].insert(at, {"cell_type": "code", "metadata": {}, "source": ["helper", " = 1"], "outputs": []})
    checked = check(notebook)
    assert checked.troubles == []
    sources = [cell.source for cell in checked.notebook.cells]
    assert sources[at - 1 : at + 1] == [RIGHT["06-wilson"], "helper = 1"]
    assert checked.notebook.cells[at + 1].metadata.nbgrader.grade_id == "06-wilson-check"


@pytest.mark.slow  # builds and parses it: a gigabyte of memory for some seconds
def test_two_hundred_megabytes_of_output_are_left_out_with_a_line(check, notebook):
    flood = [{"output_type": "stream", "name": "stdout", "text": "x" * 200_000_000}]
    cell(notebook, "06-wilson-check")["outputs"] = flood
    checked = check(notebook)
    assert checked.troubles == ["lesson06.ipynb has 200 MB; the outputs were left out before grading"]
    assert all(not cell.get("outputs") for cell in checked.notebook.cells)


def test_megabytes_of_code_are_not_run(check, notebook):
    cell(notebook, "06-wilson")["source"] = "#" * (MAX_SOURCE + 1)
    checked = check(notebook)
    assert checked.notebook is None
    assert checked.troubles == ["not graded: lesson06.ipynb has 2 MB of code and text; more than 2 are not run"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "lesson06.ipynb is an empty file; ask for the file again"),
        (b"PK\x03\x04", "lesson06.ipynb is not JSON (Expecting value"),
        (b"\xff\xfe\x00\x01", "lesson06.ipynb is not JSON ("),
        (b"[" * 200_000, "lesson06.ipynb is not JSON (maximum recursion depth"),
        (b'{"worksheets": []}', "lesson06.ipynb is JSON but no notebook of format 4: it has no list of cells"),
        (b"[1]", "lesson06.ipynb is JSON but no notebook"),
        (b'{"cells": [1, {"cell_type": "code", "id": ["x"], "metadata": {"nbgrader": 3}, "source": null}]}', "none"),
    ],
)  # fmt: skip
def test_what_is_no_notebook_of_this_lesson_gets_no_marks_and_one_sentence(check, content, sentence):
    checked = check(content)
    assert checked.notebook is None
    assert len(checked.troubles) == 1 and checked.troubles[0].startswith(f"not graded: {sentence}")


def test_a_file_that_the_memory_cannot_hold_stops_nobody(check, notebook, monkeypatch):
    def out_of_memory(content):
        raise MemoryError

    monkeypatch.setattr("grpo_lessons.workshop.preflight.json.loads", out_of_memory)
    assert "does not fit into this machine's memory" in check(notebook).troubles[0]


def test_the_file_of_another_lesson_is_refused(check):
    other = assignment(read_lesson(lesson_files()["lesson17"]))
    assert "is it another lesson's file?" in check(json.loads(json.dumps(other))).troubles[0]


def test_a_renamed_notebook_is_taken_if_it_is_the_only_one(check, notebook, tmp_path):
    path = pupils.hand_in(tmp_path, "ada", "lesson06", notebook)
    path.rename(path.with_name("final (2).ipynb"))
    checked = check_submission(path.parent, "lesson06", RELEASE)
    assert checked.notebook is not None
    assert checked.troubles == ["lesson06.ipynb is missing; final (2).ipynb was taken for it"]
    path.with_name("other.ipynb").write_text("{}")
    checked = check_submission(path.parent, "lesson06", RELEASE)
    assert checked.notebook is None
    assert checked.troubles == [
        "not graded: lesson06.ipynb is missing; there are final (2).ipynb, other.ipynb, and none has that name"
    ]


def test_a_folder_without_a_notebook_says_so_and_names_what_is_there(tmp_path):
    (tmp_path / "answer.pdf").write_bytes(b"%PDF")
    assert check_submission(tmp_path, "lesson06", RELEASE).troubles == [
        "only the notebook is graded; left out: answer.pdf",
        "not graded: lesson06.ipynb is missing; there is no notebook",
    ]


def test_links_out_of_the_folder_are_never_followed(notebook, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "lesson06.ipynb").write_text(json.dumps(notebook))
    folder = tmp_path / "submitted" / "ada" / "lesson06"
    folder.mkdir(parents=True)
    (folder / "lesson06.ipynb").symlink_to(secret / "lesson06.ipynb")
    (folder / "more").symlink_to(secret)
    checked = check_submission(folder, "lesson06", RELEASE)
    assert checked.notebook is None
    assert [f"is a symlink to {secret}" in line for line in checked.troubles] == [True, True, False]
    assert checked.troubles[2] == "not graded: lesson06.ipynb is missing; there is no notebook"
    linked = tmp_path / "submitted" / "bob"
    linked.symlink_to(folder.parent)
    assert check_submission(linked / "lesson06", "lesson06", RELEASE).troubles == [
        "not graded: the folder is a symlink; it was not followed"
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_does_not_make_the_grader_wait(tmp_path):
    os.mkfifo(tmp_path / "lesson06.ipynb")
    assert check_submission(tmp_path, "lesson06", RELEASE).troubles[0].startswith("lesson06.ipynb is neither file nor")


def test_a_lone_surrogate_in_a_source_does_not_stop_the_copy_from_being_written(check, notebook):
    cell(notebook, "06-wilson")["source"] = '"\ud800"'
    answer = next(cell for cell in check(notebook).notebook.cells if cell.id == "06-wilson")
    assert answer.source == '"?"'


@pytest.mark.parametrize(
    "cheat",
    [
        "import sqlite3",
        "from grpo_lessons.workshop import hidden\nhidden.judge = lambda *_: True",
        "check.lesson06.wilson = lambda function: True",
        "from grpo_lessons.check.base import Exercise\nExercise.__call__ = lambda *_: True",
        "open('../gradebook.db', 'w')",
    ],
)
def test_a_cell_that_reaches_for_tests_or_marks_is_named(check, notebook, cheat):
    first = next(cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("solution"))
    first["source"] += "\n" + cheat
    (line,) = check(notebook).troubles
    assert line.endswith("which no answer needs: read it before it counts")


@pytest.mark.parametrize("lesson", lesson_files())
def test_no_right_answer_of_the_course_looks_like_a_cheat(lesson):
    answers = pupils.right(read_lesson(lesson_files()[lesson]))
    assert answers and conspicuous(new_notebook(cells=[new_code_cell(answer) for answer in answers.values()])) == []
