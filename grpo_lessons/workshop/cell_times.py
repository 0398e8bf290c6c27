"""How long each cell of a lesson keeps the processor busy, for the timed tracks of the instructor's guide.

    python -m grpo_lessons.workshop.cell_times notebooks/00*.ipynb     adds to data/workshop/cell_seconds.json

Processor seconds of the kernel with one thread: on a quiet machine that is what a class waits, and unlike a stopwatch
it can be read on a machine that does other work too.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from datetime import date
from pathlib import Path

import nbformat
import psutil
from nbclient import NotebookClient

from grpo_lessons.machine import cpu_name
from grpo_lessons.notebooks import ALONE, clean
from grpo_lessons.workshop.tracks import load_measured, measured_file


def seconds_of_cells(path: str | Path) -> list[float]:
    """Run a notebook in an empty folder; processor seconds of its code cells in their order, to a tenth."""
    nb = clean(nbformat.read(path, as_version=4), keep_outputs=False)
    spent: list[float] = []

    def total() -> float:
        times = psutil.Process(client.km.provisioner.pid).cpu_times()
        return times.user + times.system + times.children_user + times.children_system

    def started(cell, cell_index) -> None:
        spent.append(-total())

    def ended(cell, cell_index, execute_reply) -> None:
        spent[-1] = round(spent[-1] + total(), 1)

    with tempfile.TemporaryDirectory() as folder:
        hooks = {"on_cell_execute": started, "on_cell_executed": ended}
        client = NotebookClient(nb, timeout=3600, kernel_name="python3", **hooks)
        client.execute(env=os.environ | ALONE, cwd=folder)
    return spent


def main(paths: list[str]) -> int:
    """Measure the notebooks one after the other; the record is written after each."""
    if not paths:
        print(__doc__)
        return 2
    for path in paths:
        target, record = measured_file(), load_measured()
        measured = {"date": date.today().isoformat(), "processor": cpu_name(), "seconds": seconds_of_cells(path)}
        record[Path(path).name[:2]] = measured
        target.parent.mkdir(exist_ok=True)
        lines = ",\n".join(f"{json.dumps(lesson)}: {json.dumps(record[lesson])}" for lesson in sorted(record))
        target.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
        print(f"{path}: {sum(measured['seconds']):.0f} processor seconds", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
