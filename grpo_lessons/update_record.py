"""The metrics of one optimizer step, gathered over its micro-batches, and of the several updates of a rollout."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class Record:
    """One optimizer step. A minibatch without live rows keeps the initial values: ratio 1, nothing changed."""

    loss: float = 0.0
    grad_norm: float = 0.0
    kl_reference: float | None = None
    log_ratios: list[Tensor] = field(default_factory=list)
    weighted: dict[str, float] = field(default_factory=dict)  # sums over tokens of the loss's means

    def add(self, loss: Tensor, log_ratio: Tensor, metrics: dict[str, float]) -> None:
        """A micro-batch: its share of the loss, log rho of its live tokens (n,), and the loss's metrics."""
        self.loss += float(loss.detach())
        self.log_ratios.append(log_ratio.detach().float())
        for name in ("clip_fraction", "approx_kl", "mean_weight"):
            if name in metrics:
                self.weighted[name] = self.weighted.get(name, 0.0) + len(log_ratio) * metrics[name]
        if "kl_reference" in metrics:
            self.kl_reference = (self.kl_reference or 0.0) + metrics["kl_reference"]

    def row(self) -> dict[str, float]:
        """The metrics of this optimizer step; log_ratio_* over its live tokens."""
        d = torch.cat(self.log_ratios or [torch.zeros(1)]).sort().values
        tokens = sum(map(len, self.log_ratios))
        row = {
            "loss": self.loss,
            "grad_norm": self.grad_norm,
            "log_ratio_min": float(d[0]),
            "log_ratio_max": float(d[-1]),
            "log_ratio_q01": float(d[round(0.01 * (len(d) - 1))]),
            "log_ratio_q99": float(d[round(0.99 * (len(d) - 1))]),
            "clip_fraction": 0.0,
            "approx_kl": 0.0,
            **{name: total / tokens for name, total in self.weighted.items()},
        }
        return row if self.kl_reference is None else {**row, "kl_reference": self.kl_reference}


def summary(records: list[Record]) -> dict[str, float]:
    """One row for the log from the updates of a rollout. log_ratio_q01, q99: of the last update."""
    rows = [record.row() for record in records]

    def mean(key: str) -> float:
        values = [row[key] for row in rows if key in row]
        return sum(values) / len(values)

    result = {
        "loss": mean("loss"),
        "grad_norm": mean("grad_norm"),
        "grad_norm_max": max(row["grad_norm"] for row in rows),
        "log_ratio_min": min(row["log_ratio_min"] for row in rows),
        "log_ratio_max": max(row["log_ratio_max"] for row in rows),
        "log_ratio_q01": rows[-1]["log_ratio_q01"],
        "log_ratio_q99": rows[-1]["log_ratio_q99"],
        "clip_fraction": mean("clip_fraction"),
        "approx_kl": mean("approx_kl"),
        "sampler_gap": max(abs(rows[0]["log_ratio_min"]), abs(rows[0]["log_ratio_max"])),
    }
    extras = {name: mean(name) for name in ("kl_reference", "mean_weight") if any(name in row for row in rows)}
    return {**result, **extras}
