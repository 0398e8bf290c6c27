"""Five questions before a lesson and again after it; `data/quizzes/NN.yaml` holds them.

    quiz.ask("04")                           the form to click, in a notebook
    quiz.form("04")                          the same as text, for a notebook without widgets or for paper
    quiz.score("04", "before", "b d a c a")  scores letters and keeps them
    quiz.progress()                          how many were right, before and after, by lesson

The options are shuffled in an order that each question's id decides: the same letters for everybody, before and after,
so that one key serves a whole class. Before the lesson only the number of right answers is told; the reasons, and the
misunderstanding behind a wrong choice, come with the second sitting, which would otherwise test the memory. Answers are
kept where the guesses are (`.progress/quiz.json`, see `grpo_lessons.quiz.answers`) and go nowhere else.
"""

from __future__ import annotations

import re

from grpo_lessons.quiz import answers, page
from grpo_lessons.quiz.answers import WHEN, Score
from grpo_lessons.quiz.files import Misunderstanding, Option, Question, Quiz, lessons, load, read
from grpo_lessons.quiz.page import Page

__all__ = ["Misunderstanding", "Option", "Page", "Question", "Quiz", "Score"]
__all__ += ["ask", "form", "key", "lessons", "load", "progress", "read", "score"]


def ask(lesson: str | int, when: str | None = None) -> None:
    """Show a lesson's quiz as a form to click, or as text where ipywidgets is not installed.

    when: "before" or "after"; by default "before" the first time and "after" from then on.
    """
    quiz = load(lesson)
    when = when or ("after" if "before" in answers.kept().get(quiz.lesson, {}) else "before")
    _check_when(when)
    try:
        from grpo_lessons.quiz.widget import show
    except ImportError:
        print(page.form(quiz))
        print(f'\nWrite five letters down, then: quiz.score("{quiz.lesson}", "{when}", "a b c d a")')
        return
    show(quiz, when)


def form(lesson: str | int) -> Page:
    """The quiz of a lesson as text, without anything that tells which options are right."""
    return page.form(load(lesson))


def key(lesson: str | int) -> Page:
    """The right letters of a lesson's quiz with the reasons, for the instructor."""
    return page.key(load(lesson))


def score(lesson: str | int, when: str, letters: str) -> Score:
    """Score five letters such as "b d a c a" ("-" leaves a question open) and keep them.

    Raises ValueError for another number of letters, a letter that the question does not have, or another `when`.
    """
    quiz = load(lesson)
    _check_when(when)
    given = re.findall(r"[^\s,;]", letters.lower())
    for question, letter in zip(quiz.questions, given, strict=False):
        if letter != "-" and letter not in question.lettered:
            raise ValueError(
                f"{question.id} has the options {', '.join(question.lettered)}; {letter!r} is none of them"
            )
    if len(given) != len(quiz.questions):
        raise ValueError(
            f'{letters!r} holds {len(given)} letters, the quiz has {len(quiz.questions)} questions: "b d a c a", '
            'with "-" for a question left open'
        )
    result = Score(quiz, when, tuple(given))
    if not answers.keep(result):
        print(f"This folder is read-only, so the answers are not kept; note on paper: {when}, {' '.join(given)}.")
    return result


def progress():
    """DataFrame, one row a lesson that was answered; columns before and after: right answers of five, NaN if none."""
    import pandas as pd

    rows = [
        {"lesson": lesson} | {when: list(given.values()).count(answers.RIGHT) for when, given in sat.items()}
        for lesson, sat in sorted(answers.kept().items())
    ]
    return pd.DataFrame(rows, columns=["lesson", *WHEN]).set_index("lesson")


def _check_when(when: str) -> None:
    if when not in WHEN:
        raise ValueError(f'when is {when!r}; a quiz is answered "before" or "after" its lesson')
