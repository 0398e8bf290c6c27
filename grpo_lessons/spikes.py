"""Spikes in a curve of gradient norms, by a rule that is the same for every method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def spikes(norms: Sequence[float], *, factor: float = 2.0, window: int = 10) -> np.ndarray:
    """Which steps are spikes: above `factor` times the median of the `window` steps before.

    Relative to its own past, so that a method whose gradients are larger throughout has no more spikes for that.
    norms: (n,). Returns (n,) bool; the first `window` steps have no past and are never spikes.
    Raises ValueError unless factor > 1 and window >= 1.
    """
    if factor <= 1 or window < 1:
        raise ValueError(f"factor is {factor}, window {window}; a spike needs factor > 1 and window >= 1")
    norms = np.asarray(norms, dtype=float)
    found = np.zeros(len(norms), dtype=bool)
    for t in range(window, len(norms)):
        found[t] = norms[t] > factor * np.median(norms[t - window : t])
    return found


def spike_counts(curves, *, column: str = "grad_norm_max", factor: float = 2.0, window: int = 10):
    """Spikes of each run in a study's `curves`: DataFrame with label, setting, seed, spikes, steps, median, largest.

    column: the norm that is looked at; by default the largest of each step's updates, before clipping.
    steps: those that could be spikes. median, largest: of the run's norms.
    """
    import pandas as pd

    rows = []
    for (label, setting, seed), run in curves.groupby(["label", "setting", "seed"], sort=False):
        norms = run.sort_values("step")[column].to_numpy()
        found = spikes(norms, factor=factor, window=window)
        rows.append(
            (label, setting, seed, int(found.sum()), max(len(norms) - window, 0), np.median(norms), norms.max())
        )
    return pd.DataFrame(rows, columns=["label", "setting", "seed", "spikes", "steps", "median", "largest"])
