"""Slides: which cell gives which slide, what is wrong with one, and pages that ask the network for nothing."""

import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from grpo_lessons.workshop.slide_pages import build, page
from grpo_lessons.workshop.slides import complaints, main, read

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
FIGURE = new_output("display_data", {"image/png": "aGk="}, metadata={"image/png": {"alt": "A ring."}})


def text(source, slide=None):
    return new_markdown_cell(source, metadata={"grpo_lessons": {"slide": slide}} if slide else {})


def code(source, slide=None, *outputs):
    outputs = [new_output("stream", name="stdout", text=o) if isinstance(o, str) else o for o in outputs]
    return new_code_cell(source, outputs=outputs, metadata={"grpo_lessons": {"slide": slide}} if slide else {})


def slides(*cells):
    return read(new_notebook(cells=[text("# Does it?\n\nWe shall see."), *cells]))


def test_the_heading_of_the_first_cell_is_the_title_and_its_prose_the_notes():
    (title,) = slides()
    assert (title.text, title.notes) == ("# Does it?", ["# Does it?\n\nWe shall see."])


def test_a_line_of_dashes_parts_a_text_into_slides_with_the_same_notes():
    _, first, second = slides(text("Prose.", "## One\n\nA --- b.\n---\n## Two\n\nC."))
    assert (first.text, second.text) == ("## One\n\nA --- b.", "## Two\n\nC.")
    assert first.notes == second.notes == ["Prose."]


def test_unmarked_markdown_goes_to_the_notes_of_the_slide_before_and_unmarked_code_nowhere():
    _, slide = slides(text("a", "## A\n\na"), text("b"), code("1 + 1", None, "2\n"), text("c"))
    assert slide.notes == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("wanted", "source", "printed"),
    [("output", "", ["2"]), ("code", "print(2)", []), ("both", "print(2)", ["2"])],
)
def test_a_code_slide_shows_the_part_that_was_asked_for(wanted, source, printed):
    slide = slides(text("## 3. Sums\n\nProse."), code("print(2)", wanted, "2\n"))[-1]
    assert (slide.source, [output.text.strip() for output in slide.outputs]) == (source, printed)
    assert slide.text == "### 3. Sums"


def test_a_heading_below_the_kind_replaces_that_of_the_section():
    slide = slides(text("## 3. Sums"), code("print(2)", "output\n## Two it is", "2\n"))[-1]
    assert slide.text == "## Two it is"


def test_one_definition_of_a_cell():
    slide = slides(code("import math\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 2", "code g"))[-1]
    assert slide.source == "def g():\n    return 2"


def test_beside_a_figure_printed_text_goes_to_the_notes():
    slide = slides(code("draw()", "output", FIGURE, "accuracy 0.5\n"))[-1]
    assert (slide.outputs, slide.notes) == ([FIGURE], ["```\naccuracy 0.5\n```"])


def test_the_line_of_progress_of_a_run_is_not_shown():
    progress = new_output("display_data", {"text/plain": "grpo: 30/30 steps, reward 0.91"})
    slide = slides(code("train()", "output", progress, "accuracy 0.9\n"))[-1]
    assert [output.text for output in slide.outputs] == ["accuracy 0.9"]


@pytest.mark.parametrize("asked", ["## Predict: how far?\n\nBy how much?", "## How far?\n\n**Predict.** By how much?"])
def test_a_prediction_looks_like_a_question(asked, tmp_path):
    assert '<div class="slide predict">' in page(lesson(tmp_path, text("x", asked)))


def test_answers_of_check_are_not_shown():
    answer = "04.clip: it is 0. You wrote no guess down.\n04.x. Not done yet: mask\n"
    slide = slides(code("f()", "output", f"gradient 1.0\n{answer}"))[-1]
    assert slide.outputs[0].text == "gradient 1.0"


def lesson(folder, *cells, n=8):
    """A lesson of `n` good slides and `cells`, on disk."""
    good = [text("Prose.", f"## Slide {i}\n\nShort, with $a<b$.") for i in range(n - 1)]
    path = folder / "04_lesson.ipynb"
    nbformat.write(new_notebook(cells=[text("# Does it?"), *good, *cells]), path)
    return path


def test_a_good_lesson_has_no_complaints(tmp_path):
    path = lesson(tmp_path, code("print(2)", "both\n## Two", "2\n"), code("draw()", "output", FIGURE))
    assert complaints(path) == []


BAD = {
    "too many": ([text("x", "\n---\n".join(["## A\n\na"] * 7))], "15 slides; 8 to 14"),
    "a second title": ([text("x", "# Again\n\na")], "title slides (`# ...`) are from cells [1, 9]"),
    "no heading": ([text("x", "Only words.")], "must begin with a heading"),
    "only a heading": ([text("x", "## Nothing")], "only a heading"),
    "many words": ([text("x", "## Long\n\n" + "word " * 41)], "41 words; at most 40"),
    "an open formula": ([text("x", "## Formula\n\nLet $a < b.")], "a formula is open"),
    "an unknown kind": ([code("1", "figure")], "the slide is 'figure'"),
    "no such function": ([code("x = 1", "code f")], "no function or class 'f'"),
    "no output": ([code("x = 1", "output")], "no output to show"),
    "only answers of check": ([code("x", "output", "04.clip: it is 0.\n")], "no output to show"),
    "text below the kind": ([code("1", "code\n## Head\n\nMore.")], "only a line `## heading`"),
    "long code": ([code("x = 1\n" * 15, "code")], "15 lines of code; at most 14"),
    "wide output": ([code("1", "output", "x" * 120)], "letters of 15.9 pixels, at least 20"),
    "high output": ([code("1", "output", "x\n" * 30)], "letters of 13.8 pixels, at least 20"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_seeded_fault_gets_its_complaint_and_no_other(fault, tmp_path):
    cells, expected = BAD[fault]
    found = complaints(lesson(tmp_path, *cells))
    assert len(found) == 1 and expected in found[0], found


def test_too_few_slides(tmp_path):
    assert complaints(lesson(tmp_path, n=7)) == ["7 slides; 8 to 14"]


def test_the_command_names_the_file_and_fails(tmp_path, capsys):
    assert main(["check", str(lesson(tmp_path, n=7))]) == 1
    assert "04_lesson.ipynb: 7 slides" in capsys.readouterr().out


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_ours(path):
    assert complaints(path) == []


# Whatever makes a browser fetch something; a link that somebody may click is none of it.
FETCHES = re.compile(
    r"""<(?:script|img|iframe|source|video)\b[^>]*\bsrc=(?!["']?data:)|<link\b|@import|url\(\s*["']?http"""
)


@pytest.mark.parametrize("path", [LESSONS[0], LESSONS[4]], ids=lambda path: path.stem)
def test_a_page_holds_all_that_it_shows(path):
    html = page(path)
    outside_scripts = re.sub(r"(<script>).*?</script>", r"\1", html, flags=re.DOTALL)
    assert FETCHES.findall(outside_scripts) == []
    assert html.count('<section><div class="slide') == len(read(nbformat.read(path, as_version=4)))
    assert html.count('<div class="slide title"') == 1


@pytest.mark.parametrize("fetching", ['<script src="https://cdn/x.js">', '<link rel="stylesheet" href="x.css">'])
def test_the_search_for_remote_parts_finds_one(fetching):
    assert FETCHES.search(fetching)


def test_links_to_other_lessons_become_words_since_they_lead_nowhere_from_a_slide(tmp_path):
    path = lesson(tmp_path, text("See [lesson 05](05_x.ipynb) and [the paper](https://arxiv.org/abs/1).", "## A\n\na"))
    html = page(path)
    assert "See lesson 05 and" in html and '<a href="https://arxiv.org/abs/1">the paper</a>' in html


def test_quotes_in_the_description_of_a_figure_do_not_end_it(tmp_path):
    figure = new_output("display_data", {"image/png": "aGk="}, metadata={"image/png": {"alt": 'A "ring" & <more>'}})
    html = page(lesson(tmp_path, code("draw()", "output", figure)))
    assert [image["alt"] for image in BeautifulSoup(html, "html.parser").find_all("img")] == ['A "ring" & <more>']


def test_the_index_lists_every_deck(tmp_path):
    build([lesson(tmp_path)], tmp_path / "slides")
    index = (tmp_path / "slides/index.html").read_text(encoding="utf-8")
    assert '<a href="04_lesson.html">Does it?</a></td><td>8 slides' in index
    assert (tmp_path / "slides/04_lesson.html").is_file()
