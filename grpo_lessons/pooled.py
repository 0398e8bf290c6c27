"""Several seeds of a recorded study as one number with its interval.

The interval is a bootstrap over seeds and problems: each resample draws the seeds with replacement and then, for
each, as many right answers as a policy of that accuracy would give. With three seeds it is still too narrow, since
three runs say little about how runs differ; so the seeds stand beside it, each by itself.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .methods import METHODS
from .studies import Recorded

THREE_DIGIT_SUMS = 200  # problems behind the column `three_digits`, see studies.py


def trials(study: Recorded, column: str) -> pd.Series:
    """How many problems are behind each share in this column of `study.results`, one number a row."""
    results = study.results
    if column == "three_digits":
        return pd.Series(THREE_DIGIT_SUMS, index=results.index)
    if column == "train":
        pools = results["run"].map(lambda run: study.about["runs"][run]["train_problems"] or np.inf)
        return np.minimum(pools, results["n"]).astype(int)
    return results["n"]


def pooled(study: Recorded, column: str = "accuracy", *, seed: int = 0, resamples: int = 4000) -> pd.DataFrame:
    """Mean over the seeds with its 95 % interval, for each label and setting in the study's order.

    column: a share in `study.results`. Returns columns label, setting, seeds, mean, low, high, worst, best.
    """
    rows = []
    for (label, setting), runs in _by(study, column, ["label", "setting"]):
        means = _resampled(runs[column], runs["trials"], np.random.default_rng(seed), resamples)
        low, high = np.quantile(means, [0.025, 0.975])
        worst, best = runs[column].min(), runs[column].max()
        rows.append((label, setting, len(runs), runs[column].mean(), low, high, worst, best))
    return pd.DataFrame(rows, columns=["label", "setting", "seeds", "mean", "low", "high", "worst", "best"])


def differences(
    study: Recorded, a: str, b: str, column: str = "accuracy", *, seed: int = 0, resamples: int = 4000
) -> pd.DataFrame:
    """Label a minus label b in each setting that both have: the runs of one seed are a pair.

    Returns columns setting, difference, low, high (95 %), ahead ("2 of 3": seeds in which a is above b) and verdict:
    "higher" or "lower" if the interval does not hold 0, else "not told apart".
    ValueError if the study has no setting with both labels.
    """
    rows = []
    for setting, runs in _by(study, column, ["setting"]):
        first, second = (runs[runs["label"] == label].set_index("seed") for label in (a, b))
        seeds = first.index.intersection(second.index)
        if seeds.empty:
            continue
        low, high = _difference_interval(first.loc[seeds], second.loc[seeds], column, seed, resamples)
        gap = first[column][seeds] - second[column][seeds]
        verdict = "higher" if low > 0 else "lower" if high < 0 else "not told apart"
        rows.append((setting, gap.mean(), low, high, f"{(gap > 0).sum()} of {len(gap)}", verdict))
    if not rows:
        raise ValueError(f"no setting has both {a!r} and {b!r}; labels: {', '.join(study.results['label'].unique())}")
    return pd.DataFrame(rows, columns=["setting", "difference", "low", "high", "ahead", "verdict"])


def _by(study: Recorded, column: str, keys: list[str]):
    table = study.results.assign(trials=trials(study, column))
    return table.groupby(keys if len(keys) > 1 else keys[0], sort=False)


def _difference_interval(first, second, column: str, seed: int, resamples: int) -> tuple[float, float]:
    """Both sides draw the same seeds, and each its own answers."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(first), size=(resamples, len(first)))
    means = [_answers(side[column], side["trials"], picks, rng).mean(1) for side in (first, second)]
    low, high = np.quantile(means[0] - means[1], [0.025, 0.975])
    return float(low), float(high)


def _resampled(shares, counts, rng, resamples: int) -> np.ndarray:
    """(resamples,): means over seeds drawn with replacement, each with new answers."""
    picks = rng.integers(0, len(shares), size=(resamples, len(shares)))
    return _answers(shares, counts, picks, rng).mean(1)


def _answers(shares, counts, picks, rng) -> np.ndarray:
    counts = np.asarray(counts)[picks]
    return rng.binomial(counts, np.asarray(shares, dtype=float)[picks]) / counts


def markdown(study: Recorded, setting: str = "default") -> str:
    """A table for a README: one row a method, held-out accuracy before and after, greedy, and the worst seed."""
    lines = ["| method | before | after, sampled [95 %] | after, greedy | worst seed, sampled | tokens an answer |"]
    lines += ["|---|---|---|---|---|---|"]
    for row in pooled(study).query("setting == @setting").itertuples():
        runs = study.results.query("label == @row.label and setting == @setting")
        before, greedy, short, long = runs[["accuracy_before", "greedy", "length_before", "length"]].mean()
        lines.append(
            f"| {METHODS[row.label].title} | {before:.1%} | {row.mean:.1%} [{row.low:.1%}, {row.high:.1%}] "
            f"| {greedy:.1%} | {row.worst:.1%} | {short:.1f} to {long:.1f} |"
        )
    return "\n".join(lines)
