"""Methods compared one sitting at a time: each run is a directory, so a reader may switch the machine off between them.

    OUT/constants.json     GRPO-SG's constants, measured on the policy before it was trained
    OUT/METHOD-seedN/      a run directory, with result.json when it is finished

Methods of one seed start from the same adapters, meet the same questions and are evaluated on the same problems.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from .compare import measure_run, run_name
from .config import TrainConfig
from .evaluation import Comparison, paired_bootstrap
from .presets import Setup
from .runlog import RunLog, write_json
from .tasks import Task
from .weights import constants_from_quantiles


def sit(setup: Setup, level: str, config: TrainConfig, out: str | Path) -> dict[str, Any]:
    """One method, one seed: train and evaluate, go on where an earlier sitting stopped, or read its result.

    The random choices, the adapters' initial values included, are those of config.seed. Returns the content of
    result.json.
    """
    run_dir = Path(out) / run_name(config)
    finished = run_dir / "result.json"
    if finished.is_file():
        return json.loads(finished.read_text(encoding="utf-8"))
    policy = setup.load(seed=config.seed)
    options = {"eval_n": setup.n, "batch": setup.batch, "reward": setup.reward, "resume": True}
    return measure_run(policy, setup.levels[level], config, run_dir, **options)


def sharpness_options(setup: Setup, level: str, out: str | Path, *, n: int = 16) -> dict[str, Any]:
    """GRPO-SG's constants from the untrained policy's own logits on n dev problems, for `method_options`.

    Kept in OUT/constants.json, so that every sitting and a resumed run take the same ones.
    """
    path = Path(out) / "constants.json"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, constants_from_quantiles(sampled_logits(setup.load(), setup.levels[level], n=n)))
    return {**json.loads(path.read_text(encoding="utf-8")), "normalize": True}


@torch.no_grad()
def sampled_logits(policy, task: Task, *, n: int, samples: int = 4, seed: int = 0) -> torch.Tensor:
    """(N,): the raw logits of the sampled tokens of n dev problems, before the temperature."""
    from .logprobs import token_logprobs
    from .rollouts import sample_groups

    parts = []
    for problem in task.problems("dev", n, seed):  # one at a time: a long prompt does not decide the memory of all
        r = sample_groups(policy, [problem], samples, max_new_tokens=task.max_new_tokens, seed=seed)
        ids = torch.cat([r.prompt_ids, r.completion_ids], 1)
        attention = torch.cat([r.prompt_mask, torch.ones_like(r.completion_ids)], 1)
        scores = token_logprobs(policy.model, ids, attention, r.mask.shape[1])
        parts.append(scores.chosen_logit[r.mask.bool()].float().cpu())
    return torch.cat(parts)


def results(out: str | Path) -> list[dict[str, Any]]:
    """The results of all finished sittings, sorted by the order in which they ended."""
    paths = sorted(Path(out).glob("*/result.json"), key=lambda path: path.stat().st_mtime_ns)
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def difference(found: Sequence[dict], a: str, b: str) -> Comparison:
    """Method a minus method b on the problems of the seeds that both have finished, paired problem by problem.

    Seeds are taken as one sample: the interval speaks of these runs, not of runs with other seeds. ValueError if no
    seed has both.
    """
    by_seed = {(r["method"], r["seed"]): r["correct"] for r in found}
    seeds = sorted(seed for method, seed in by_seed if method == a and (b, seed) in by_seed)
    if not seeds:
        raise ValueError(f"no seed with finished runs of both {a!r} and {b!r}; finished: {sorted(by_seed)}")
    first, second = ("".join(by_seed[method, seed] for seed in seeds) for method in (a, b))
    return paired_bootstrap([int(c) for c in first], [int(c) for c in second], seed=0)


def estimated_minutes(log: RunLog, steps: int) -> float:
    """An estimate, not a measurement: minutes for `steps` steps at the median pace of those in the log.

    The first step is left out where there are more: it compiles kernels and fills caches.
    """
    seconds = log.system.filter(like="seconds_").sum(axis=1)
    return float(seconds.iloc[1 if len(seconds) > 1 else 0 :].median()) * steps / 60
