"""An exam in programming: every held-out problem once, each program graded by the shown examples and by all tests.

The four problems of one function differ only in their third example, so they are no independent questions: intervals
draw functions, not problems.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grpo_lessons.evaluation import accuracy_interval
from grpo_lessons.rollouts import sample_groups

from .programs import THIRD_POINTS, run_suites, split_functions

if TYPE_CHECKING:
    import pandas as pd


def sit_exam(policy, task, *, split: str = "held_out", temperature: float = 1.0, seed: int = 0) -> pd.DataFrame:
    """One completion for every problem of a split, as a DataFrame with one row a problem, four rows a function.

    Columns: function (the right program), degree, strategy, shown (it passes the examples of its prompt), right (it
    passes all tests), reason (of the verdict on all tests), prompt, text.
    """
    import pandas as pd

    problems = task.problems(split, len(split_functions(split)) * len(THIRD_POINTS), 0)
    options = {"max_new_tokens": task.max_new_tokens, "temperature": temperature, "seed": seed}
    texts = sample_groups(policy, problems, 1, **options).texts
    examples = run_suites(texts, [problem.data["visible"] for problem in problems])
    verdicts = task.verify_batch(texts, problems)
    rows = [
        {
            "function": problem.answer,
            "degree": problem.data["degree"],
            "strategy": task.strategy(text, problem),
            "shown": example.reward == 1,
            "right": verdict.reward == 1,
            "reason": verdict.reason,
            "prompt": problem.prompt[-1]["content"],
            "text": text,
        }
        for problem, text, example, verdict in zip(problems, texts, examples, verdicts, strict=True)
    ]
    return pd.DataFrame(rows).sort_values(["function", "prompt"], ignore_index=True)


def share_with_interval(rows: pd.DataFrame, column: str) -> tuple[float, tuple[float, float]]:
    """Share of True in a column of `sit_exam`, and its 95 % interval from a bootstrap over functions.

    Returns (share, (low, high)), for `plots.accuracy_intervals`.
    """
    marks = _by_function(rows, column)
    return float(marks.mean()), accuracy_interval(marks)


def difference_with_interval(
    rows: pd.DataFrame, before: pd.DataFrame, column: str, *, seed: int = 0, resamples: int = 2000
) -> tuple[float, tuple[float, float]]:
    """Share in one exam minus the share in another of the same problems, with its 95 % interval.

    A paired comparison: each resample draws functions, and takes their problems from both exams.
    """
    gaps = (_by_function(rows, column).astype(float) - _by_function(before, column)).mean(1)
    picks = np.random.default_rng(seed).integers(0, len(gaps), size=(resamples, len(gaps)))
    low, high = np.quantile(gaps[picks].mean(1), [0.025, 0.975])
    return float(gaps.mean()), (float(low), float(high))


def _by_function(rows: pd.DataFrame, column: str) -> np.ndarray:
    """(functions, problems of each)."""
    return np.array([part[column].to_numpy() for _, part in rows.groupby("function")])
