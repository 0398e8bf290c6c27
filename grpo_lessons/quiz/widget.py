"""A quiz as a form to click, in JupyterLab, VS Code or Colab. Needs ipywidgets and nbconvert (the `lab` extra)."""

from __future__ import annotations

import ipywidgets as widgets
from IPython.display import display
from nbconvert.filters import markdown2html

from grpo_lessons.quiz import answers, page
from grpo_lessons.quiz.files import Quiz


def show(quiz: Quiz, when: str) -> None:
    """Put the form on the page. A viewer without widgets, and the saved notebook, show the questions as text."""
    data = build(quiz, when)._repr_mimebundle_()
    display(data | {"text/markdown": page.form(quiz), "text/plain": f"Lesson {quiz.lesson}: five questions"}, raw=True)


def build(quiz: Quiz, when: str) -> widgets.VBox:
    """The form: five questions, each with its letters to choose from, one button, and a place for the result."""
    choices = [
        widgets.ToggleButtons(options=list(question.lettered), value=None, style={"button_width": "3em"})
        for question in quiz.questions
    ]
    button = widgets.Button(description="Score my answers", button_style="primary", layout={"width": "12em"})
    result = widgets.HTMLMath()

    def answer(_) -> None:
        score = answers.Score(quiz, when, tuple(choice.value or "-" for choice in choices))
        note = "" if answers.keep(score) else "\n\nThis folder is read-only, so the answers are not kept."
        result.value = markdown2html(score.page() + note)

    button.on_click(answer)
    questions = [
        part
        for question, choice in zip(quiz.questions, choices, strict=True)
        for part in (widgets.HTMLMath(markdown2html(page.question_text(question))), choice)
    ]
    head = widgets.HTML(f"<h3>Lesson {quiz.lesson}, {when} the lesson: five questions</h3>")
    return widgets.VBox([head, *questions, button, result])
