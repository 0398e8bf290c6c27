"""What every symptom reads: the tables of a run, and means at its beginning and end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from grpo_lessons.config import TrainConfig
from grpo_lessons.methods import get_method
from grpo_lessons.runlog import RunLog


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a run, or that looks wrong and is not.

    evidence: the numbers of this run. cause: what they mean, in plain words. advice: what to try, in order.
    """

    name: str
    evidence: str
    cause: str
    advice: str

    def __str__(self) -> str:
        return f"{self.name}\n  evidence: {self.evidence}\n  cause:    {self.cause}\n  try:      {self.advice}"


@dataclass
class RunView:
    """A run's tables. first and last are means over up to five steps, so that one rollout's luck decides nothing."""

    log: RunLog
    config: TrainConfig = field(init=False)

    def __post_init__(self) -> None:
        self.config = TrainConfig.from_dict(self.log.header["config"])
        self.table = self.log.table
        self.steps = len(self.table)
        self.window = max(1, min(5, self.steps // 3))

    def has(self, column: str) -> bool:
        return column in self.table and self.table[column].notna().any()

    def first(self, column: str) -> float:
        return float(self.table[column].iloc[: self.window].mean())

    def last(self, column: str) -> float:
        return float(self.table[column].iloc[-self.window :].mean())

    def peak(self, column: str) -> float:
        """The highest mean over as many steps in a row."""
        return float(self.table[column].rolling(self.window).mean().max())

    def beginning(self, column: str) -> float:
        """Mean over the first third, in which there must still be something to learn."""
        return float(self.table[column].iloc[: max(1, self.steps // 3)].mean())

    @property
    def rows(self) -> int:
        """Completions of a rollout."""
        return self.config.prompts_per_step * self.config.group_size

    @property
    def chance(self) -> float:
        """Three standard errors of a share over the window's completions, as if they were independent."""
        return 3 * math.sqrt(0.25 / (self.rows * self.window))

    @property
    def updates(self) -> int:
        """Optimizer steps a rollout."""
        return self.config.minibatches * self.config.epochs * get_method(self.config.method).updates

    def policy_shift(self, share: float, *, steps: int | None = None):
        """A quantile over the (first) steps of max(|1 % quantile|, |99 % quantile|) of log rho in the last update."""
        return float(self.table[["log_ratio_q01", "log_ratio_q99"]][:steps].abs().max(axis=1).quantile(share))

    def evaluations(self, split: str) -> list[dict]:
        return [row for row in self.log.lines["evals"] if row["split"] == split]


def percent(value: float) -> str:
    return f"{value:.0%}" if value in (0, 1) or 0.1 <= value <= 0.9 else f"{value:.1%}"
