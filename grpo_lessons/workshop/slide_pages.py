"""The slides of a lesson as one HTML file that needs no network: reveal.js and MathJax are written into it.

Both come from PyPI (the extra `slides`): reveal.js 5 (MIT) in sphinx-revealjs, MathJax 3 (Apache-2.0) in
django-static-mathjax; neither package is imported. The page is made by nbconvert's SlidesExporter from a notebook
that holds the slides alone, with a template of ours in `reveal/`.
"""

import re
from functools import cache
from html import escape
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import nbformat
from nbconvert import SlidesExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from pygments.formatters import HtmlFormatter

from grpo_lessons.workshop.slides import Slide, read
from grpo_lessons.workshop.source_text import without_file_links

TEMPLATE = Path(__file__).parent / "reveal"
REVEAL = ("sphinx-revealjs", "sphinx_revealjs/_static/revealjs")
MATHJAX = ("django-static-mathjax", "mathjax/static/mathjax/es5")
PREDICT = re.compile(r"^(## |\*\*)Predict", re.MULTILINE)  # a question to the room looks like one
INDEX = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Slides of the course</title>
<style>body {{ font: 18px/1.5 "Segoe UI", "Helvetica Neue", Arial, sans-serif; margin: 3em auto; max-width: 48em; }}
td {{ padding: 3px 14px 3px 0; }}</style></head>
<body><h1>Slides of the course</h1>
<p>In a deck: <b>S</b> opens the speaker view with the notes, <b>F</b> fills the screen, <b>Esc</b> shows all slides,
<b>Alt</b> and a click (<b>Ctrl</b> and a click on Linux) enlarges a part of a figure. The link at the right is for
printing: each slide is followed by its notes.</p>
<table>{rows}</table></body></html>
"""
ROW = """<tr><td>{number}</td><td><a href="{file}">{title}</a></td><td>{slides} slides</td>
<td><a href="{file}?print-pdf&amp;showNotes=separate-page">with notes</a></td></tr>"""


def notebook(slides: list[Slide], lesson: str) -> NotebookNode:
    """The slides as cells with nbconvert's slide types: "slide", "-" for the rest of one, "notes".

    lesson: what stands under the heading of the title slide.
    """
    cells = []
    for slide in slides:
        title = slide.text.startswith("# ")
        look = "title" if title else "predict" if PREDICT.search(slide.text) else slide.kind
        parts = [new_markdown_cell(f"{slide.text}\n\n{lesson}" if title else slide.text, metadata={"look": look})]
        parts[0].metadata.slideshow = {"slide_type": "slide"}
        if slide.kind != "text":
            metadata = {"letters": round(slide.font_size, 1)}
            parts.append(new_code_cell(slide.source, outputs=slide.outputs, metadata=metadata))
        if slide.notes:
            notes = without_file_links("\n\n".join(slide.notes))
            parts.append(new_markdown_cell(notes, metadata={"slideshow": {"slide_type": "notes"}}))
        cells += parts
    return new_notebook(cells=cells)


def page(path: str | Path) -> str:
    """The HTML of a lesson's slides."""
    return _html(read(nbformat.read(path, as_version=4)), Path(path).name[:2])


def _html(slides: list[Slide], number: str) -> str:
    deck = {
        "title": escape(f"{number} · {slides[0].heading}"),
        "reveal_css": _asset(REVEAL, "dist/reset.css") + _asset(REVEAL, "dist/reveal.css"),
        "code_css": HtmlFormatter(style="friendly").get_style_defs(".highlight"),
        "css": (TEMPLATE / "slides.css").read_text(encoding="utf-8"),
        "scripts": [
            _asset(MATHJAX, "tex-svg.js"),
            *(_asset(REVEAL, name) for name in ("dist/reveal.js", "plugin/notes/notes.js", "plugin/zoom/zoom.js")),
        ],
    }
    exporter = SlidesExporter(template_file=str(TEMPLATE / "slides.html.j2"), exclude_anchor_links=True)
    html, _ = exporter.from_notebook_node(notebook(slides, f"Lesson {number}"), resources={"deck": deck})
    return html


def build(paths: list[str], folder: str | Path) -> None:
    """One page for each lesson in `folder`, and an index.html that lists them."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for path in map(Path, paths):
        slides = read(nbformat.read(path, as_version=4))
        number, title, file = path.name[:2], escape(slides[0].heading), f"{path.stem}.html"
        (folder / file).write_text(_html(slides, number), encoding="utf-8")
        rows.append(ROW.format(number=number, file=file, title=title, slides=len(slides)))
        print(f"{folder / file}  {len(slides)} slides", flush=True)
    (folder / "index.html").write_text(INDEX.format(rows="\n".join(rows)), encoding="utf-8")


@cache
def _asset(package: tuple[str, str], name: str) -> str:
    """A file of an installed package, safe inside a script or style element."""
    project, folder = package
    try:
        path = distribution(project).locate_file(f"{folder}/{name}")
    except PackageNotFoundError:
        raise ModuleNotFoundError(
            f"{name} comes from {project}, which is not installed: pip install -c constraints.txt -e '.[slides]'"
        ) from None
    text = Path(path).read_text(encoding="utf-8")
    return re.sub(r"</(script|style)", r"<\\/\1", text, flags=re.IGNORECASE)
