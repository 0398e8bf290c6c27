"""How hard is a task for a policy, and how many groups would be dead? Asked before training, on dev problems.

A group is dead if all of its rewards are equal. The mean pass rate does not tell: 50 % may be problems that come out
right half of the time, or problems that always do beside problems that never do, and then every group is dead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import comb

import torch

from .evaluation import accuracy_interval
from .tasks import Task

GROUP_SIZES = (4, 8, 16)


def dead_share(rewards: torch.Tensor, group_size: int) -> float:
    """Predicted share of dead groups of that size, from more samples of each problem than a group has.

    For each problem the probability that group_size of its samples, drawn without repetition, have equal rewards:
    sum over the values v of C(n_v, G) / C(n, G), unbiased as in pass@k; then the mean over the problems.
    rewards: (n problems, samples). Raises ValueError unless 2 <= group_size <= samples.
    """
    samples = rewards.shape[1]
    if not 2 <= group_size <= samples:
        raise ValueError(f"groups of {group_size} from {samples} samples a problem; expected 2 <= G <= samples")
    total = comb(samples, group_size)
    equal = [sum(comb(n, group_size) for n in Counter(row).values()) / total for row in rewards.tolist()]
    return sum(equal) / len(equal)


def survey(
    policy,
    levels: Mapping[str, Task],
    *,
    n: int,
    samples: int = 16,
    reward: Callable | None = None,
    group_sizes: Sequence[int] = GROUP_SIZES,
    batch: int = 256,
    seed: int = 0,
):
    """Sample dev problems of each level and predict its dead groups.

    reward: what training would use (default: the task's verifier). batch: sequences sampled at once. Returns a
    DataFrame, one row a level: level, pass_rate, low, high (95 %), truncated, and dead_G for each group size.
    """
    import pandas as pd

    rows = []
    for level, task in levels.items():
        rewards, right, truncated = sampled(policy, task, n, samples, reward, batch, seed)
        low, high = accuracy_interval(right.numpy())
        row = {"level": level, "pass_rate": right.float().mean().item(), "low": low, "high": high}
        row["truncated"] = truncated
        rows.append(row | {f"dead_{size}": dead_share(rewards, size) for size in group_sizes})
    return pd.DataFrame(rows)


def sampled(policy, task, n, samples, reward, batch, seed) -> tuple[torch.Tensor, torch.Tensor, float]:
    """(rewards (n, samples), whether the task's verifier says right (n, samples), truncated share) on dev problems."""
    from .rollouts import roll_out
    from .scoring import score

    problems, at_once = task.problems("dev", n, seed), max(1, batch // samples)
    rewards, right, finished = [], [], []
    for start in range(0, n, at_once):
        options = {"max_new_tokens": task.max_new_tokens, "seed": seed * 100_003 + start}
        rollouts = roll_out(policy, task, problems[start : start + at_once], samples, temperature=1.0, **options)
        right.append(score(rollouts, task).rewards >= 1)
        rewards.append(score(rollouts, task, reward).rewards)
        finished.append(rollouts.finished)
    return torch.cat(rewards), torch.cat(right), 1 - torch.cat(finished).float().mean().item()


def choose(table, *, limit: float = 0.5) -> tuple[str, int]:
    """(level, group size): the hardest level with fewer than `limit` dead groups, and the smallest size that does it.

    table: of `survey`. The hardest level is the one with the lowest pass rate: it leaves most to learn. Raises
    ValueError that names the nearest miss if there is none.
    """
    sizes = sorted(int(name.removeprefix("dead_")) for name in table if name.startswith("dead_"))
    for row in table.sort_values("pass_rate").to_dict("records"):
        for size in sizes:
            if row[f"dead_{size}"] < limit:
                return row["level"], size
    dead = table.set_index("level")[[f"dead_{size}" for size in sizes]].stack()
    level, column = dead.idxmin()
    raise ValueError(
        f"no level has fewer than {limit:.0%} dead groups; nearest is {level!r} with {dead.min():.0%} in groups of "
        f"{column.removeprefix('dead_')}: take an easier level, a reward with more values, or worked examples"
    )
