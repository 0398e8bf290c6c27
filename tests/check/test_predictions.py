import json

import pytest
import torch

from grpo_lessons import check


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("GRPO_LESSONS_PROGRESS", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_guess_is_shown_beside_the_outcome(folder, capsys):
    check.predict("04.length", 30)
    check.reveal("04.length", torch.tensor(41.25))
    assert capsys.readouterr().out.splitlines() == [
        "04.length: your guess 30 is kept.",
        "04.length: you guessed 30, it is 41.25.",
    ]
    assert check.predictions().to_dict("records") == [{"key": "04.length", "guess": 30, "actual": 41.25}]


def test_dots_are_not_a_guess(folder, capsys):
    check.predict("04.length", ...)
    assert "write your guess in place of the dots" in capsys.readouterr().out
    assert list(folder.iterdir()) == []


def test_an_outcome_without_a_guess_is_told_and_not_kept(folder, capsys):
    check.reveal("04.length", 41)
    assert capsys.readouterr().out == "04.length: it is 41. You wrote no guess down.\n"
    assert check.predictions().empty


def test_a_second_guess_replaces_the_first_and_forgets_its_outcome(folder):
    check.predict("a", 1)
    check.reveal("a", 5)
    check.predict("a", 2)
    assert json.loads((folder / ".progress/predictions.json").read_text()) == {"a": {"guess": 2}}


def test_one_file_beside_pyproject_serves_all_folders_below(folder, monkeypatch):
    (folder / "pyproject.toml").touch()
    (folder / "notebooks/side_roads").mkdir(parents=True)
    monkeypatch.chdir(folder / "notebooks/side_roads")
    check.predict("a", 1)
    assert (folder / ".progress/predictions.json").is_file()


def test_the_environment_names_another_folder(folder, monkeypatch):
    monkeypatch.setenv("GRPO_LESSONS_PROGRESS", str(folder / "mine"))
    check.predict("a", 1)
    assert (folder / "mine/predictions.json").is_file()


def test_a_place_that_cannot_be_written_raises_nothing(folder, monkeypatch, capsys):
    (folder / "file").touch()
    monkeypatch.setenv("GRPO_LESSONS_PROGRESS", str(folder / "file"))
    check.predict("a", 1)
    check.reveal("a", 2)
    assert "read-only" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", '{"a": 3}'])
def test_a_damaged_file_is_an_empty_one(folder, content):
    (folder / ".progress").mkdir()
    (folder / ".progress/predictions.json").write_text(content)
    check.predict("b", 1)
    check.reveal("b", 2)
    assert list(check.predictions()["key"]) == ["b"]
