"""Measure the nano policy and write its card: `card.json` for programs, `README.md` for people.

Nothing in the card is typed by hand. Held-out sums are only measured here, never used to choose a setting; the
GRPO-SG constants come from logits on dev sums.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import transformers

from .evaluation import evaluate, wilson_interval
from .homework import STRATEGIES
from .logprobs import token_logprobs
from .nano_readme import render
from .policies import Policy, trainable_parameters
from .rollouts import sample_groups
from .tasks.addition import Addition, ordered_pairs
from .weights import constants_from_quantiles, sharpness_weights

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def measure(policy: Policy, *, seed: int = 0) -> dict[str, Any]:
    """The card's numbers: accuracy by split, decoding and strategy, logit quantiles, GRPO-SG constants."""
    splits = {
        split: {
            name: _accuracy(policy, split, temperature, seed)
            for name, temperature in (("sampled", 1.0), ("greedy", 0.0))
        }
        for split in ("dev", "held_out")
    }
    logits = sampled_logits(policy, seed)
    constants = constants_from_quantiles(logits)
    return {
        "parameters": trainable_parameters(policy.model),
        "splits": splits,
        "logit_quantiles": {str(q): _round(torch.quantile(logits, q)) for q in QUANTILES},
        "paper_weights": _weight_range(sharpness_weights(logits)),
        "sg_constants": {key: _round(value, 6) for key, value in constants.items()},
        "sg_weights": _weight_range(sharpness_weights(logits, **constants)),
    }


def _accuracy(policy: Policy, split: str, temperature: float, seed: int) -> dict[str, Any]:
    """Over every ordered sum of the split: accuracy, verdicts, length, and share and accuracy of each strategy."""
    task, n = Addition(), len(ordered_pairs(split))
    report = evaluate(policy, task, n=n, temperature=temperature, seed=seed, split=split)
    problems = task.problems(split, n, seed)
    kinds = [task.strategy(text, problem) for text, problem in zip(report.texts, problems, strict=True)]
    count = Counter(kinds)
    right = Counter(kind for kind, good in zip(kinds, report.correct[:, 0], strict=True) if good)
    return {
        "n": n,
        "overall": _share(int(report.correct.sum()), n),
        "length": _round(report.length),
        "verdicts": report.reasons,
        "strategies": {
            kind: {"share": _share(count[kind], n), "accuracy": _share(right[kind], count[kind])}
            for kind in STRATEGIES
            if count[kind]
        },
    }


def sampled_logits(policy: Policy, seed: int) -> torch.Tensor:
    """Raw logits of the tokens in 1024 sampled completions of 256 dev sums, flat."""
    task = Addition()
    rollouts = sample_groups(
        policy, task.problems("dev", 256, seed), 4, max_new_tokens=task.max_new_tokens, temperature=1.0, seed=seed
    )
    ids = torch.cat([rollouts.prompt_ids, rollouts.completion_ids], 1)
    attention = torch.cat([rollouts.prompt_mask, rollouts.mask.long()], 1)
    with torch.no_grad():
        scores = token_logprobs(policy.model, ids, attention, rollouts.completion_ids.shape[1], mask=rollouts.mask)
    return scores.chosen_logit[rollouts.mask.bool()].double()


def provenance(steps: int, batch_size: int, seed: int, losses: list[float], seconds: float) -> dict[str, Any]:
    """How the weights were made: command, versions, cost, and the mean loss of the last 50 steps."""
    return {
        "command": f"python -m grpo_lessons.nano --steps {steps} --seed {seed}",
        "date": datetime.date.today().isoformat(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "steps": steps,
        "batch_size": batch_size,
        "seed": seed,
        "final_loss": _round(sum(losses[-50:]) / len(losses[-50:])),
        "seconds": round(seconds),
        "threads": torch.get_num_threads(),
    }


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _share(k: int, n: int) -> dict[str, float]:
    low, high = wilson_interval(k, n)
    return {"value": _round(k / n), "low": _round(low), "high": _round(high)}


def _weight_range(weights: torch.Tensor) -> dict[str, float]:
    return {name: _round(getattr(weights, name)()) for name in ("min", "mean", "max")}


def _round(value, digits: int = 4) -> float:
    return round(float(value), digits)


def write_card(folder: str | Path, card: dict[str, Any]) -> None:
    """Write card.json and README.md into the policy's folder, with the hash of the weights that lie there."""
    folder = Path(folder)
    card = {**card, "weights_sha256": file_hash(folder / "model.safetensors")}
    (folder / "card.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(render(card), encoding="utf-8")
