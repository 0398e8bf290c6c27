import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from grpo_lessons.notebooks import METADATA, clean, execute, from_percent, main, to_percent, write

SCRIPT = '''# %% [markdown] {"slide": "## How many?\\n\\n$a \\\\le \\\\rho$, 95 %"}
r"""
# How many?

Write `<answer>`, and $\\rho$.
"""

# %% {"exercise": "01.group_advantages", "tags": ["exercise"]}
def mine(rewards):
    ...


print(mine(1))

# %% [markdown]
# Comments are
#
# text too.

# %%
1 + 1
'''


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "lesson.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def test_percent_script_becomes_cells_with_metadata(script):
    title, stub, text, code = from_percent(script).cells
    assert title.source == "# How many?\n\nWrite `<answer>`, and $\\rho$."
    assert title.metadata == {"grpo_lessons": {"slide": "## How many?\n\n$a \\le \\rho$, 95 %"}}
    assert stub.metadata == {"tags": ["exercise"], "grpo_lessons": {"exercise": "01.group_advantages"}}
    assert stub.source == "def mine(rewards):\n    ...\n\n\nprint(mine(1))"
    assert text.source == "Comments are\n\ntext too."
    assert (code.cell_type, code.source) == ("code", "1 + 1")


def test_an_unchanged_cell_keeps_its_id_when_others_come_before_it(script):
    before = from_percent(script).cells[-1].id
    script.write_text("# %%\n2 + 2\n\n" + SCRIPT, encoding="utf-8")
    assert from_percent(script).cells[-1].id == before


def test_equal_cells_get_different_ids(script):
    script.write_text("# %%\n1\n\n# %%\n1\n", encoding="utf-8")
    first, second = from_percent(script).cells
    assert first.id != second.id


def test_text_before_the_first_marker_is_refused_not_lost(script):
    script.write_text("import torch\n# %%\n1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="import torch"):
        from_percent(script)


def test_notebook_to_text_and_back_is_the_same(script, tmp_path):
    nb = from_percent(script)
    again = tmp_path / "again.py"
    again.write_text(to_percent(nb), encoding="utf-8")
    assert from_percent(again) == nb


def test_clean_removes_widgets_and_the_machine_but_keeps_the_exercise():
    cell = new_code_cell("x", metadata={"grpo_lessons": {"exercise": "a"}, "execution": {"iopub": "2026"}})
    cell.outputs = [
        nbformat.v4.new_output(
            "display_data", {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "bar"}
        )
    ]
    nb = new_notebook(
        cells=[cell], metadata={"widgets": {"state": {}}, "language_info": {"name": "python", "version": "3.11.2"}}
    )
    cleaned = clean(nb, keep_outputs=True)
    assert cleaned.metadata == METADATA
    assert cleaned.cells[0].metadata == {"grpo_lessons": {"exercise": "a"}}
    assert cleaned.cells[0].outputs[0].data == {"text/plain": "bar"}


def test_execute_counts_from_one_and_runs_in_the_given_folder(tmp_path):
    cells = [
        new_code_cell("import os, pathlib"),
        new_code_cell("os.environ['OMP_NUM_THREADS'], pathlib.Path.cwd().name"),
    ]
    done = execute(new_notebook(cells=cells), tmp_path)
    assert [cell.execution_count for cell in done.cells] == [1, 2]
    assert done.cells[1].outputs[0].data["text/plain"] == f"('1', '{tmp_path.name}')"


def test_a_failing_cell_leaves_the_target_alone_and_says_so(tmp_path, capsys):
    script, target = tmp_path / "bad.py", tmp_path / "bad.ipynb"
    script.write_text("# %%\n1 / 0\n", encoding="utf-8")
    assert main(["build", str(script), str(target)]) == 1
    assert not target.exists()
    message = capsys.readouterr().err
    assert "cell 1 of 1" in message and "ZeroDivisionError" in message


def test_written_files_are_utf8_with_one_final_newline(tmp_path):
    path = tmp_path / "new/nb.ipynb"
    write(new_notebook(cells=[new_code_cell("'ação'")], metadata=METADATA), path)
    text = path.read_bytes().decode("utf-8")
    assert "ação" in text and text.endswith("}\n")
