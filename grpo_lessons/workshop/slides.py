"""Slides made from the lessons: what a slide is, and what is wrong with one.

    python -m grpo_lessons.workshop.slides check notebooks/*.ipynb       complaints, one a line
    python -m grpo_lessons.workshop.slides build slides notebooks/*.ipynb   one HTML file a lesson, and index.html

`metadata.grpo_lessons.slide` of a cell says what goes on a slide; nothing else of the lesson does:

    markdown   a short text; a new slide begins with it, and the cell's prose becomes the speaker notes. A line `---`
               parts the text into several slides. The first cell needs none: its heading is the title slide.
    code       "output", "code", "both", or "code NAME" for the one function or class NAME of the cell: a slide of
               its own. A `## heading` may follow on the next line; without one it stands, small, under the heading
               of its section of the lesson. Beside a figure the printed text goes to the notes.

Markdown without it goes to the notes of the slide before; code without it is left out.
"""

import ast
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

FEWEST, MOST = 8, 14  # slides of a lesson
WORDS = 40  # of a text, its heading and formulas apart
CODE_LINES = 14
LARGEST, SMALLEST = 38, 20  # pixels of printed text and code on a slide of 1280 x 720
WIDTH, HEIGHT = 1150, 560  # pixels that such text may take
# Width of a character in units of the font size, for the widest usual fonts (Menlo, DejaVu), and height of a line.
CHARACTER, LINE = 0.602, 1.35
HEADING = re.compile(r"^(#+) +(.+)$", re.MULTILINE)
PARTING = re.compile(r"^---$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"```.*?```|(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$", re.DOTALL)
ANSWER = re.compile(r"^\d\d\.\w+[:.] .*\n?", re.MULTILINE)  # what check.predict, reveal and the exercises print
KINDS = ("output", "code", "both")


@dataclass
class Slide:
    """One slide. cell: number of its cell in the lesson, from 1; kind: "text", or what it shows of a code cell."""

    cell: int
    text: str
    kind: str = "text"
    source: str = ""
    outputs: list[NotebookNode] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """The text of its first heading, "" without one."""
        found = HEADING.search(self.text)
        return found.group(2).strip() if found else ""

    @property
    def font_size(self) -> float:
        """Pixels at which code and printed text fit the slide."""
        lines = [line for text in (self.source, *map(printed, self.outputs)) for line in text.splitlines()]
        widest = max((len(line) for line in lines), default=1)
        return min(LARGEST, WIDTH / (CHARACTER * max(widest, 1)), HEIGHT / (LINE * max(len(lines), 1)))


def read(nb: NotebookNode) -> list[Slide]:
    """The slides of a lesson, in order. ValueError where a cell asks for what it does not have."""
    slides: list[Slide] = []
    section = ""
    for number, cell in enumerate(nb.cells, 1):
        wanted = cell.metadata.get("grpo_lessons", {}).get("slide")
        if number == 1 and cell.cell_type == "markdown" and wanted is None:
            wanted = HEADING.search(cell.source).group() if HEADING.search(cell.source) else None
        if cell.cell_type == "markdown" and wanted is not None:
            slides += [Slide(number, text.strip(), notes=[cell.source]) for text in PARTING.split(wanted)]
        elif cell.cell_type == "code" and wanted is not None:
            slides.append(_of_code(number, cell, wanted, section))
        elif cell.cell_type == "markdown" and slides:
            slides[-1].notes.append(cell.source)
        if cell.cell_type == "markdown" and (headings := HEADING.findall(FENCE.sub("", cell.source))):
            section = headings[-1][1]
    return slides


def printed(output: NotebookNode) -> str:
    """The text that an output shows in letters of one width; "" for figures, HTML and markdown."""
    if output.output_type == "stream":
        return output.text
    data = output.get("data", {})
    return "" if {"image/png", "text/html", "text/markdown"} & data.keys() else data.get("text/plain", "")


def _of_code(number: int, cell: NotebookNode, wanted: str, section: str) -> Slide:
    first, _, text = wanted.partition("\n")
    kind, _, name = first.strip().partition(" ")
    if kind not in KINDS or (name and kind != "code"):
        raise ValueError(
            f'cell {number}: the slide is {first!r}; of code it is "output", "code", "both" or "code NAME"'
        )
    source = _definition(number, cell.source, name) if name else cell.source.strip("\n")
    outputs, notes = _shown(cell.outputs)
    source, outputs = "" if kind == "output" else source, [] if kind == "code" else outputs
    return Slide(number, text.strip() or f"### {section}", kind, source, outputs, notes)


def _definition(number: int, source: str, name: str) -> str:
    """The source of the function or class `name`."""
    nodes = [node for node in ast.parse(source).body if getattr(node, "name", None) == name]
    if not nodes:
        raise ValueError(f"cell {number}: no function or class {name!r} at the top level of the cell")
    return ast.get_source_segment(source, nodes[0])


def _shown(outputs: list[NotebookNode]) -> tuple[list[NotebookNode], list[str]]:
    """(what is shown, what goes to the notes): beside a figure printed text is not shown, and progress never is."""
    figure = any("image/png" in output.get("data", {}) for output in outputs)
    shown, notes = [], []
    for output in outputs:
        text = printed(output)
        left = ANSWER.sub("", text).strip("\n")
        progress = output.output_type == "display_data"
        if text and (figure or progress or not left):
            notes.append(f"```\n{text.strip()}\n```")
        elif left:
            shown.append(nbformat.v4.new_output("stream", name="stdout", text=left))
        else:
            shown.append(output)
    return shown, notes


def complaints(path: str | Path) -> list[str]:
    """Everything that is wrong with the slides of one lesson; empty if nothing is."""
    nb = nbformat.read(path, as_version=4)
    try:
        slides = read(nb)
    except ValueError as error:
        return [str(error)]
    found = [] if FEWEST <= len(slides) <= MOST else [f"{len(slides)} slides; {FEWEST} to {MOST}"]
    titles = [slide.cell for slide in slides if slide.text.startswith("# ")]
    if titles != [1]:
        found.append(f"title slides (`# ...`) are from cells {titles}; only cell 1 gives one, others begin with `## `")
    for slide in slides:
        checks = _text_faults(slide) if slide.kind == "text" else _code_faults(slide)
        found += [f"cell {slide.cell}: {fault}" for fault in checks]
    return found


def _text_faults(slide: Slide) -> list[str]:
    faults = [] if HEADING.match(slide.text) else [f"the slide must begin with a heading: {slide.text[:40]!r}"]
    prose = CODE.sub(" code ", HEADING.sub("", slide.text))
    if FORMULA.sub("", prose).count("$") - FORMULA.sub("", prose).count(r"\$"):
        faults.append("a formula is open: its dollar signs do not pair")
    words = len(re.findall(r"\w[\w'’.,%-]*", FORMULA.sub("", prose)))
    if words > WORDS:
        faults.append(f"{words} words; at most {WORDS}")
    if not prose.strip() and not slide.text.startswith("# "):
        faults.append("only a heading")
    return faults


def _code_faults(slide: Slide) -> list[str]:
    lines = len(slide.source.splitlines())
    faults = [f"{lines} lines of code; at most {CODE_LINES}"] if lines > CODE_LINES else []
    if not slide.outputs and slide.kind != "code":
        faults.append("no output to show: the cell prints nothing, or only answers of `check`")
    if not re.fullmatch(r"##+ .+", slide.text):
        faults.append(f"below {slide.kind!r} only a line `## heading` may stand: {slide.text[:40]!r}")
    if round(slide.font_size) < SMALLEST:
        faults.append(
            f"letters of {slide.font_size:.1f} pixels, at least {SMALLEST}: at most {int(WIDTH / CHARACTER / SMALLEST)}"
            f" characters a line and {int(HEIGHT / LINE / SMALLEST)} lines, code and output together"
        )
    return faults


def main(arguments: list[str]) -> int:
    """The commands at the top of this file; returns the exit code."""
    command, *paths = arguments or ["help"]
    if command == "check" and paths:
        faults = [f"{path}: {fault}" for path in paths for fault in complaints(path)]
        print("\n".join(faults) or "nothing to complain about")
        return int(bool(faults))
    if command == "build" and len(paths) > 1:
        from grpo_lessons.workshop.slide_pages import build

        build(paths[1:], paths[0])
        return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
