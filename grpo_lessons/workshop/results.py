"""What a class handed in: quiz answers, one file a participant, and the marks that nbgrader exported.

COURSE/quizzes/*.json    each the `.progress/quiz.json` of one participant, under any name; without the folder
                         quizzes/, the .json files of COURSE itself
COURSE/grades.csv        as `grpo-lessons workshop grade` and `nbgrader export` write it
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from grpo_lessons import quiz
from grpo_lessons.quiz.answers import RIGHT, sittings

COLUMNS = ["assignment", "timestamp", "student_id", "score", "max_score"]
MAX_BYTES = 1_000_000


@dataclass
class Results:
    """answers: lesson -> one dict a participant, "before" or "after" -> answers by question id. Nobody is named.

    marks: assignment -> share of its points for each student who handed it in. participants: files that were read.
    troubles: one line for each thing that was left out; they name files, so they are for the instructor only.
    """

    answers: dict[str, list[dict[str, dict]]] = field(default_factory=dict)
    marks: dict[str, list[float]] = field(default_factory=dict)
    participants: int = 0
    troubles: list[str] = field(default_factory=list)


def collect(folder: Path) -> Results:
    """Read everything of a class. ValueError if there is neither a quiz file nor a table of grades."""
    results = Results()
    files = sorted((folder / "quizzes").glob("*.json")) or sorted(folder.glob("*.json"))
    read = {path.name: sat for path in files if (sat := _read(path, results.troubles))}
    results.participants = len(read)
    for lesson in sorted({lesson for sat in read.values() for lesson in sat}):
        _add_lesson(results, lesson, {name: sat[lesson] for name, sat in read.items() if lesson in sat})
    if (folder / "grades.csv").is_file():
        _add_marks(results, folder / "grades.csv")
    elif not files:
        raise ValueError(
            f"nothing to report in {folder}: put each participant's .progress/quiz.json into {folder / 'quizzes'}, "
            f"under a name of its own, or the grades of `grpo-lessons workshop grade` into {folder / 'grades.csv'}"
        )
    return results


def _read(path: Path, troubles: list[str]) -> dict[str, dict[str, dict]]:
    """Lesson -> sitting -> answers of one participant; {} and a line if there are none."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"{path.stat().st_size:,} bytes; a quiz.json has a few thousand")
        sat = sittings(json.loads(path.read_text(encoding="utf-8")))
        if not any(sat.values()):
            raise ValueError("it holds no answers")
    except (OSError, ValueError, RecursionError) as error:
        troubles.append(f"{path.name}: left out, it is not the `.progress/quiz.json` of a participant: {error}")
        return {}
    return sat


def _add_lesson(results: Results, lesson: str, sat: dict[str, dict[str, dict]]) -> None:
    """sat: file name -> sitting -> answers. Answers to another version of the quiz get a line."""
    try:
        questions = quiz.load(lesson).questions
    except ValueError as error:
        results.troubles.append(f"answers to lesson {lesson!r} in {len(sat)} files, left out: {error}")
        return
    possible = {
        question.id: {option.misunderstanding or RIGHT for option in question.options} for question in questions
    }
    for name, whens in sat.items():
        known = {}
        for when, answers in whens.items():
            if fault := _fault(answers, possible):
                results.troubles.append(f"{name}: lesson {lesson}, {when}, left out: {fault}")
            else:
                known[when] = answers
        if known:
            results.answers.setdefault(lesson, []).append(known)


def _fault(answers: dict, possible: dict[str, set[str]]) -> str:
    """What is wrong with one sitting, "" if nothing is; None stands for a question left open."""
    if set(answers) != set(possible):
        return f"it answers {', '.join(sorted(answers)) or 'nothing'}; the quiz asks {', '.join(possible)}"
    for name, given in answers.items():
        if given is not None and (not isinstance(given, str) or given not in possible[name]):
            return f"{given!r} is no answer to {name} in this version of the quiz"
    return ""


def _add_marks(results: Results, path: Path) -> None:
    """nbgrader lists everybody: a row without a time stamp and without points counts as not handed in."""

    def leave_out(fields: list[str]) -> None:
        results.troubles.append(f"{path.name}: a row of {len(fields)} fields, left out: is there a comma in a name?")

    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, on_bad_lines=leave_out, engine="python")
        missing = [name for name in COLUMNS if name not in table]
        if missing:
            raise ValueError(f"it lacks the columns {', '.join(missing)} of nbgrader's export")
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        results.troubles.append(f"{path.name}: left out: {error}")
        return
    score, most = (pd.to_numeric(table[name], errors="coerce") for name in ("score", "max_score"))
    usable = np.isfinite(score) & (score >= 0) & (most > 0)
    absent = (table["timestamp"] == "") & (score == 0)
    for number in table.index[~usable]:
        results.troubles.append(f"{path.name}, line {number + 2}: left out, score and max_score are no marks")
    for number in table.index[usable & ~absent]:
        results.marks.setdefault(table["assignment"][number], []).append(float(score[number] / most[number]))
    if dropped := int((usable & absent).sum()):
        results.troubles.append(f"{path.name}: {dropped} rows without time stamp and points count as not handed in")
