"""What a policy does with look-up questions: one row a question, and shares with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpo_lessons.environments import STATUSES
from grpo_lessons.evaluation import wilson_interval

from .lookup_qa import answer_f1

if TYPE_CHECKING:
    import pandas as pd

BATCH = 150  # questions sampled at once
ENDINGS = ("answer", "tokens", "calls")


def observe(policy, task, *, n: int = 300, seed: int = 0, temperature: float = 1.0, split: str = "held_out"):
    """One completion for each of n questions of a split, as a DataFrame with one row a question.

    Columns: kind ("one hop" or "two hops"), note (the prompt holds the facts), correct (exact match), reason, f1,
    calls (answered), searched (at least one), ended (see `tool_rollouts.Episode`), one column for each of STATUSES
    (how many calls of this completion came to that), own_tokens, prompt, text.
    """
    import pandas as pd

    problems, rows = task.problems(split, n, seed), []
    for start in range(0, n, BATCH):
        part = problems[start : start + BATCH]
        options = {"max_new_tokens": task.max_new_tokens, "temperature": temperature, "seed": seed * 100_003 + start}
        rollouts = task.rollout(policy, part, 1, **options)
        rows += map(_row, [task] * len(part), part, rollouts.texts, rollouts.episodes)
    return pd.DataFrame(rows)


def _row(task, problem, text: str, episode) -> dict:
    verdict = task.verify(text, problem)
    return {
        "kind": "two hops" if problem.data["hops"] > 1 else "one hop",
        "note": problem.data["note"],
        "correct": verdict.reward >= 1.0,
        "reason": verdict.reason,
        "f1": answer_f1(text, problem.answer),
        "calls": len(episode.calls),
        "searched": bool(episode.calls),
        "ended": episode.ended,
        **{status: episode.statuses.count(status) for status in STATUSES},
        "own_tokens": sum(episode.mask),
        "prompt": problem.prompt[-1]["content"],
        "text": text,
    }


def by_kind(rows: pd.DataFrame, column: str) -> dict[str, tuple[float, tuple[float, float]]]:
    """Share of True in a column for each kind of question, with its 95 % Wilson interval.

    Returns {"one hop, note": (share, (low, high)), ...}, for `plots.accuracy_intervals`.
    """
    shares = {}
    for (kind, note), part in rows.groupby(["kind", "note"]):
        hits = int(part[column].sum())
        shares[f"{kind}, {'note' if note else 'no note'}"] = hits / len(part), wilson_interval(hits, len(part))
    return shares


def faults(rows: pd.DataFrame) -> dict[str, float]:
    """What went wrong, for each 100 completions: calls by status, and completions that hit a limit."""
    calls = {status: 100 * float(rows[status].mean()) for status in STATUSES}
    endings = {f"ended: {name}": 100 * float((rows["ended"] == name).mean()) for name in ENDINGS}
    return calls | endings


def search_shares(table: pd.DataFrame) -> pd.DataFrame:
    """From a run's table (`RunLog.table`): share of completions with a call, among questions with and without a note.

    Returns columns step, note, no note; NaN in a step without such questions.
    """
    shares = {"step": table["step"]}
    for name in ("note", "no note"):
        columns = [c for c in table.columns if c.startswith(f"strategy_{name}, ")]
        asked = table[columns].sum(axis=1)
        silent = table.get(f"strategy_{name}, 0 calls", 0.0 * asked).fillna(0.0)
        shares[name] = (1 - silent / asked).where(asked > 0)
    return type(table)(shares)
