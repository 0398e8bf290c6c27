"""nbgrader, called from outside: each call is a process of its own, so that no submission can take this one down.

nbgrader is an optional dependency; nothing here imports it before it is needed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from grpo_lessons.notebooks import ALONE

INSTALL = "nbgrader is not installed: `make workshop`, or pip install -c constraints.txt -e '.[workshop]'"


def require_nbgrader() -> None:
    """ValueError with what to type if nbgrader is missing."""
    if find_spec("nbgrader") is None:
        raise ValueError(INSTALL)


def nbgrader(course: Path, *arguments: str, timeout: float | None = None) -> str:
    """`nbgrader ARGUMENTS` in the course folder; the answer is "" if it succeeded, else one sentence why not.

    What it prints is added to grading.log. timeout: seconds, after which it is ended with all that it started.
    """
    require_nbgrader()
    with open(course / "grading.log", "ab") as log:
        log.write(f"\n$ nbgrader {' '.join(arguments)}\n".encode())
        log.flush()
        process = subprocess.Popen(
            [sys.executable, "-m", "nbgrader", *arguments],
            cwd=course, env=_environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            return f"it took more than {timeout:.0f} s in all and was ended"
        finally:
            _end(process)
    if code < 0:
        return f"the grading process was killed (signal {-code}); does the submission attack it?"
    return f"nbgrader {arguments[0]} failed; see grading.log" if code else ""


def remove(path: Path) -> None:
    """Remove a folder if it is there, read-only files (as nbgrader leaves them) included."""
    if path.is_dir():
        for each in [path, *(p for p in path.rglob("*") if not p.is_symlink())]:
            each.chmod(0o755)  # Windows wants it of the files, other systems of the folders
        shutil.rmtree(path)


def _environment() -> dict[str, str]:
    """nbgrader calls `alembic` by name, and a kernel shall use one thread and no network of the hub."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | ALONE | {"PATH": path}


def _end(process: subprocess.Popen) -> None:
    """End what is left of the process and its group; a kernel notices that its parent is gone and ends itself."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
