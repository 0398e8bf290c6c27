"""Held-out accuracy with the uncertainty that belongs to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb
from statistics import NormalDist

import numpy as np


@dataclass(frozen=True)
class EvalReport:
    """What an evaluation found.

    correct: (n, samples) bool, True where the task's verifier gave reward 1. accuracy: its mean.
    interval: 95 %; Wilson for one sample a problem, bootstrap over problems for more.
    pass_at: {k: unbiased pass@k} for k = 1, 2, 4, ... up to samples. reasons: verdict codes and how often.
    truncated: share that hit the token limit. texts: completions, row i*samples + s. lengths, finished (n * samples,):
    tokens of each completion with its end token, and whether it ended by itself, in the order of texts.
    """

    correct: np.ndarray
    accuracy: float
    interval: tuple[float, float]
    pass_at: dict[int, float]
    reasons: dict[str, int]
    truncated: float
    length: float
    texts: list[str] = field(repr=False)
    lengths: np.ndarray = field(repr=False)
    finished: np.ndarray = field(repr=False)

    def __str__(self) -> str:
        n, samples = self.correct.shape
        low, high = self.interval
        each = "" if samples == 1 else f", {samples} samples each"
        return f"{self.accuracy:.1%} [{low:.1%}, {high:.1%}] on {n} problems{each}"


def evaluate(
    policy,
    task,
    *,
    n=500,
    samples=1,
    temperature=1.0,
    seed=0,
    split="held_out",
    max_new_tokens=None,
    batch=256,
) -> EvalReport:
    """Accuracy of a policy on n problems that `split` holds, `samples` completions for each.

    temperature 0 is greedy decoding. seed: chooses the problems and the samples. batch: sequences sampled at once.
    """
    from .rollouts import roll_out  # here, so that the statistics below need no model library
    from .tasks import verify_all

    problems = task.problems(split, n, seed)
    max_new_tokens = max_new_tokens or task.max_new_tokens
    at_once = max(1, batch // samples)
    verdicts, texts, lengths, finished = [], [], [], []
    for start in range(0, len(problems), at_once):
        part = problems[start : start + at_once]
        rollouts = roll_out(
            policy,
            task,
            part,
            samples,
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            seed=seed * 100_003 + start,
        )
        verdicts += verify_all(task, rollouts.texts, rollouts.row_problems)
        texts += rollouts.texts
        lengths += rollouts.lengths.tolist()
        finished += rollouts.finished.tolist()
    correct = np.array([v.reward >= 1.0 for v in verdicts]).reshape(len(problems), samples)
    return EvalReport(
        correct=correct,
        accuracy=float(correct.mean()),
        interval=accuracy_interval(correct),
        pass_at={k: mean_pass_at_k(correct, k) for k in powers_of_two(samples)},
        reasons=dict(Counter(v.reason for v in verdicts).most_common()),
        truncated=finished.count(False) / len(finished),
        length=sum(lengths) / len(lengths),
        texts=texts,
        lengths=np.array(lengths),
        finished=np.array(finished),
    )


def accuracy_interval(correct: np.ndarray, *, seed: int = 0, resamples: int = 2000) -> tuple[float, float]:
    """95 % interval of the mean of correct (n, samples): Wilson if samples is 1, else bootstrap over problems."""
    n, samples = correct.shape
    if samples == 1:
        return wilson_interval(int(correct.sum()), n)
    per_problem = correct.mean(1)
    if per_problem.min() == per_problem.max():  # a bootstrap of equal values would claim certainty
        return wilson_interval(round(float(per_problem.sum())), n)
    picks = np.random.default_rng(seed).integers(0, n, size=(resamples, n))
    low, high = np.quantile(per_problem[picks].mean(1), [0.025, 0.975])
    return float(low), float(high)


def wilson_interval(successes: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion (Wilson 1927).

    Unlike p ± 1.96 sqrt(p(1-p)/n) it stays inside [0, 1] and is not empty at 0 or n successes.
    Raises ValueError unless 0 <= successes <= n and n >= 1.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"wilson_interval needs n >= 1 and 0 <= successes <= n, got {successes} of {n}")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    return low, 1.0 if successes == n else min(1.0, centre + half)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that k of the n samples, drawn without repetition, hold one of the c correct (Chen 2021).

    1 - C(n-c, k) / C(n, k), the unbiased estimate. Raises ValueError unless 0 <= c <= n and 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass_at_k needs 0 <= c <= n and 1 <= k <= n, got n={n}, c={c}, k={k}")
    return 1.0 - comb(n - c, k) / comb(n, k)


def mean_pass_at_k(correct: np.ndarray, k: int) -> float:
    """pass@k averaged over problems; correct (n, samples)."""
    samples = correct.shape[1]
    return float(np.mean([pass_at_k(samples, int(c), k) for c in correct.sum(1)]))


def majority_answer(answers: Sequence[str | None]) -> str | None:
    """The most frequent answer; None, which stands for no answer, has no vote. A tie goes to the one that came first.

    Returns None if there is no vote at all. Voting among samples is self-consistency (Wang 2022).
    """
    votes = Counter(answer for answer in answers if answer is not None).most_common(1)
    return votes[0][0] if votes else None


def powers_of_two(limit: int) -> list[int]:
    """1, 2, 4, ... not above limit."""
    return [2**i for i in range(limit.bit_length()) if 2**i <= limit]


@dataclass(frozen=True)
class Comparison:
    """difference: mean(a) - mean(b). interval: 95 % bootstrap. significant: the interval does not hold 0."""

    difference: float
    interval: tuple[float, float]

    @property
    def significant(self) -> bool:
        return self.interval[0] > 0 or self.interval[1] < 0


def paired_bootstrap(a, b, *, seed: int, resamples: int = 10_000) -> Comparison:
    """Does `a` score higher than `b` on the same problems? Bootstrap over problems (Efron 1979).

    a, b: (n,) or (n, samples), row i of both is problem i. Pairing removes the variance that comes from some
    problems being harder than others. Raises ValueError if the numbers of problems differ.
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if len(a) != len(b) or len(a) == 0:
        raise ValueError(f"paired_bootstrap compares the same problems: got {len(a)} and {len(b)} of them")
    difference = a.reshape(len(a), -1).mean(1) - b.reshape(len(b), -1).mean(1)
    rng = np.random.default_rng(seed)
    means = np.concatenate([difference[picks].mean(1) for picks in _resamples(rng, len(difference), resamples)])
    low, high = np.quantile(means, [0.025, 0.975])
    return Comparison(float(difference.mean()), (float(low), float(high)))


def _resamples(rng, n: int, resamples: int, chunk: int = 500):
    """Index arrays (<= chunk, n), `resamples` rows in all, so that memory stays small."""
    for start in range(0, resamples, chunk):
        yield rng.integers(0, n, size=(min(chunk, resamples - start), n))
