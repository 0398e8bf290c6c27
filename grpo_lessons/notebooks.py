"""Lessons as text and as notebooks, for those who write or review them.

    python -m grpo_lessons.notebooks build lesson.py notebooks/04_name.ipynb    percent script -> executed notebook
    python -m grpo_lessons.notebooks execute notebooks/*.ipynb                  run again, in place
    python -m grpo_lessons.notebooks text notebooks/04_name.ipynb               notebook -> percent script
    python -m grpo_lessons.notebooks html notebooks/04_name.ipynb page.html     what a reader sees

A percent script has one `# %%` line before each cell: `# %%` code, `# %% [markdown]` text (as a triple-quoted
string or as comments), with JSON after it where needed: `# %% {"exercise": "01.advantages", "tags": ["exercise"]}`.
`tags` goes to `metadata.tags`, `exercise`, `slide` (grpo_lessons/workshop/slides.py) and other keys to
`metadata.grpo_lessons`.
"""

import hashlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}
# The environment of a kernel whose run shall be the same anywhere: one thread, no network.
ALONE = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
MARKER = re.compile(r"^# %%[ \t]*(\[markdown\])?[ \t]*(\{.*\})?[ \t]*$")
QUOTED = re.compile(r'^r?("""|\'\'\')\n?(.*?)\n?\1\s*$', re.DOTALL)
WIDGET = "application/vnd.jupyter.widget-view+json"


def from_percent(path: str | Path) -> NotebookNode:
    """A percent script as a notebook without outputs. Cell ids come from the content: the same cell, the same id.

    Text before the first marker is dropped unless it is blank (then nothing is lost); ValueError otherwise.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    starts = [i for i, line in enumerate(lines) if MARKER.match(line)]
    head = "\n".join(lines[: starts[0]] if starts else lines).strip()
    if head or not starts:
        raise ValueError(f"{path} must begin with a `# %%` line; it begins with {head[:60]!r}")
    cells, used = [], set()
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        kind, options = MARKER.match(lines[start]).groups()
        source = "\n".join(lines[start + 1 : end]).strip("\n")
        make, source = (new_markdown_cell, _markdown(source)) if kind else (new_code_cell, source)
        cell_id = _fresh_id((kind or "code") + source, used)
        cells.append(make(source, id=cell_id, metadata=_metadata(json.loads(options or "{}"))))
    return new_notebook(cells=cells, metadata=METADATA, nbformat_minor=5)


def to_percent(nb: NotebookNode) -> str:
    """A notebook as a percent script: its sources and metadata, without outputs."""
    parts = []
    for cell in nb.cells:
        options = dict(cell.metadata.get("grpo_lessons", {}))
        options |= {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        head = " ".join(["# %%", *(["[markdown]"] if cell.cell_type == "markdown" else [])])
        head += f" {json.dumps(options, ensure_ascii=False)}" if options else ""
        source = f'r"""\n{cell.source}\n"""' if cell.cell_type == "markdown" else cell.source
        parts.append(f"{head}\n{source}\n")
    return "\n".join(parts)


def execute(nb: NotebookNode, cwd: str | Path, *, timeout: int = 900) -> NotebookNode:
    """Run all cells in a fresh python3 kernel with one thread and without network; returns a clean executed copy.

    cwd: the kernel's working directory. Raises nbclient's CellExecutionError where a cell fails.
    """
    nb = clean(nb, keep_outputs=False)
    client = NotebookClient(
        nb, timeout=timeout, kernel_name="python3", record_timing=False, store_widget_state=False, coalesce_streams=True
    )
    try:
        client.execute(env=os.environ | ALONE, cwd=str(cwd))
    except CellExecutionError as error:
        failed = next(i for i, cell in enumerate(nb.cells, 1) if _has_error(cell))
        error.add_note(f"cell {failed} of {len(nb.cells)}")
        raise
    return clean(nb, keep_outputs=True)


def _has_error(cell: NotebookNode) -> bool:
    return any(output.output_type == "error" for output in cell.get("outputs", []))


def clean(nb: NotebookNode, *, keep_outputs: bool) -> NotebookNode:
    """A copy without widget state, timings and other traces of a machine; cell metadata of the course stay."""
    nb = nbformat.from_dict(nb)
    nb.metadata = nbformat.from_dict(METADATA)
    for cell in nb.cells:
        kept = ("grpo_lessons", "tags")
        cell.metadata = nbformat.from_dict({key: cell.metadata[key] for key in kept if key in cell.metadata})
        if cell.cell_type != "code":
            continue
        if not keep_outputs:
            cell.outputs, cell.execution_count = [], None
        for output in cell.outputs:
            output.pop("transient", None)
            if "data" in output:
                output.data.pop(WIDGET, None)
    return nb


def build(script: str | Path, target: str | Path) -> None:
    """Percent script -> executed notebook, run in an empty folder as a reader's would be."""
    nb = from_percent(script)
    with tempfile.TemporaryDirectory() as folder:
        write(execute(nb, folder), target)


def execute_in_place(path: str | Path) -> None:
    """Run a notebook again in an empty folder and keep the new outputs."""
    nb = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        write(execute(nb, folder), path)


def write(nb: NotebookNode, path: str | Path) -> None:
    """Write a valid notebook as UTF-8 with one final newline."""
    nbformat.validate(nb)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(nb).rstrip("\n") + "\n", encoding="utf-8")


def html(path: str | Path, target: str | Path, *, mathjax: str | None = None) -> None:
    """A notebook as one HTML page. mathjax: address of a local MathJax 2, for a page that needs no network."""
    from nbconvert import HTMLExporter

    nb = nbformat.read(path, as_version=4)
    page, _ = HTMLExporter(**({"mathjax_url": mathjax} if mathjax else {})).from_notebook_node(nb)
    Path(target).write_text(page, encoding="utf-8")


def _markdown(source: str) -> str:
    """The text of a markdown cell: a triple-quoted string, or comment lines without their `# `."""
    quoted = QUOTED.match(source.strip())
    if quoted:
        return quoted.group(2)
    return "\n".join(re.sub(r"^# ?", "", line) for line in source.splitlines())


def _metadata(options: dict) -> dict:
    metadata = {"tags": options.pop("tags")} if "tags" in options else {}
    return metadata | ({"grpo_lessons": options} if options else {})


def _fresh_id(content: str, used: set[str]) -> str:
    while (cell_id := hashlib.sha256(content.encode()).hexdigest()[:8]) in used:
        content += "+"
    used.add(cell_id)
    return cell_id


def main(arguments: list[str]) -> int:
    """The commands at the top of this file; returns the exit code."""
    command, *paths = arguments or ["help"]
    try:
        if command == "build" and len(paths) == 2:
            build(*paths)
        elif command == "execute" and paths:
            for path in paths:
                print(path, flush=True)
                execute_in_place(path)
        elif command == "text" and len(paths) == 1:
            print(to_percent(nbformat.read(paths[0], as_version=4)), end="")
        elif command == "html" and len(paths) in (2, 3):
            html(*paths[:2], mathjax=paths[2] if paths[2:] else None)
        else:
            print(__doc__)
            return 2
    except CellExecutionError as error:
        print(*error.__notes__, error, sep="\n", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
