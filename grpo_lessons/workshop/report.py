"""One page about a class, without names: quizzes before and after, misunderstandings, marks, each with its interval.

RULES says what the page does not tell, so that nobody can be recognised.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from grpo_lessons import quiz
from grpo_lessons.evaluation import accuracy_interval, paired_bootstrap, wilson_interval
from grpo_lessons.quiz.answers import RIGHT, WHEN
from grpo_lessons.workshop.report_page import page
from grpo_lessons.workshop.results import Results, collect

FEWEST, RARE = 5, 3
RULES = f"""So that nobody can be recognised, the page and the table leave out:

- everything about fewer than {FEWEST} people;
- a number of people below {RARE}, or within {RARE - 1} of all of them: it is written as `<{RARE}`, or with `>`;
- a mean at its end, all right or all wrong, which would tell everybody's result.

Before and after are those of the same people, the ones who answered both; otherwise the difference of two rows could be
the answers of the one person who is only in the first. Shares are rounded to whole per cents."""


@dataclass(frozen=True)
class Row:
    """what: "quiz", "misunderstanding" or "assignment". when: "before", "after", "difference" or "".

    people: how many the row is about ("<5": nothing else is told). chosen: how many of them chose the misunderstanding.
    share, low, high: mean share of right answers or points, or share of people, with its 95 % interval; None if hidden.
    """

    what: str
    name: str
    when: str
    people: str
    chosen: str = ""
    share: float | None = None
    low: float | None = None
    high: float | None = None


def report(folder: Path, out: Path) -> list[str]:
    """Write report.csv, report.png and report.md into `out`; returns a line for everything that was left out.

    The lines name files and are for the instructor's eyes; none of them stands on the page.
    ValueError if there is nothing to report.
    """
    from grpo_lessons import plots
    from grpo_lessons.plots.style import png

    results = collect(Path(folder))
    table = pd.DataFrame([asdict(row) for row in rows(results)], columns=list(Row.__dataclass_fields__))
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    table.to_csv(out / "report.csv", index=False)
    (out / "report.png").write_bytes(png(plots.class_report(table)))
    text = page(table, results.participants, len(results.troubles), RULES)
    (out / "report.md").write_text(text, encoding="utf-8")
    return results.troubles


def rows(results: Results) -> list[Row]:
    """All rows of the table, in the order of the page."""
    quizzes = [row for lesson, people in sorted(results.answers.items()) for row in quiz_rows(lesson, people)]
    held = [row for lesson, people in sorted(results.answers.items()) for row in held_rows(lesson, people)]
    marks = [assignment_row(name, shares) for name, shares in sorted(results.marks.items())]
    return [*quizzes, *held, *marks]


def quiz_rows(lesson: str, people: list[dict]) -> list[Row]:
    """Mean share of right answers, by sitting, and the difference of the two."""
    group, whens = _group(people)
    if len(group) < FEWEST:
        return [Row("quiz", lesson, "", f"<{FEWEST}")]
    right = {when: np.array([_right(answers[when]) for answers in group]) for when in whens}
    found = [_mean_row("quiz", lesson, when, right[when]) for when in whens]
    if whens == WHEN and all(row.share is not None for row in found):
        gain = paired_bootstrap(right["after"], right["before"], seed=0)
        found.append(_row("quiz", lesson, "difference", len(group), gain.difference, *gain.interval))
    return found


def held_rows(lesson: str, people: list[dict]) -> list[Row]:
    """How many people chose each misunderstanding, by sitting; without those that were rare in every sitting."""
    group, whens = _group(people)
    if len(group) < FEWEST:
        return []
    found = []
    for name in quiz.load(lesson).misunderstandings:
        chosen = {when: sum(name in answers[when].values() for answers in group) for when in whens}
        if max(chosen.values()) >= RARE:
            found += [_count_row(f"{lesson} {name}", when, count, len(group)) for when, count in chosen.items()]
    return found


def assignment_row(name: str, shares: list[float]) -> Row:
    """Mean share of the points of those who handed in."""
    if len(shares) < FEWEST:
        return Row("assignment", name, "", f"<{FEWEST}")
    # Two equal columns: the interval resamples people, and their marks are no yes or no.
    return _mean_row("assignment", name, "", np.repeat(np.clip(shares, 0, 1)[:, None], 2, axis=1))


def _group(people: list[dict]) -> tuple[list[dict], tuple[str, ...]]:
    """Those who sat both, or, where nobody did, those of the sitting that more people answered."""
    both = [answers for answers in people if set(answers) >= set(WHEN)]
    if both:
        return both, WHEN
    when = max(WHEN, key=lambda when: sum(when in answers for answers in people))
    return [answers for answers in people if when in answers], (when,)


def _right(answers: dict) -> list[bool]:
    return [answers[name] == RIGHT for name in sorted(answers)]


def _mean_row(what: str, name: str, when: str, values: np.ndarray) -> Row:
    """values (people, columns) between 0 and 1."""
    mean = float(values.mean())
    if mean in (0.0, 1.0):
        return Row(what, name, when, str(len(values)))
    return _row(what, name, when, len(values), mean, *accuracy_interval(values))


def _count_row(name: str, when: str, count: int, people: int) -> Row:
    if RARE <= count <= people - RARE:
        return _row("misunderstanding", name, when, people, count / people, *wilson_interval(count, people), str(count))
    return Row("misunderstanding", name, when, str(people), f"<{RARE}" if count < RARE else f">{people - RARE}")


def _row(what, name, when, people, share, low, high, chosen="") -> Row:
    return Row(what, name, when, str(people), chosen, *(round(value, 2) for value in (share, low, high)))
