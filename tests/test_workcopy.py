import io

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output, writes

from grpo_lessons.workcopy import main, refresh


def never(question):
    pytest.fail(f"asked: {question}")


def notebook(source, output=None):
    outputs = [new_output("stream", text=output, name="stdout")] if output else []
    return writes(new_notebook(cells=[new_code_cell(source, outputs=outputs)]))


@pytest.fixture
def folders(tmp_path):
    source, copy = tmp_path / "notebooks", tmp_path / "work"
    (source / "side_roads").mkdir(parents=True)
    (source / "01.ipynb").write_text(notebook("..."))
    (source / "side_roads/ppo.ipynb").write_text(notebook("..."))
    list(refresh(source, copy, never))
    return source, copy


def test_copies_all_folders_and_is_silent_the_second_time(folders):
    source, copy = folders
    assert (copy / "side_roads/ppo.ipynb").is_file()
    assert list(refresh(source, copy, never)) == []


def test_an_answer_is_kept_while_the_lesson_stays(folders):
    source, copy = folders
    (copy / "01.ipynb").write_text(notebook("my answer"))
    assert list(refresh(source, copy, never)) == []
    assert "my answer" in (copy / "01.ipynb").read_text()


def test_a_lesson_that_was_only_run_is_brought_up_to_date(folders):
    source, copy = folders
    (copy / "01.ipynb").write_text(notebook("...", output="ran"))
    (source / "01.ipynb").write_text(notebook("better"))
    assert list(refresh(source, copy, never)) == [("01.ipynb", "updated")]
    assert "better" in (copy / "01.ipynb").read_text()


@pytest.mark.parametrize(
    ("answer", "done", "mine", "beside"),
    [
        ("k", "kept", "my answer", None),
        ("n", "put beside", "my answer", "better"),
        ("o", "overwritten", "better", None),
        ("", "kept", "my answer", None),
    ],
)
def test_changed_on_both_sides_asks(folders, answer, done, mine, beside):
    source, copy = folders
    (copy / "01.ipynb").write_text(notebook("my answer"))
    (source / "01.ipynb").write_text(notebook("better"))
    assert list(refresh(source, copy, lambda question: answer)) == [("01.ipynb", done)]
    assert mine in (copy / "01.ipynb").read_text()
    new = copy / "01.new.ipynb"
    assert new.exists() == (beside is not None)
    assert beside is None or beside in new.read_text()


def test_a_kept_answer_is_not_asked_about_again(folders):
    source, copy = folders
    (copy / "01.ipynb").write_text(notebook("my answer"))
    (source / "01.ipynb").write_text(notebook("better"))
    list(refresh(source, copy, lambda question: "k"))
    assert list(refresh(source, copy, never)) == []


def test_a_file_that_the_reader_threw_away_comes_back(folders):
    source, copy = folders
    (copy / "01.ipynb").unlink()
    assert list(refresh(source, copy, never)) == [("01.ipynb", "copied")]


def test_a_file_that_was_there_before_the_first_copy_is_asked_about(tmp_path):
    source, copy = tmp_path / "notebooks", tmp_path / "work"
    source.mkdir(), copy.mkdir()
    (source / "01.ipynb").write_text(notebook("..."))
    (copy / "01.ipynb").write_text(notebook("from another time"))
    assert list(refresh(source, copy, lambda question: "k")) == [("01.ipynb", "kept")]


def test_a_damaged_copy_counts_as_changed(folders):
    source, copy = folders
    (copy / "01.ipynb").write_text("{ not json")
    assert list(refresh(source, copy, never)) == []
    assert (copy / "01.ipynb").read_text() == "{ not json"


def test_the_command_puts_the_new_version_beside_without_a_terminal(folders, capsys, monkeypatch):
    source, copy = folders
    monkeypatch.setattr("sys.stdin", io.StringIO())
    (copy / "01.ipynb").write_text(notebook("my answer"))
    (source / "01.ipynb").write_text(notebook("better"))
    assert main([str(source), str(copy)]) == 0
    assert capsys.readouterr().out == "put beside: 01.ipynb\n"


def test_a_wrong_folder_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="root of the repository"):
        list(refresh(tmp_path / "nowhere", tmp_path / "work", never))
