"""A reader's answers to the quizzes: one small JSON file of the reader's own, beside the guesses.

    {"04": {"before": {"04.1": "right", "04.2": "clip-bounds-the-ratio", "04.3": null, ...}, "after": {...}}}

An answer is kept as "right", as the name of the misunderstanding behind the option, or as null for one left open. So
the file still says the same when a later version of the course changes an option's words or place.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from grpo_lessons.check.predictions import location as place_of_guesses
from grpo_lessons.check.predictions import save
from grpo_lessons.quiz.files import Option, Quiz
from grpo_lessons.quiz.page import Page, line_up

WHEN = ("before", "after")
RIGHT = "right"


@dataclass(frozen=True)
class Score:
    """One sitting: the letters that were chosen, "-" for a question left open. Notebooks show it as a page."""

    quiz: Quiz
    when: str
    letters: tuple[str, ...]

    @property
    def chosen(self) -> dict[str, Option | None]:
        """Question id -> the option chosen, None if left open."""
        pairs = zip(self.quiz.questions, self.letters, strict=True)
        return {question.id: question.lettered.get(letter) for question, letter in pairs}

    @property
    def right(self) -> int:
        return sum(option is not None and option.right for option in self.chosen.values())

    def page(self) -> Page:
        """Before the lesson the number only, so that the second sitting is no test of memory; after it, the reasons."""
        head = f"**Lesson {self.quiz.lesson}, {self.when}: {self.right} of {len(self.letters)} right.**"
        if self.when == "before":
            return Page(f"{head} Which ones, and why, stands here when you have answered again after the lesson.")
        return line_up(head, *(self._reason(i) for i in range(len(self.letters))))

    def _reason(self, place: int) -> str:
        question, letter = self.quiz.questions[place], self.letters[place]
        option = question.lettered.get(letter)
        if option is not None and option.right:
            return line_up(f"**{question.id}** {letter} is right.", question.why)
        verdict = "was left open" if option is None else f"{letter} is not right"
        head = f"**{question.id}** {verdict}; right is {question.right_letter}."
        if option is None:
            return line_up(head, question.why)
        held = self.quiz.misunderstandings[option.misunderstanding]
        behind = f"Behind {letter} stands the idea: *{held.says}* But: {held.truth}"
        return line_up(head, behind, question.why)

    def _repr_markdown_(self) -> str:
        return self.page()

    def __str__(self) -> str:
        return self.page()


def location() -> Path:
    """Where answers are kept: `quiz.json` in the folder of the guesses."""
    return place_of_guesses().with_name("quiz.json")


def keep(score: Score) -> bool:
    """Write a sitting down; a second one of the same kind replaces the first. False where the folder is read-only."""
    entry = {name: option and (option.misunderstanding or RIGHT) for name, option in score.chosen.items()}
    everything = kept()
    everything[score.quiz.lesson] = everything.get(score.quiz.lesson, {}) | {score.when: entry}
    return save(location, everything)


def kept() -> dict[str, dict[str, dict]]:
    """Lesson -> "before" or "after" -> answers by question id. A missing or damaged file is an empty one."""
    try:
        return sittings(json.loads(location().read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def sittings(content: object) -> dict[str, dict[str, dict]]:
    """What a `quiz.json` holds, without anything of another shape."""
    lessons = content.items() if isinstance(content, dict) else ()
    return {
        str(lesson): {when: answers for when, answers in entry.items() if when in WHEN and isinstance(answers, dict)}
        for lesson, entry in lessons
        if isinstance(entry, dict)
    }
