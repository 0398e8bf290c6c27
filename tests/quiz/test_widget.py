"""The form to click, without a browser: its buttons and what it says (tests/browser clicks it in JupyterLab)."""

import json
import sys

import ipywidgets as widgets
import pytest

from grpo_lessons import quiz
from grpo_lessons.quiz.widget import build


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRPO_LESSONS_PROGRESS", str(tmp_path))
    return tmp_path


def parts(form, kind):
    return [part for part in form.children if isinstance(part, kind)]


def click(form):
    parts(form, widgets.Button)[0].click()
    return form.children[-1].value


def test_nothing_is_chosen_before_the_reader_does(folder):
    choices = parts(build(quiz.load("04"), "before"), widgets.ToggleButtons)
    assert [choice.value for choice in choices] == [None] * 5


def test_the_button_scores_and_keeps(folder):
    read = quiz.load("04")
    form = build(read, "after")
    for choice, question in zip(parts(form, widgets.ToggleButtons), read.questions, strict=True):
        choice.value = question.right_letter
    assert "5 of 5 right" in click(form)
    assert set(json.loads((folder / "quiz.json").read_text())["04"]["after"].values()) == {"right"}


def test_questions_left_open_are_scored_as_open(folder):
    assert "0 of 5 right" in click(build(quiz.load("04"), "before"))


def test_a_read_only_folder_is_told_in_the_form(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GRPO_LESSONS_PROGRESS", str(tmp_path / "file"))
    assert "read-only" in click(build(quiz.load("04"), "before"))


def test_tags_and_formulas_of_the_questions_survive_in_the_form(folder):
    shown = " ".join(part.value for part in parts(build(quiz.load("02"), "before"), widgets.HTMLMath))
    assert "&lt;answer&gt;" in shown and "<answer>" not in shown


def test_asking_shows_before_first_and_after_from_then_on(folder, monkeypatch):
    shown = []
    monkeypatch.setattr("grpo_lessons.quiz.widget.show", lambda quiz, when: shown.append(when))
    quiz.ask("04")
    quiz.score("04", "before", "-----")
    quiz.ask("04")
    assert shown == ["before", "after"]


def test_without_widgets_the_form_is_printed_and_how_to_score_it(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "grpo_lessons.quiz.widget", None)
    quiz.ask("04")
    printed = capsys.readouterr().out
    assert quiz.form("04") in printed and 'quiz.score("04", "before", ' in printed
