"""The report as a page of text, for a viewer of Markdown, a code host, or print."""

from __future__ import annotations

import pandas as pd

from grpo_lessons import quiz

MOST = 10


def page(table: pd.DataFrame, participants: int, left_out: int, rules: str) -> str:
    """table: of `report.rows`. rules: what is hidden, and why. Returns Markdown; the picture lies beside it."""
    parts = [
        "# Before, after, and marks",
        f"{participants} participants handed in answers. Left out as unusable: {left_out}, listed by the command."
        " Intervals are 95 %: bootstrap over people, for a number of people Wilson's.",
        "![Quizzes before and after, and marks, with intervals](report.png)",
        "## Quizzes\n\nMean share of right answers of those who sat twice; where nobody did, of those who sat once.\n\n"
        + _table(table[table["what"] == "quiz"], ("lesson", "sitting")),
        "## Most chosen misunderstandings\n\n" + misunderstandings(table),
        "## Assignments\n\nMean share of the points of those who handed in.\n\n"
        + _table(table[table["what"] == "assignment"], ("assignment", "")),
        "## What is not told\n\n" + rules,
    ]
    return "\n\n".join(parts) + "\n"


def misunderstandings(table: pd.DataFrame, most: int = MOST) -> str:
    """The most chosen ones as a list, each with its words, the number of people by sitting, and what is so."""
    rows = table[table["what"] == "misunderstanding"]
    if rows.empty:
        return "None that may be told."
    order = rows.groupby("name", sort=False)["share"].max().sort_values(ascending=False, kind="stable").index
    lines = []
    for name in order[:most]:
        lesson, key = name.split(" ", 1)
        held = quiz.load(lesson).misunderstandings[key]
        counts = [f"{row.when} {row.chosen} of {row.people}" for row in rows[rows["name"] == name].itertuples()]
        lines.append(f"- Lesson {lesson}: *{held.says}* {', '.join(counts)}. But: {held.truth}")
    return "\n".join(lines)


def _table(rows: pd.DataFrame, names: tuple[str, str]) -> str:
    if rows.empty:
        return "None."
    lines = [f"| {names[0]} | {names[1]} | people | mean [95 %] |", "|---|---|---|---|"]
    lines += [f"| {row.name} | {row.when} | {row.people} | {_share(row)} |" for row in rows.itertuples(index=False)]
    return "\n".join(lines)


def _share(row) -> str:
    if pd.isna(row.share):
        return "not told"
    sign = "+" if row.when == "difference" else ""
    return f"{row.share:{sign}.0%} [{row.low:{sign}.0%}, {row.high:{sign}.0%}]"
