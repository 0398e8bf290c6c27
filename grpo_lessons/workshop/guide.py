"""What notebooks/INSTRUCTOR.md quotes: the timed tracks and the usual misunderstandings, written between its markers.

    python -m grpo_lessons.workshop.guide

Tracks come from data/workshop/tracks.yaml with measured kernel times, misunderstandings from the quizzes: those that
have a source.
"""

from __future__ import annotations

import re

from grpo_lessons import quiz
from grpo_lessons.paths import notebooks_dir
from grpo_lessons.workshop.tracks import (
    Part,
    Track,
    lesson_file,
    load_measured,
    load_tracks,
    table,
)

GUIDE = notebooks_dir() / "INSTRUCTOR.md"


def tracks() -> str:
    """All tracks as Markdown, with where and when kernel times were measured."""
    measured = load_measured()
    places = sorted({(each["processor"], each["date"]) for each in measured.values()})
    words = " and ".join(f"{processor}, {date}" for processor, date in places)
    how = f"Kernel times: processor seconds of these cells with one thread ({words}; lessons {', '.join(measured)}); "
    how += "for another lesson the time of the whole of it, from its head, in brackets."
    return "\n\n".join([how, *(_track(each, measured) for each in load_tracks())])


def _track(track: Track, measured: dict[str, dict]) -> str:
    parts = "\n\n".join(_part(part, measured) for part in track.parts)
    return f"### {track.name}\n\n{track.about.strip()}\n\n{parts}"


def _part(part: Part, measured: dict[str, dict]) -> str:
    lines = [f"**{part.title}**"]
    if part.home:
        lessons = ", ".join(f"[{lesson}]({lesson_file(lesson).name})" for lesson in part.home)
        lines.append(f"Before: lessons {lessons}; handed in: {', '.join(f'`{name}`' for name in part.home_exercises)}.")
    return "\n\n".join([*lines, table(part, measured)])


def misunderstandings() -> str:
    """The misunderstandings with a source, lesson by lesson, as Markdown."""
    return "\n\n".join(_lesson(number) for number in quiz.lessons())


def _lesson(number: str) -> str:
    lines = [f"### Lesson {number}"]
    for each in quiz.load(number).usual:
        source = f"[seen here]({each.source})" if each.source.startswith("http") else each.source
        lines.append(f"- “{each.says}” **Ask:** {each.uncover} **So it is:** {each.truth} ({source})")
    return "\n".join([lines[0], "", *lines[1:]])


def filled(text: str) -> str:
    """The guide with what stands between its markers made anew. Raises ValueError where a marker is missing."""
    for name, content in {"tracks": tracks(), "misunderstandings": misunderstandings()}.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        text, found = re.subn(f"{begin}.*?{end}", lambda _, c=f"{begin}\n{content}\n{end}": c, text, flags=re.DOTALL)
        if found != 1:
            raise ValueError(f"{found} places {begin} ... {end} in the guide, expected one")
    return text


if __name__ == "__main__":
    GUIDE.write_text(filled(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
