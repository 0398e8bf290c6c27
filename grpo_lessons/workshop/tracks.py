"""The timed tracks of the instructor's guide: `data/workshop/tracks.yaml`, read, and shown as tables."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat
import yaml

from grpo_lessons.paths import data_dir, notebooks_dir
from grpo_lessons.workshop.exercises import exercise_id

HEAD_TIME = re.compile(r"\*\*Kernel time:\*\* (.+?)(?: on | with |[.;])")


@dataclass(frozen=True)
class Row:
    """One line of a timetable. minutes: an estimate; cells: numbers of code cells; `what` where there is no lesson."""

    minutes: int
    say: str = ""
    what: str = ""
    lesson: str = ""
    sections: tuple[str, ...] = ()
    cells: tuple[int, ...] = ()
    exercises: tuple[str, ...] = ()
    wait: str = ""
    late: str = ""


@dataclass(frozen=True)
class Part:
    """What is done in one go: a meeting or a day. home: lessons to work through before, with their exercises."""

    title: str
    minutes: int
    rows: tuple[Row, ...]
    start: str = "0:00"
    home: tuple[str, ...] = ()
    home_exercises: tuple[str, ...] = ()


@dataclass(frozen=True)
class Track:
    """A workshop of a certain length."""

    name: str
    about: str
    parts: tuple[Part, ...]


def load_tracks(path: Path | None = None) -> list[Track]:
    """The tracks of the file. Raises TypeError for a key that rows, parts or tracks do not have."""
    path = path or data_dir() / "workshop" / "tracks.yaml"
    return [
        Track(each["name"], each["about"], tuple(_part(part) for part in each["parts"]))
        for each in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


def _part(content: dict) -> Part:
    rows = (row | {"cells": numbers(str(row.get("cells", "")))} for row in content["rows"])
    return Part(**{**content, "rows": tuple(Row(**row) for row in rows)})


def numbers(text: str) -> tuple[int, ...]:
    """ "1-3, 7" -> (1, 2, 3, 7); an empty text gives ()."""
    ends = [list(map(int, piece.split("-"))) for piece in text.split(",") if piece.strip()]
    return tuple(number for piece in ends for number in range(piece[0], piece[-1] + 1))


@cache
def lesson_file(lesson: str) -> Path:
    """The notebook of a lesson such as "04". Raises FileNotFoundError where there is none."""
    found = list(notebooks_dir().glob(f"{lesson}_*.ipynb"))
    if len(found) != 1:
        raise FileNotFoundError(f"{len(found)} notebooks for lesson {lesson!r} in {notebooks_dir()}, expected one")
    return found[0]


@cache
def cells_of(lesson: str) -> list[tuple[str, str | None, str]]:
    """(section, exercise or None, source) of each code cell in order; the section is "" before the first heading."""
    section, cells = "", []
    for cell in nbformat.read(lesson_file(lesson), as_version=4).cells:
        if cell.cell_type == "code":
            cells.append((section, exercise_id(cell), cell.source))
        elif headings := re.findall(r"^#{2,3} (.+)$", cell.source, flags=re.MULTILINE):
            section = headings[-1]
    return cells


@cache
def headings_of(lesson: str) -> list[str]:
    """The headings of a lesson below its title."""
    nb = nbformat.read(lesson_file(lesson), as_version=4)
    text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    return re.findall(r"^#{2,3} (.+)$", text, flags=re.MULTILINE)


def kernel(row: Row, measured: dict[str, dict]) -> str:
    """How long the kernel works for the row: measured where the lesson was, else what the lesson's head says of all."""
    if not row.cells:
        return ""
    if row.lesson in measured:
        seconds = sum(measured[row.lesson]["seconds"][number - 1] for number in row.cells)
        return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{max(1, round(seconds))} s"
    head = nbformat.read(lesson_file(row.lesson), as_version=4).cells[0].source
    return f"(whole lesson: {HEAD_TIME.search(head)[1].removeprefix('about ')})"


def table(part: Part, measured: dict[str, dict]) -> str:
    """A part as a Markdown table with the time at which each row begins."""
    hours, minutes = map(int, part.start.split(":"))
    clock = 60 * hours + minutes
    lines = ["| from | min | what | kernel | say; while it runs; when late |", "|---|---|---|---|---|"]
    for row in part.rows:
        notes = [
            row.say and f"“{row.say}”",
            row.wait and f"**While it runs:** {row.wait}",
            row.late and f"**Late:** {row.late}",
        ]
        when = f"{clock // 60}:{clock % 60:02}"
        lines.append(
            f"| {when} | {row.minutes} | {_what(row)} | {kernel(row, measured)} | {' '.join(filter(None, notes))} |"
        )
        clock += row.minutes
    return "\n".join([*lines, f"| {clock // 60}:{clock % 60:02} | | end | | |"])


def _what(row: Row) -> str:
    if not row.lesson:
        return row.what
    cells = f"cells {ranges(row.cells)}" if row.cells else "talk, nothing is run"
    exercises = [f"exercise `{name}`" for name in row.exercises]
    return f"[{row.lesson}]({lesson_file(row.lesson).name}): " + "; ".join([*row.sections, cells, *exercises])


def ranges(cells: tuple[int, ...]) -> str:
    """(1, 2, 3, 7) -> "1 to 3, 7"."""
    starts = [n for n in cells if n - 1 not in cells]
    ends = [n for n in cells if n + 1 not in cells]
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in zip(starts, ends, strict=True))


def measured_file() -> Path:
    """Where the kernel times of cells are kept."""
    return data_dir() / "workshop" / "cell_seconds.json"


def load_measured() -> dict[str, dict]:
    """{lesson: date, processor, seconds of its code cells}; made by grpo_lessons.workshop.cell_times."""
    path = measured_file()
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
