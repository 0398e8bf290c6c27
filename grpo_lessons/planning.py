"""Group size and token budget, chosen from a few hundred completions of the untrained policy."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import torch

from .difficulty import dead_share


def dead_group_share(correct, group_size: int) -> float:
    """Expected share of groups without a signal, all right or all wrong, from samples of each problem.

    Of a problem with n samples, c of them right: the share of the choices of `group_size` samples that are all wrong,
    C(n-c, G) / C(n, G), plus the share of those that are all right. Unbiased for every problem by itself;
    `dead_group_probability` of the mean pass rate is too low where problems differ, as it is for every task.

    correct: (problems, samples) of bool. Raises ValueError unless 2 <= group_size <= samples.
    """
    correct = np.asarray(correct, dtype=bool)
    if correct.ndim != 2 or not 2 <= group_size <= correct.shape[1]:
        raise ValueError(
            f"group_size is {group_size} and correct has shape {correct.shape}; it must be (problems, samples) "
            "with 2 <= group_size <= samples"
        )
    return dead_share(torch.from_numpy(correct), group_size)


def token_budget(lengths: Sequence[int], finished: Sequence[bool], *, cut_off: float = 0.02) -> int | None:
    """The smallest max_new_tokens that cuts off at most a share `cut_off` of the completions; None if none does.

    lengths: tokens of each completion, its end token included. finished: False for one that hit the limit it was
    sampled with; its real length is not known, and it counts as longer than all others.
    """
    allowed = int(len(lengths) * cut_off + 1e-9)
    open_ended = sum(not done for done in finished)
    if len(lengths) == 0 or open_ended > allowed:
        return None
    done = sorted(ceil(n) for n, ended in zip(lengths, finished, strict=True) if ended)
    cut = allowed - open_ended
    return int(done[-1 - cut]) if cut < len(done) else 1
