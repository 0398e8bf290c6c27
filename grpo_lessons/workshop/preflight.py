"""What is looked at before nbgrader sees a submission. Nothing is run here, and nothing in `submitted/` is changed.

A folder from a student may hold anything. It is read as data: no symlink is followed, no special file opened, and what
cannot be read is said in one sentence. What can be mended is mended in the copy that is graded.
"""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from grpo_lessons.workshop.restoring import Restorer

MB = 1_000_000
MAX_FILE = 500 * MB  # read into memory as a whole
CONSPICUOUS = re.compile(
    r"gradebook|sqlite3|nbgrader|grpo_lessons\.workshop|setattr|__(?:code|class|globals|builtins)__"
    r"|\bcheck\.[\w.]+\s*=(?!=)|grpo_lessons\.check\.base"
)
MAX_SOURCE = 2 * MB  # code and text of all cells; a lesson has 0.02


@dataclass
class Checked:
    """notebook: what is to be graded, None if nothing can be. troubles: one line each, for the report.

    changed: when the file was last written, in seconds since 1970; nothing better is known about when it was handed in.
    """

    notebook: NotebookNode | None = None
    changed: float = 0.0
    troubles: list[str] = field(default_factory=list)


def check_submission(folder: Path, lesson: str, release: NotebookNode) -> Checked:
    """The submission in submitted/STUDENT/LESSON/, without outputs and with the genuine cells of the assignment."""
    checked = Checked()
    try:
        path = find_notebook(folder, f"{lesson}.ipynb", checked.troubles)
        cells = read_cells(path)
        restorer = Restorer(release)
        checked.notebook = restorer.restore(cells)
    except (ValueError, OSError) as error:
        checked.troubles.append(f"not graded: {error}")
        return checked
    checked.changed = path.stat().st_mtime
    size, kept = path.stat().st_size, sum(len(cell.source) for cell in checked.notebook.cells)
    if size - kept > 10 * MB:
        checked.troubles.append(f"{path.name} has {size / MB:.0f} MB; the outputs were left out before grading")
    checked.troubles += restorer.troubles + conspicuous(checked.notebook)
    return checked


def conspicuous(notebook: NotebookNode) -> list[str]:
    """A line for each of the student's cells that names what no answer needs: the tests, nbgrader, its gradebook.

    Tests share the kernel with the answer, so code that means to can make them pass; this says whom to read.
    """
    lines = []
    for i, cell in enumerate(notebook.cells, 1):
        locked = cell.metadata.get("nbgrader", {}).get("locked", False)
        found = None if locked or cell.cell_type != "code" else CONSPICUOUS.search(cell.source)
        if found:
            lines.append(
                f"cell {i} says {found.group().strip()[:40]!r}, which no answer needs: read it before it counts"
            )
    return lines


def find_notebook(folder: Path, wanted: str, troubles: list[str]) -> Path:
    """The notebook of a submission: under its name or, if that is missing, the only one there is.

    Notes links and other files in `troubles`. ValueError says what is there instead.
    """
    if folder.is_symlink() or folder.parent.is_symlink():
        raise ValueError("the folder is a symlink; it was not followed")
    found, others = [], []
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".ipynb_checkpoints")
        for path in [Path(root, name) for name in [*folders, *sorted(files)]]:
            mode = path.lstat().st_mode
            name = path.relative_to(folder)
            if stat.S_ISLNK(mode):
                troubles.append(f"{name} is a symlink to {os.readlink(path)}; it was not followed")
            elif stat.S_ISREG(mode):
                (found if path.suffix == ".ipynb" else others).append(path)
            elif not stat.S_ISDIR(mode):
                troubles.append(f"{name} is neither file nor folder; it was left out")
    if others:
        troubles.append(f"only the notebook is graded; left out: {_names(others, folder)}")
    if folder / wanted in found:
        return folder / wanted
    if len(found) == 1:
        troubles.append(f"{wanted} is missing; {_names(found, folder)} was taken for it")
        return found[0]
    there = f"there are {_names(found, folder)}, and none has that name" if found else "there is no notebook"
    raise ValueError(f"{wanted} is missing; {there}")


def read_cells(path: Path) -> list[dict]:
    """The cells of a notebook file as they stand there. ValueError if it is too large or not a notebook."""
    size = path.stat().st_size
    if size > MAX_FILE:
        raise ValueError(f"{path.name} has {size / MB:.0f} MB; more than {MAX_FILE / MB:.0f} are not read")
    try:
        data = json.loads(path.read_bytes())
    except MemoryError as error:
        raise ValueError(f"{path.name} does not fit into this machine's memory; ask for it without outputs") from error
    except (ValueError, RecursionError) as error:
        what = "an empty file" if not size else f"not JSON ({str(error)[:80]})"
        raise ValueError(f"{path.name} is {what}; ask for the file again") from error
    cells = data.get("cells") if isinstance(data, dict) else None
    if not isinstance(cells, list):
        raise ValueError(f"{path.name} is JSON but no notebook of format 4: it has no list of cells")
    kinds = ("code", "markdown", "raw")
    cells = [cell for cell in cells if isinstance(cell, dict) and cell.get("cell_type") in kinds]
    for cell in cells:
        cell["metadata"] = cell["metadata"] if isinstance(cell.get("metadata"), dict) else {}
        cell.pop("outputs", None)
    text = sum(len(str(cell.get("source", ""))) for cell in cells)
    if text > MAX_SOURCE:
        raise ValueError(
            f"{path.name} has {text / MB:.0f} MB of code and text; more than {MAX_SOURCE / MB:.0f} are not run"
        )
    return cells


def _names(paths: list[Path], folder: Path) -> str:
    names = [str(path.relative_to(folder)) for path in paths]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
