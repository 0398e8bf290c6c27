"""Every lesson and every solution, in a fresh kernel with an empty folder as working directory."""

import subprocess
import sys

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from ours import FOLDER, LESSONS, ROOT, SOLUTIONS, exercises, name, printed

from grpo_lessons.notebooks import execute

MINUTES_OF_A_CELL = 10


@pytest.mark.lesson
@pytest.mark.parametrize("path", [*LESSONS, *SOLUTIONS], ids=name)
def test_runs_from_top_to_bottom(path, tmp_path):
    nb = nbformat.read(path, as_version=4)
    try:
        done = execute(nb, tmp_path, timeout=60 * MINUTES_OF_A_CELL)
    except CellExecutionError as error:
        pytest.fail(f"{name(path)}, {' '.join(error.__notes__)}\n{error}", pytrace=False)
    wanted = "Passed." if path in SOLUTIONS else "Not done yet"
    for exercise, cells in exercises(done).items():
        assert wanted in printed(cells), exercise


@pytest.mark.lesson
@pytest.mark.parametrize("folder", [ROOT, FOLDER, FOLDER / "side_roads"], ids=lambda path: path.name)
def test_library_and_data_are_found_from(folder):
    code = (
        "from grpo_lessons import check, plots\n"
        "from grpo_lessons.policies import load_policy\n"
        "from grpo_lessons.tasks import get_task\n"
        "load_policy('nano'); get_task('addition').problems('held_out', 4, 0)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, timeout=120)
