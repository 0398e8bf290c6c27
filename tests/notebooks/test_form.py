"""The form gate: it complains about each fault of a seeded bad notebook, and about none of ours."""

import copy
import re

import nbformat
import pytest
from form import complaints
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from ours import LESSONS, SOLUTIONS, exercises, name

from grpo_lessons.notebooks import METADATA


def good():
    text = new_markdown_cell(
        "# Does it hold?\n\nWrite `<answer>`; if $a<b$ and $c>d$, see [arXiv](https://arxiv.org).\n\n"
        "```\n<think>\n```\n\n## References\n\n- Shao and others, DeepSeekMath, 2024, arXiv:2402.03300"
    )
    code = new_code_cell("print(1)", execution_count=1, outputs=[new_output("stream", text="1\n", name="stdout")])
    picture = new_output("display_data", {"image/png": "aGk="}, metadata={"image/png": {"alt": "A ring."}})
    drawn = new_code_cell("show()", execution_count=2, outputs=[picture])
    return new_notebook(cells=[text, code, drawn], metadata=copy.deepcopy(METADATA), nbformat_minor=5)


def complaints_about(nb, folder):
    path = folder / "lesson.ipynb"
    path.write_text(nbformat.writes(nb), encoding="utf-8")
    return complaints(path)


def test_a_good_notebook_passes(tmp_path):
    assert complaints_about(good(), tmp_path) == []


def seed(change):
    nb = good()
    change(*nb.cells, nb)
    return nb


def add_text(extra):
    def change(text, code, drawn, nb):
        text.source = text.source.replace("\n\n## References", f" {extra}\n\n## References")

    return change


def set_code(source):
    def change(text, code, drawn, nb):
        code.source = source

    return change


def put_output(output):
    def change(text, code, drawn, nb):
        code.outputs = [output]

    return change


def skip_a_count(text, code, drawn, nb):
    drawn.execution_count = 4


def drop_outputs(text, code, drawn, nb):
    code.outputs = drawn.outputs = []


def never_run(text, code, drawn, nb):
    code.execution_count = drawn.execution_count = None


def widgets_without_state(text, code, drawn, nb):
    nb.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {}}}


def other_kernel(text, code, drawn, nb):
    nb.metadata.kernelspec.name = "my-env"


def drop_alt(text, code, drawn, nb):
    drawn.outputs[0].metadata = {}


def bare_reference(text, code, drawn, nb):
    text.source = text.source.replace(", arXiv:2402.03300", "")


def no_references(text, code, drawn, nb):
    text.source = text.source.replace("## References", "## Sources")


def fatten(text, code, drawn, nb):
    drawn.outputs[0].data["image/png"] = "A" * 1_600_000


VIEW = {"application/vnd.jupyter.widget-view+json": {"model_id": "7"}, "text/plain": "bar"}
BAD = {
    "a raw tag": (add_text("The <answer> tag."), "<answer> outside code marks"),
    "a raw closing tag": (add_text("Ends with </think>."), "</think> outside code marks"),
    "a raw tag with spaces": (add_text("x <reasoning effort> y"), "<reasoning effort> outside code marks"),
    "a dead link": (add_text("See [next](01_next.ipynb#part)."), "the link 01_next.ipynb#part leads nowhere"),
    "a dead picture": (add_text("![ring](ring.png)"), "the link ring.png leads nowhere"),
    "a path in text": (add_text("Look in /home/anna/data."), "the absolute path /home/anna exists"),
    "a path in code": (set_code("open('/tmp/x.txt')"), "the absolute path /tmp/x.txt exists"),
    "a Windows path": (set_code(r"open(r'C:\data\x')"), r"the absolute path C:\data exists"),
    "a path in an output": (
        put_output(new_output("stream", text="saved to /root/run\n", name="stdout")),
        "the absolute path /root/run exists",
    ),
    "a long cell": (set_code("x = 1\n" * 26), "26 lines of code"),
    "colab": (set_code("import google.colab"), "google.colab is imported without a guard"),
    "colab, from": (set_code("from google.colab import drive"), "google.colab is imported without a guard"),
    "broken code": (set_code("def f(:"), "the code does not parse"),
    "an error": (put_output(new_output("error", ename="ValueError", evalue="no", traceback=[])), "ValueError: no"),
    "a tag in HTML": (
        put_output(new_output("display_data", {"text/html": "<b><answer>42</b>"})),
        "<answer> in an HTML output",
    ),
    "a tag in markdown output": (
        put_output(new_output("display_data", {"text/markdown": "it wrote <think>"})),
        "<think> outside code marks",
    ),
    "a lonely widget": (put_output(new_output("display_data", VIEW)), "a widget without its state"),
    "widget metadata": (widgets_without_state, "metadata.widgets without state"),
    "a skipped count": (skip_a_count, "execution counts are [1, 4]"),
    "never run": (never_run, "execution counts are [None, None]"),
    "no outputs": (drop_outputs, "no outputs"),
    "another kernel": (other_kernel, "the kernel is 'my-env'"),
    "no alt text": (drop_alt, "a picture without alt text"),
    "a reference without id": (bare_reference, "the reference has no arXiv id"),
    "no references": (no_references, "no list under a heading 'References'"),
    "too large": (fatten, "1.60 MB"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_seeded_fault_gets_its_complaint_and_no_other(fault, tmp_path):
    change, expected = BAD[fault]
    found = complaints_about(seed(change), tmp_path)
    assert found and all(expected in text for text in found), found


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import google.colab\nexcept ImportError:\n    pass",
        "import sys\nif 'google.colab' in sys.modules:\n    from google.colab import drive",
    ],
)
def test_a_guarded_colab_import_is_fine(source, tmp_path):
    assert complaints_about(seed(set_code(source)), tmp_path) == []


def test_a_link_to_a_file_beside_it_is_fine(tmp_path):
    (tmp_path / "data.csv").touch()
    assert complaints_about(seed(add_text("See [data](data.csv).")), tmp_path) == []


def test_not_a_notebook_is_one_complaint(tmp_path):
    (tmp_path / "lesson.ipynb").write_text("{}", encoding="utf-8")
    assert "not a valid notebook" in complaints(tmp_path / "lesson.ipynb")[0]


@pytest.mark.parametrize("path", [*LESSONS, *SOLUTIONS], ids=name)
def test_ours(path):
    assert complaints(path) == []


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_tags_in_code_marks_are_still_there_as_html(path):
    """T35: what the text writes as `<answer>` or `<think>` must be readable on the page."""
    nb = nbformat.read(path, as_version=4)
    nb.cells = [cell for cell in nb.cells if cell.cell_type == "markdown"]
    written = re.findall(r"</?(?:answer|think|reasoning)>", "\n".join(cell.source for cell in nb.cells))
    page, _ = HTMLExporter().from_notebook_node(nb)
    shown = re.findall(r"&lt;/?(?:answer|think|reasoning)&gt;", page)
    assert len(shown) >= len(written)


@pytest.mark.parametrize("path", SOLUTIONS, ids=name)
def test_solutions_answer_the_exercises_of_their_lesson(path):
    number = path.name[:2]
    lesson = next(lesson for lesson in LESSONS if lesson.name.startswith(number))
    asked, answered = (set(exercises(nbformat.read(p, as_version=4))) for p in (lesson, path))
    assert asked == answered
