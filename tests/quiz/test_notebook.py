"""notebooks/quiz.ipynb has a part for every quiz, with today's questions, and every lesson leads there."""

import nbformat
import pytest

from grpo_lessons import quiz
from grpo_lessons.paths import data_dir

FOLDER = data_dir().parent / "notebooks"
AGAIN = "build it again: put quiz.ask() cells in for new lessons, then python -m grpo_lessons.notebooks execute"


@pytest.fixture(scope="module")
def forms():
    """Lesson -> the form that is committed as the output of its cell."""
    cells = nbformat.read(FOLDER / "quiz.ipynb", as_version=4).cells
    asked = {cell.source[10:12]: cell for cell in cells if cell.source.startswith('quiz.ask("')}
    return {lesson: cell.outputs[0].data.get("text/markdown") for lesson, cell in asked.items()}


def test_every_quiz_has_its_part(forms):
    assert list(forms) == quiz.lessons(), AGAIN


@pytest.mark.parametrize("lesson", quiz.lessons())
def test_the_committed_form_is_that_of_the_file(lesson, forms):
    assert forms[lesson] == quiz.form(lesson), f"quiz.ipynb shows older questions; {AGAIN} notebooks/quiz.ipynb"


@pytest.mark.parametrize("lesson", quiz.lessons())
def test_the_lesson_leads_to_its_quiz_at_its_head_and_in_its_recap(lesson):
    (path,) = FOLDER.glob(f"{lesson}_*.ipynb")
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"]
    recap = next(text for text in cells if "## Recap" in text)
    for text in (cells[0], recap):
        assert f"[quiz](quiz.ipynb), part {lesson}." in text
