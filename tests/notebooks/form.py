"""The form of a notebook: what breaks readers, and nothing else.

    python tests/notebooks/form.py notebooks/*.ipynb     prints the complaints, one a line

`complaints(path)` is the whole of it; each check yields texts that say what is wrong and where.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat

MAX_LINES, MAX_BYTES = 25, 1_500_000
HTML_MEANT = {"details", "summary", "br", "sub", "sup"}
WIDGET = "application/vnd.jupyter.widget-view+json"
TAG = re.compile(r"</?([A-Za-z][\w-]*)(?:\s[^<>]*)?/?>")
CODE_OR_MATHS = re.compile(r"```.*?```|~~~.*?~~~|(`+)(?!`).+?(?<!`)\1(?!`)|\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
ABSOLUTE = re.compile(r"(?<![\w.:/~-])/(?:home|root|work|tmp|Users|mnt|opt|usr|var|srv)/[\w.-]+|\b[A-Z]:\\\\?\w+")
SOURCE_OF_A_FACT = re.compile(r"\b\d{4}\.\d{4,5}\b|https?://|\bdoi\b", re.IGNORECASE)


def complaints(path: str | Path) -> list[str]:
    """Everything that is wrong with the form of one notebook; empty if nothing is."""
    path = Path(path)
    found = [f"{path.stat().st_size / 1e6:.2f} MB; at most 1.5"] if path.stat().st_size > MAX_BYTES else []
    try:
        nb = nbformat.read(path, as_version=4)
        nbformat.validate(nb)
    except Exception as error:
        return [*found, f"not a valid notebook: {str(error).splitlines()[0]}"]
    found += _counts(nb)
    found += _widgets(nb)
    for number, cell in enumerate(nb.cells, 1):
        checks = _text_cell(cell, path.parent) if cell.cell_type == "markdown" else _code_cell(cell)
        found += [f"cell {number}: {text}" for text in checks]
    if "solutions" not in path.parts:
        found += _references(nb)
    return found


def _counts(nb) -> Iterator[str]:
    """Outputs are committed, from one run from top to bottom."""
    counts = [cell.execution_count for cell in nb.cells if cell.cell_type == "code" and cell.source.strip()]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts}; they must be 1 to {len(counts)}: restart and run all"
    if counts and not any(cell.get("outputs") for cell in nb.cells):
        yield "no outputs: a reader on a code host sees nothing"
    if nb.metadata.get("kernelspec", {}).get("name") != "python3":
        yield f"the kernel is {nb.metadata.get('kernelspec', {}).get('name')!r}; it must be 'python3'"


def _widgets(nb) -> Iterator[str]:
    """A widget in an output needs its state in the metadata, and state needs a widget."""
    state = nb.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    if "widgets" in nb.metadata and not state:
        yield "metadata.widgets without state: code hosts refuse to render the notebook"
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            if output.get("data", {}).get(WIDGET, {}).get("model_id", None) not in (None, *state):
                yield "a widget without its state: it shows as nothing"


def _text_cell(cell, folder: Path) -> Iterator[str]:
    yield from _raw_tags(cell.source)
    for target in LINK.findall(CODE_OR_MATHS.sub("", cell.source)):
        if re.match(r"https?://|mailto:|#|attachment:", target):
            continue
        if not (folder / target.split("#")[0]).exists():
            yield f"the link {target} leads nowhere"
    yield from _paths(cell.source)


def _raw_tags(text: str) -> Iterator[str]:
    for tag in TAG.finditer(CODE_OR_MATHS.sub(" ", text)):
        if tag.group(1).lower() not in HTML_MEANT:
            yield f"{tag.group()} outside code marks vanishes when the text is rendered"


def _code_cell(cell) -> Iterator[str]:
    lines = len(cell.source.splitlines())
    if lines > MAX_LINES:
        yield f"{lines} lines of code; at most {MAX_LINES}, the rest belongs in the library"
    yield from _paths(cell.source)
    yield from _colab(cell.source)
    for output in cell.outputs:
        if output.output_type == "error":
            yield f"its output is an error: {output.ename}: {output.evalue}"
        data = output.get("data", {})
        if "image/png" in data and not output.metadata.get("image/png", {}).get("alt", "").strip():
            yield "a picture without alt text: use plots.show"
        for kind in ("text/plain", "text/html", "text/markdown"):
            yield from _paths("".join(data.get(kind, "")))
        yield from _paths("".join(output.get("text", "")))
        yield from _raw_tags("".join(data.get("text/markdown", "")))
        for tag in re.findall(r"</?(?:answer|think|reasoning)>", "".join(data.get("text/html", ""))):
            yield f"{tag} in an HTML output vanishes; escape it"


def _paths(text: str) -> Iterator[str]:
    for path in ABSOLUTE.findall(text):
        yield f"the absolute path {path} exists on one machine only"


def _colab(source: str) -> Iterator[str]:
    """google.colab exists there only: the import must stand inside `try` or `if`."""
    code = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!")))
    try:
        tree = ast.parse(code)
    except SyntaxError:
        yield "the code does not parse"
        return
    guarded = {inner for outer in ast.walk(tree) if isinstance(outer, ast.Try | ast.If) for inner in ast.walk(outer)}
    for node in set(ast.walk(tree)) - guarded:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
        if any(name.startswith("google.colab") for name in names):
            yield "google.colab is imported without a guard: it fails everywhere else"


def _references(nb) -> Iterator[str]:
    """Each entry under a heading 'References' says where it can be read: an arXiv id, a doi or an address."""
    text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    section = re.search(r"^#+ References\b.*?\n(.*?)(?=^#+ |\Z)", text, re.DOTALL | re.MULTILINE)
    entries = re.findall(r"^[-*\d][.)]? +(.+(?:\n[ \t]+.+)*)", section.group(1), re.MULTILINE) if section else []
    if not entries:
        yield "no list under a heading 'References'"
    for entry in entries:
        if not SOURCE_OF_A_FACT.search(entry):
            yield f"the reference has no arXiv id, doi or address: {entry[:60]}"


if __name__ == "__main__":
    faults = [f"{path}: {text}" for path in sys.argv[1:] for text in complaints(path)]
    print("\n".join(faults) or "nothing to complain about")
    sys.exit(bool(faults))
