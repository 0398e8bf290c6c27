"""Scoring and keeping answers, and the two texts: the form tells nothing, the key tells all."""

import json
import os
import re

import pytest

from grpo_lessons import quiz


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRPO_LESSONS_PROGRESS", str(tmp_path))
    return tmp_path


def right_letters(lesson="04"):
    return "".join(question.right_letter for question in quiz.load(lesson).questions)


def one_wrong(lesson="04"):
    """Right letters, but question 2 answered with its first wrong one; and the misunderstanding behind that."""
    question = quiz.load(lesson).questions[1]
    letter, option = next((letter, option) for letter, option in question.lettered.items() if not option.right)
    letters = right_letters(lesson)
    return letters[0] + letter + letters[2:], quiz.load(lesson).misunderstandings[option.misunderstanding]


def test_letters_are_scored_with_any_separators_and_either_case(folder):
    given = ", ".join(right_letters().upper())
    assert quiz.score("04", "before", given).right == 5


def test_a_question_left_open_is_not_right(folder):
    assert quiz.score("04", "before", "-" + right_letters()[1:]).right == 4


def test_before_the_lesson_only_the_number_is_told(folder):
    letters, held = one_wrong()
    page = str(quiz.score("04", "before", letters))
    assert "4 of 5 right" in page
    assert held.says not in page and held.truth not in page
    assert not any(question.why in page for question in quiz.load("04").questions)


def test_after_the_lesson_the_misunderstanding_behind_a_wrong_letter_is_named(folder):
    letters, held = one_wrong()
    page = str(quiz.score("04", "after", letters))
    assert held.says in page and held.truth in page
    assert all(question.why in page for question in quiz.load("04").questions)
    others = [m for m in quiz.load("04").misunderstandings.values() if m.name != held.name]
    assert not any(m.says in page for m in others)


def test_answers_are_kept_by_misunderstanding_not_by_letter(folder):
    letters, held = one_wrong()
    quiz.score("04", "before", letters[:4] + "-")
    kept = json.loads((folder / "quiz.json").read_text(encoding="utf-8"))
    expected = {"04.1": "right", "04.2": held.name, "04.3": "right", "04.4": "right", "04.5": None}
    assert kept == {"04": {"before": expected}}


def test_a_second_sitting_stands_beside_the_first(folder):
    quiz.score("04", "before", one_wrong()[0])
    quiz.score("04", "after", right_letters())
    quiz.score("00", "before", "-----")
    assert quiz.progress().loc["04"].tolist() == [4, 5]
    assert quiz.progress().loc["00", "before"] == 0


def test_a_write_that_is_cut_short_leaves_the_first_sitting_whole(folder, monkeypatch):
    quiz.score("04", "before", right_letters())
    monkeypatch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError("no space left")))
    quiz.score("04", "after", right_letters())
    assert quiz.progress().loc["04"].dropna().to_dict() == {"before": 5}


def test_progress_before_the_first_answer_is_an_empty_table(folder):
    assert list(quiz.progress().columns) == ["before", "after"] and quiz.progress().empty


def test_a_place_that_cannot_be_written_raises_nothing(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GRPO_LESSONS_PROGRESS", str(tmp_path / "file"))
    assert quiz.score("04", "before", right_letters()).right == 5
    assert "read-only" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", '{"04": 3}', '{"04": {"before": 3}}'])
def test_a_damaged_file_is_an_empty_one(folder, content):
    (folder / "quiz.json").write_text(content, encoding="utf-8")
    quiz.score("04", "after", right_letters())
    assert quiz.progress().loc["04", "after"] == 5


@pytest.mark.parametrize(
    ("when", "letters", "message"),
    [
        ("before", "abc", "'abc' holds 3 letters, the quiz has 5 questions"),
        ("before", "aaaaz", "04.5 has the options a, b, c; 'z' is none of them"),
        ("during", "aaaaa", 'when is \'during\'; a quiz is answered "before" or "after" its lesson'),
    ],
)
def test_what_cannot_be_scored_says_why(folder, when, letters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        quiz.score("04", when, letters)
    assert not (folder / "quiz.json").exists()


@pytest.mark.parametrize("lesson", quiz.lessons())
def test_the_form_holds_every_option_and_no_reason(lesson):
    form, read = quiz.form(lesson), quiz.load(lesson)
    assert all(question.ask in form for question in read.questions)
    assert all(option.text in form for question in read.questions for option in question.options)
    assert not any(question.why in form for question in read.questions)
    assert not any(m.truth in form for m in read.misunderstandings.values())


def test_the_key_gives_letters_reasons_and_misunderstandings():
    key, read = quiz.key("04"), quiz.load("04")
    assert f"**{' '.join(right_letters())}**" in key
    assert all(question.why in key for question in read.questions)
    chosen = {o.misunderstanding for question in read.questions for o in question.options if not o.right}
    assert all(read.misunderstandings[name].says in key for name in chosen)
