"""A submitted notebook with the genuine cells of its assignment: what was handed in decides about the answers only.

nbgrader finds cells by their id and overwrites the tests it finds. A cell that was renamed, deleted, copied or moved is
lost to it; here each of them is put right, and every repair is one line for the report.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell


@dataclass
class Restorer:
    """`release`: the notebook that students got. `troubles`: what had to be mended."""

    release: NotebookNode
    troubles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        known = {name: cell for cell in self.release.cells if (name := grade_id(cell.metadata))}
        self.answers = {name: cell for name, cell in known.items() if cell.metadata.nbgrader.solution}
        self.locked = {name: cell for name, cell in known.items() if name not in self.answers}

    def restore(self, submitted: list[dict]) -> NotebookNode:
        """The notebook to grade, without outputs. submitted: its cells as they stand in the JSON.

        ValueError if none of its cells belongs to the assignment.
        """
        self.troubles.clear()
        names = self._names(submitted)
        if not any(names):
            raise ValueError("none of its cells belongs to this assignment: is it another lesson's file?")
        cells: list[tuple[str | None, NotebookNode]] = []
        for i, (name, cell) in enumerate(zip(names, submitted, strict=True)):
            if name and name in names[i + 1 :]:
                self.troubles.append(f"cell {name} is there twice; the last one counts")
                name = None if name in self.answers else "dropped"
            if name != "dropped":
                cells.append((name, self._genuine(name, cell)))
        self._put_back_tests(cells)
        nb = nbformat.from_dict(self.release)
        nb.cells = _with_own_ids([cell for _, cell in self._setup_first(cells)])
        return nb

    def _names(self, submitted: list[dict]) -> list[str | None]:
        """The id of each cell in the assignment: found by nbgrader's id, the notebook's, or the function in it."""
        names = [self._name(cell) for cell in submitted]
        for answer, stub in self.answers.items():
            if answer not in names:
                defined = re.search(r"^((?:def|class) \w+)", stub.source, re.M)[1]
                for i, cell in enumerate(submitted):
                    if names[i] is None and re.search(rf"^{defined}\b", source_of(cell), re.M):
                        names[i] = answer
                        self.troubles.append(f"answer cell {answer} had lost its id; it was recognised by `{defined}`")
                        break
        self.troubles += [f"answer cell {answer} is missing" for answer in self.answers if answer not in names]
        return names

    def _name(self, cell: dict) -> str | None:
        given = grade_id(cell.get("metadata", {}))
        ids = [name for name in (given, cell.get("id")) if isinstance(name, str)]
        name = next((name for name in ids if name in self.answers or name in self.locked), None)
        if given and given != name:
            known = f"recognised as {name}" if name else "it runs, but nothing in it is graded"
            self.troubles.append(f"a cell was renamed to {given[:60]!r}: {known}")
        return name

    def _genuine(self, name: str | None, cell: dict) -> NotebookNode:
        """The assignment's own cell, with the student's source where an answer stands."""
        source = source_of(cell)
        if name is None:
            return new_code_cell(source) if cell["cell_type"] == "code" else new_markdown_cell(source)
        genuine = nbformat.from_dict(self.locked.get(name) or self.answers[name])
        if name in self.answers:
            genuine.source = source
        elif source.strip() != genuine.source.strip() or points(cell) != points(genuine):
            self.troubles.append(f"cell {name} was changed; the genuine one counts")
        return genuine

    def _put_back_tests(self, cells: list[tuple[str | None, NotebookNode]]) -> None:
        """Each test stands below its answer and below the test before it; at the end if those are gone."""
        after = ""
        for cell in self.release.cells:
            name, at = grade_id(cell.metadata), [given for given, _ in cells]
            if name in self.answers:
                after = name
            elif name and after:
                if name not in at:
                    self.troubles.append(f"test cell {name} is missing; it was put back")
                    place = at.index(after) + 1 if after in at else len(cells)
                    cells.insert(place, (name, nbformat.from_dict(cell)))
                elif after in at and at.index(name) < at.index(after):
                    self.troubles.append(f"test cell {name} stood above its answer; it was moved below")
                    cells.insert(at.index(after), cells.pop(at.index(name)))
                after = name

    def _setup_first(self, cells: list[tuple[str | None, NotebookNode]]) -> list[tuple[str | None, NotebookNode]]:
        """The set-up runs before all other code."""
        setup = next((name for name in self.locked if name.endswith("-setup")), None)
        code = [name for name, cell in cells if cell.cell_type == "code"]
        if setup is None or code[:1] == [setup]:
            return cells
        if setup not in code:
            self.troubles.append(f"cell {setup} is missing; it was put back")
        return [(setup, nbformat.from_dict(self.locked[setup])), *(pair for pair in cells if pair[0] != setup)]


def grade_id(metadata: object) -> str | None:
    """nbgrader's id in the metadata of a cell, which may be anything in a submission."""
    graded = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = graded.get("grade_id") if isinstance(graded, dict) else None
    return name if isinstance(name, str) and name else None


def points(cell: dict) -> object:
    """What the cell says it is worth; None if it says nothing."""
    graded = cell.get("metadata", {}).get("nbgrader")
    return graded.get("points") if isinstance(graded, dict) else None


def source_of(cell: dict) -> str:
    """The text of a cell, as UTF-8 can hold it."""
    source = cell.get("source", "")
    text = "".join(part for part in (source if isinstance(source, list) else [source]) if isinstance(part, str))
    return text.encode("utf-8", "replace").decode("utf-8")


def _with_own_ids(cells: list[NotebookNode]) -> list[NotebookNode]:
    """Cells of the assignment under their name, all others under their position: no id twice."""
    for i, cell in enumerate(cells):
        cell.id = grade_id(cell.metadata) or f"cell-{i}"
    return cells
