"""Give each completion its reward: the "verify" of the loop."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from .rollouts import Rollouts
from .tasks import Task, verify_all


class RewardError(RuntimeError):
    """A reward function broke its contract; the message says how to mend it."""


@dataclass(frozen=True)
class Scores:
    """rewards (P, G), NaN where not scored. accuracy: share that the task's own verifier calls right.

    reasons and strategies: shares of the B completions by verdict code and by the task's sorting, if it has one.
    verdicts: B reason codes.
    """

    rewards: Tensor
    accuracy: float
    reasons: dict[str, float]
    strategies: dict[str, float]
    verdicts: list[str]


def score(rollouts: Rollouts, task: Task, reward: Callable | None = None) -> Scores:
    """Score rollouts by `reward` (TRL's signature), or by the task's verifier if that is None.

    `reward` gets prompts, completions, completion_ids (lists of token ids) and the dataset's columns by keyword.

    Accuracy always comes from the task's verifier, so a wrong reward shows.
    Raises RewardError if `reward` raises, returns the wrong number of values, or an infinite one.
    """
    problems = rollouts.row_problems
    verdicts = verify_all(task, rollouts.texts, problems)
    values = [v.reward for v in verdicts] if reward is None else _call(reward, rollouts, problems)
    sort = getattr(task, "strategy", None)
    strategies = [sort(text, p) for text, p in zip(rollouts.texts, problems, strict=True)] if sort else []
    return Scores(
        rewards=torch.tensor(values, dtype=torch.float32).view(-1, rollouts.group_size),
        accuracy=sum(v.reward >= 1.0 for v in verdicts) / len(verdicts),
        reasons=_shares([v.reason for v in verdicts]),
        strategies=_shares(strategies),
        verdicts=[v.reason for v in verdicts],
    )


def columns_of(problems) -> dict[str, list]:
    """The dataset columns that a reward function may ask for: answer, and each key of Problem.data."""
    keys = {key for problem in problems for key in problem.data}
    return {
        "answer": [p.answer for p in problems],
        **{k: [p.data.get(k) for p in problems] for k in sorted(keys)},
    }


def token_lists(rollouts: Rollouts) -> list[list[int]]:
    """The token ids of each completion, up to and with its first end-of-sequence token."""
    columns = torch.arange(1, rollouts.mask.shape[1] + 1, device=rollouts.mask.device)
    lengths = ((rollouts.mask > 0) * columns).amax(1).tolist()
    return [ids[:n] for ids, n in zip(rollouts.completion_ids.tolist(), lengths, strict=True)]


def _call(reward: Callable, rollouts: Rollouts, problems) -> list[float]:
    name = getattr(reward, "__name__", type(reward).__name__)
    prompts, columns = [problem.prompt for problem in problems], columns_of(problems)
    columns["completion_ids"] = token_lists(rollouts)
    try:
        values = reward(prompts=prompts, completions=list(rollouts.texts), **columns)
    except Exception as error:
        raise RewardError(f"the reward function {name} raised {type(error).__name__}: {error}") from error
    values = list(values) if hasattr(values, "__iter__") else [values]
    if len(values) != len(problems):
        raise RewardError(
            f"the reward function {name} returned {len(values)} values for {len(problems)} completions; "
            "return one number (or None for 'not scored') for each completion, in order"
        )
    return [_number(value, name, row, rollouts) for row, value in enumerate(values)]


def _number(value, name: str, row: int, rollouts: Rollouts) -> float:
    if value is None:
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise RewardError(
            f"the reward function {name} returned {value!r} for completion {row}, not a number"
        ) from error
    if math.isinf(number):
        raise RewardError(f"the reward function {name} returned {number} for completion {row}: {rollouts.texts[row]!r}")
    return number


def warn_unscored(rewards: Tensor) -> int:
    """Number of completions without a reward; a warning if there are any."""
    unscored = int(rewards.isnan().sum())
    if unscored:
        warnings.warn(f"{unscored} of {rewards.numel()} completions got no reward and are left out", stacklevel=2)
    return unscored


def _shares(codes: list[str]) -> dict[str, float]:
    return {code: count / len(codes) for code, count in sorted(Counter(codes).items())}
