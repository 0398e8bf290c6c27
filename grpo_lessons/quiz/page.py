"""Quizzes as text: the form that readers see, and the key that an instructor prints apart from it."""

from __future__ import annotations

from grpo_lessons.quiz.files import Question, Quiz


class Page(str):
    """Markdown: a notebook shows it as a page, `print` as text."""

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        return str(self)


def line_up(*blocks: str) -> Page:
    """Blocks with a blank line between them."""
    return Page("\n\n".join(blocks))


def form(quiz: Quiz) -> Page:
    """The five questions with their options, nothing that tells which is right."""
    return line_up(f"### Lesson {quiz.lesson}: five questions", *map(question_text, quiz.questions))


def question_text(question: Question) -> Page:
    """One question and its lettered options."""
    options = (
        f"{letter}) " + ("\n\n" if option.text.startswith("```") else "") + option.text
        for letter, option in question.lettered.items()
    )
    return line_up(f"**{question.id}**", question.ask, *options)


def key(quiz: Quiz) -> Page:
    """Right letters and reasons, and the misunderstanding behind every wrong letter."""
    letters = " ".join(question.right_letter for question in quiz.questions)
    return line_up(f"### Lesson {quiz.lesson}: key", f"**{letters}**", *(_reasons(quiz, q) for q in quiz.questions))


def _reasons(quiz: Quiz, question: Question) -> str:
    wrong = {letter: option for letter, option in question.lettered.items() if not option.right}
    held = [f"- {letter}: {quiz.misunderstandings[option.misunderstanding].says}" for letter, option in wrong.items()]
    return line_up(f"**{question.id}: {question.right_letter}**", question.why, "\n".join(held))
