"""Lesson 12 in Unsloth's environment, on its CPU backend (make test-unsloth)."""

import nbformat
import pytest
from ours import FOLDER, exercises, printed

from grpo_lessons.notebooks import execute


@pytest.mark.unsloth
def test_lesson_12_runs_through_unsloth(tmp_path, monkeypatch):
    monkeypatch.setenv("GRPO_LESSONS_POLICY", "nano")
    nb = nbformat.read(FOLDER / "12_qwen_grpo.ipynb", as_version=4)
    done = execute(nb, tmp_path, timeout=900)
    said = printed(cell for cell in done.cells if cell.cell_type == "code")
    assert "Here runs nano through unsloth on" in said
    for exercise, cells in exercises(done).items():
        assert "Not done yet" in printed(cells), exercise
