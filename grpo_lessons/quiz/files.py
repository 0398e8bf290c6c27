"""A lesson's five questions: `data/quizzes/NN.yaml`, read and checked.

Each wrong option names the misunderstanding that somebody who chooses it would hold. A misunderstanding with a
`source` is a usual one: somebody has held it in public, or a reader of the lesson has; then `uncover` asks for it.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from grpo_lessons.paths import data_dir
from grpo_lessons.quiz.rules import complaints

SAFE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same in C, where PyYAML was built with it


@dataclass(frozen=True)
class Misunderstanding:
    """What is held (`says`), what is so (`truth`), the question that uncovers it, and where it was seen."""

    name: str
    says: str
    truth: str
    uncover: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Option:
    """One answer to choose; `misunderstanding` is None for the right one."""

    text: str
    misunderstanding: str | None

    @property
    def right(self) -> bool:
        return self.misunderstanding is None


@dataclass(frozen=True)
class Question:
    """One question. `options` stand in the order of the file; readers see `lettered`."""

    id: str
    kind: str
    ask: str
    options: tuple[Option, ...]
    why: str

    @cached_property
    def lettered(self) -> dict[str, Option]:
        """Letter -> option, in an order that the question's id decides: the same for everybody, before and after."""
        return dict(zip(string.ascii_lowercase, shuffled(self.options, self.id), strict=False))

    @property
    def right_letter(self) -> str:
        return next(letter for letter, option in self.lettered.items() if option.right)


@dataclass(frozen=True)
class Quiz:
    """The questions of one lesson and the misunderstandings behind their wrong options, by name."""

    lesson: str
    misunderstandings: dict[str, Misunderstanding]
    questions: tuple[Question, ...]

    @property
    def usual(self) -> list[Misunderstanding]:
        """Those that have been seen, each with its source."""
        return [m for m in self.misunderstandings.values() if m.source]


def shuffled(options: Sequence, question_id: str) -> list:
    """The options in an order that depends on the question's id only, on every machine and Python."""
    places = sorted(range(len(options)), key=lambda i: hashlib.sha256(f"{question_id} {i}".encode()).digest())
    return [options[i] for i in places]


def lessons() -> list[str]:
    """Numbers of the lessons that have a quiz, such as ["00", "01"]."""
    return sorted(path.stem for path in (data_dir() / "quizzes").glob("[0-9][0-9].yaml"))


def load(lesson: str | int) -> Quiz:
    """The quiz of a lesson, such as load("04"). ValueError names the lessons that have one."""
    number = f"{lesson:02d}" if isinstance(lesson, int) else str(lesson).strip().zfill(2)
    if number not in lessons():
        raise ValueError(f"lesson {lesson!r} has no quiz; lessons with one: {', '.join(lessons()) or 'none'}")
    return read(data_dir() / "quizzes" / f"{number}.yaml")


def read(path: str | Path) -> Quiz:
    """A quiz file. ValueError lists everything in it that breaks a rule of `grpo_lessons.quiz.rules`."""
    path = Path(path)
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=SAFE_LOADER)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is not YAML in UTF-8: {error}") from error
    found = complaints(content, path.stem, lambda question: _right_letter(question["id"], question["options"]))
    if found:
        raise ValueError(f"{path.name} breaks {len(found)} of the rules for quizzes:\n- " + "\n- ".join(found))
    return Quiz(
        lesson=content["lesson"],
        misunderstandings={
            name: Misunderstanding(name, **{key: text.strip() for key, text in entry.items()})
            for name, entry in content["misunderstandings"].items()
        },
        questions=tuple(_question(entry) for entry in content["questions"]),
    )


def _question(entry: dict) -> Question:
    options = tuple(Option(option["text"].strip(), option.get("misunderstanding")) for option in entry["options"])
    return Question(entry["id"], entry["kind"], entry["ask"].strip(), options, entry["why"].strip())


def _right_letter(question_id: str, options: list[dict]) -> str:
    place = next(i for i, option in enumerate(shuffled(options, question_id)) if option.get("right"))
    return string.ascii_lowercase[place]
