"""Running a submission so that an exercise can spoil no marks but its own. nbgrader_config.py names this class.

nbgrader interrupts a cell after its time and goes on. Where the interrupt does not help (a loop that catches it), or
the kernel is gone, nbgrader alone gives up on the whole submission. Here the cell to blame is remembered, the notebook
runs again in a fresh kernel from the top, and the rest of that exercise is left out: its tests fail with a message
that says why. A cell that belongs to no exercise is left out alone.
"""

from __future__ import annotations

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute

from grpo_lessons.workshop.marks import LEFT_OUT

MAX_OUTPUT = 1_000_000  # characters that a cell may write; more is dropped


class KernelLost(Exception):
    """The kernel has to be replaced, as `self.blamed` says."""


class ExecuteByExercise(Execute):
    """`self.blamed`: exercise (or index of a cell without one) -> (first cell that is left out, why)."""

    def __init__(self, **options) -> None:
        super().__init__(**options)
        self.timeout_func = self._seconds

    def _seconds(self, cell: NotebookNode) -> int | None:
        """No limit for the set-up: it is not the student's, and importing torch takes long on a busy machine."""
        graded = cell.metadata.get("nbgrader", {})
        return None if graded.get("locked") and not graded.get("grade") else self.timeout

    def preprocess(self, nb: NotebookNode, resources: dict, km=None) -> tuple[NotebookNode, dict]:
        """Run the notebook until a run gets through; each run that does not has one more cell to leave out."""
        self.blamed: dict[str | int, tuple[int, str]] = {}
        while True:
            try:
                return super().preprocess(nb, resources, km)
            except KernelLost:
                self.log.warning("Kernel lost; running again without %s", self.blamed)

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        """Run one cell, or say why it is left out. Raises KernelLost when it took the kernel with it."""
        if cell.cell_type != "code":
            return cell, resources
        owner = cell.metadata.get("grpo_lessons", {}).get("exercise", index)
        first, why = self.blamed.get(owner, (len(self.nb.cells), ""))
        if index >= first:
            cell.execution_count = None
            cell.outputs = [new_output("error", ename=LEFT_OUT, evalue=why, traceback=[f"{LEFT_OUT}: {why}"])]
            return cell, resources
        if lost := self._run(cell, resources, index):
            self.blamed[owner] = (index, lost)
            raise KernelLost
        if any(output.get("ename") == CellTimeoutError.__name__ for output in cell.outputs):
            self.blamed[owner] = (index, f"a cell ran longer than {self.timeout} s and was interrupted")
        if cell.metadata.get("nbgrader", {}).get("grade"):
            # Our tests end in an assert; nbgrader would take a number shown from inside a function for the points.
            cell.outputs = [output for output in cell.outputs if output.output_type != "execute_result"]
        return cell, resources

    def _run(self, cell: NotebookNode, resources: dict, index: int) -> str:
        """Run one cell; the answer is why its kernel is of no more use, or ""."""
        self.written, self.said_exit = 0, False
        try:
            super().preprocess_cell(cell, resources, index)
        except CellTimeoutError:
            return f"a cell ran longer than {self.timeout} s and could not be interrupted"
        except DeadKernelError:
            return "a cell ended the kernel that it ran in"
        return "a cell ended the kernel that it ran in, with exit() or quit()" if self.said_exit else ""

    def on_cell_executed(self, **kwargs) -> None:
        """Notice exit() and quit(): the kernel answers first and ends a moment later, under the next cell."""
        super().on_cell_executed(**kwargs)
        payload = kwargs["execute_reply"]["content"].get("payload", [])
        self.said_exit |= any(part.get("source") == "ask_exit" for part in payload)

    def output(self, outs: list, msg: dict, display_id: str, cell_index: int) -> NotebookNode | None:
        """Keep an output, unless the cell has written too much already."""
        self.written += len(str(msg["content"]))
        wanted = self.written <= MAX_OUTPUT or msg["msg_type"] == "error"
        return super().output(outs, msg, display_id, cell_index) if wanted else None
