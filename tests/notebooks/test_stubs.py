"""T38: restart and run all with every stub unfilled ends, and each exercise says what to do.

The committed outputs are those of such a run; `test_lessons.py` runs it again.
"""

import nbformat
import pytest
from ours import LESSONS, SOLUTIONS, exercises, name, printed


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_an_unfilled_exercise_prints_what_to_do(path):
    for exercise, cells in exercises(nbformat.read(path, as_version=4)).items():
        assert "Not done yet" in printed(cells), exercise


@pytest.mark.parametrize("path", SOLUTIONS, ids=name)
def test_a_solution_passes_its_check(path):
    for exercise, cells in exercises(nbformat.read(path, as_version=4)).items():
        assert "Passed." in printed(cells), exercise
        assert "Not yet" not in printed(cells), exercise
