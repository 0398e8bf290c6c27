"""The course folder that the lessons become: complete, and nothing in it that students should not see."""

import io
from contextlib import redirect_stdout
from functools import cache

import nbformat
import pupils
import pytest

from grpo_lessons.workshop.assignments import assignment, build, cell_id, select
from grpo_lessons.workshop.exercises import Lesson, exercise_text, lesson_files, read_lesson, solutions_file
from grpo_lessons.workshop.source_text import check_call, definitions

FILES = lesson_files()


@cache
def lesson_of(name: str) -> Lesson:
    return read_lesson(FILES[name])


def exercise_ids(path) -> list[str]:
    """Read here on purpose without the code under test."""
    cells = nbformat.read(path, as_version=4).cells
    return [c.metadata.grpo_lessons.exercise for c in cells if "exercise" in c.metadata.get("grpo_lessons", {})]


def test_every_lesson_with_exercises_becomes_an_assignment():
    folder = FILES["lesson01"].parent
    lessons = [*folder.glob("*.ipynb"), *folder.glob("side_roads/*.ipynb")]
    assert sorted(FILES.values()) == sorted(path for path in lessons if exercise_ids(path))
    assert all(solutions_file(path).is_file() for path in FILES.values())


@pytest.mark.parametrize("name", FILES)
def test_every_exercise_of_a_lesson_has_a_graded_twin(name):
    asked = exercise_ids(FILES[name])
    cells = {cell.id: cell for cell in assignment(lesson_of(name)).cells}
    graded = [cell.metadata.grpo_lessons.exercise for cell in cells.values() if "grpo_lessons" in cell.metadata]
    assert graded == [exercise for exercise in asked for _ in range(3)]
    for exercise in asked:
        key = cell_id(exercise)
        assert cells[key].metadata.nbgrader.solution
        assert [cells[f"{key}-{kind}"].metadata.nbgrader.points for kind in ("check", "hidden")] == [1, 1]
        assert f'judge("{exercise}", ' in cells[f"{key}-hidden"].source


@pytest.mark.parametrize("name", FILES)
def test_students_see_the_stubs_of_the_lesson_and_neither_solutions_nor_hidden_tests(name):
    released = pupils.as_released(assignment(lesson_of(name)))
    text = "\n".join(cell.source for cell in released.cells)
    assert "judge" not in text and "SOLUTION" not in text and "HIDDEN" not in text
    lesson = {c.metadata.get("grpo_lessons", {}).get("exercise"): c for c in nbformat.read(FILES[name], 4).cells}
    for exercise in lesson_of(name).exercises:
        stub = next(cell.source for cell in released.cells if cell.id == cell_id(exercise.name)).strip()
        assert lesson[exercise.name].source.startswith(stub) and "..." in stub


@pytest.mark.parametrize("name", FILES)
def test_the_solutions_earn_all_points_and_the_stubs_none(name):
    source = assignment(lesson_of(name))
    passed = failed = 0
    right, empty = {}, {}
    for cell, stub in zip(source.cells, pupils.as_released(source).cells, strict=True):
        if cell.cell_type == "code":
            with redirect_stdout(io.StringIO()):
                exec(cell.source, right)
                passed += cell.id.endswith(("-check", "-hidden"))
                try:
                    exec(stub.source if not cell.id.endswith("-hidden") else cell.source, empty)
                except AssertionError:
                    failed += 1
    assert passed == failed == 2 * len(lesson_of(name).exercises)


def test_the_text_of_an_exercise_in_mid_lesson_names_its_section_and_keeps_the_rules_above_it():
    cells = nbformat.read(FILES["lesson02"], as_version=4).cells
    at = next(i for i, c in enumerate(cells) if c.metadata.get("grpo_lessons", {}).get("exercise") == "02.extract")
    kinds, parts = zip(*exercise_text(cells, at), strict=True)
    assert set(kinds) == {"markdown"}
    assert parts[0] == "*In the lesson: 2. Where is the answer?*"
    assert parts[1].startswith("So these are the rules") and parts[-1].startswith("**Exercise 1.**")


def test_a_find_the_fault_exercise_shows_the_faulty_function():
    shown = {e.name: [s for kind, s in e.text if kind == "code"] for e in lesson_of("lesson01").exercises}
    assert [len(cells) for cells in shown.values()] == [0, 0, 1]
    assert "inspect.getsource(check.faults.advantages)" in shown["01.repair_advantages"][0]


def test_links_to_files_that_students_do_not_have_become_plain_text():
    text = "\n".join(part for name in FILES for e in lesson_of(name).exercises for _, part in e.text)
    assert "lesson 07 trains a policy against it" in text and ".ipynb)" not in text


def test_cell_ids_are_unique_and_do_not_change_from_build_to_build(tmp_path):
    first, second = (build(tmp_path / folder, "01-02") for folder in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    ids = [cell.id for path in first for cell in nbformat.read(path, as_version=4).cells]
    assert len(ids) == len(set(ids))
    assert {"01-dead_group", "01-dead_group-check", "01-dead_group-hidden", "lesson01-setup"} <= set(ids)


def test_a_course_folder_has_source_configuration_and_instructions(tmp_path):
    build(tmp_path, "06")
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert found == ["README.md", "nbgrader_config.py", "source/lesson06/lesson06.ipynb"]


def test_a_readme_of_something_else_is_not_overwritten(tmp_path):
    (tmp_path / "README.md").write_text("my thesis", encoding="utf-8")
    with pytest.raises(ValueError, match=r"has a README.md of its own: give a new folder"):
        build(tmp_path, "06")
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "my thesis"
    assert build(tmp_path / "course", "06") == build(tmp_path / "course", "06")


def test_lessons_are_chosen_by_number_span_and_name():
    names = ["lesson01", "lesson02", "lesson04", "side_ppo"]
    assert select("", names) == names
    assert select("02-09, side_ppo", names) == ["lesson02", "lesson04", "side_ppo"]
    for unknown in ("3", "21-30", "side_walk"):
        with pytest.raises(ValueError, match=r"no exercises under .*; give numbers such as"):
            select(unknown, names)


def test_a_solution_under_another_name_answers_by_the_name_of_the_stub():
    own_task = lesson_of("lesson18").exercises[-1]
    assert own_task.answer == "MyTask" and own_task.solution.endswith("MyTask = Fahrenheit")


def test_an_exercise_without_a_call_of_its_check_is_refused():
    with pytest.raises(ValueError, match="an exercise calls its check"):
        check_call("def my_mean(values):\n    ...")


def test_definitions_keep_decorators_and_leave_out_what_only_runs():
    source = "import ast\n\n@cache\ndef f():\n    return 1  # one\n\n\nassert f()\nprint(f())"
    assert definitions(source) == "import ast\n\n\n@cache\ndef f():\n    return 1  # one"
