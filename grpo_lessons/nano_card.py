"""Measure the nano policy and write its card: `card.json` for programs, `README.md` for people.

Nothing in the card is typed by hand. Held-out sums are only measured here, never used to choose a setting; the
GRPO-SG constants come from logits on dev sums.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from .evaluation import evaluate, wilson_interval
from .homework import STRATEGIES
from .logprobs import token_logprobs
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
    logits = _sampled_logits(policy, seed)
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


def _sampled_logits(policy: Policy, seed: int) -> torch.Tensor:
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


def _share(k: int, n: int) -> dict[str, float]:
    low, high = wilson_interval(k, n)
    return {"value": _round(k / n), "low": _round(low), "high": _round(high)}


def _weight_range(weights: torch.Tensor) -> dict[str, float]:
    return {name: _round(getattr(weights, name)()) for name in ("min", "mean", "max")}


def _round(value, digits: int = 4) -> float:
    return round(float(value), digits)


def write_card(folder: str | Path, card: dict[str, Any]) -> None:
    """Write card.json and README.md into the policy's folder."""
    folder = Path(folder)
    (folder / "card.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(render(card), encoding="utf-8")


def render(card: dict[str, Any]) -> str:
    """The card as Markdown."""
    made, data = card["made"], card["splits"]
    rows = [
        f"| {split} | {decoding} | {cell['n']} | {_percent(cell['overall'])} | {cell['length']:.1f} |"
        for split, cells in data.items()
        for decoding, cell in cells.items()
    ]
    kinds = [
        f"| {split} | {kind} | {_percent(cell['share'])} | {_percent(cell['accuracy'])} |"
        for split, cells in data.items()
        for kind, cell in cells["sampled"]["strategies"].items()
    ]
    verdicts = [
        f"| {split} | {code} | {count} | {count / cells['sampled']['n']:.1%} |"
        for split, cells in data.items()
        for code, count in cells["sampled"]["verdicts"].items()
    ]
    quantiles = card["logit_quantiles"]
    return TEMPLATE.format(
        parameters=f"{card['parameters']:,}".replace(",", " "),
        **made,
        accuracy="\n".join(rows),
        strategies="\n".join(kinds),
        verdicts="\n".join(verdicts),
        quantile_head=" | ".join(quantiles),
        quantile_line=" | ".join("---" for _ in quantiles),
        quantile_row=" | ".join(f"{value:.2f}" for value in quantiles.values()),
        paper=_range(card["paper_weights"]),
        own=_range(card["sg_weights"]),
        constants=", ".join(f"{key} = {value:g}" for key, value in card["sg_constants"].items()),
    )


def _percent(share: dict[str, float]) -> str:
    return f"{share['value']:.1%} [{share['low']:.1%}, {share['high']:.1%}]"


def _range(weights: dict[str, float]) -> str:
    return f"{weights['min']:.3f} to {weights['max']:.3f}, mean {weights['mean']:.3f}"


TEMPLATE = """\
# The nano policy

A Qwen2 model with {parameters} parameters and a byte-level tokenizer (one token a character for ASCII, one for each of
`<answer>` and `</answer>`), trained from scratch on a simulated pupil's homework: two-digit additions of the train
split, see `grpo_lessons/homework.py`. It has seen no dev and no held-out sum.

Made by `{command}` on {date} with torch {torch} and transformers {transformers}: {steps} steps of {batch_size} lines,
seed {seed}, final loss {final_loss:.3f} nats a token, {seconds:.0f} s with {threads} thread(s). The same command on the
same machine gives the same weights; another machine may differ in the last digits. This file is written by that
command; do not edit it.

## What it gets wrong

It guesses, and it forgets the carry. Strict verifier, every ordered sum of the split once; intervals are Wilson, 95 %.

| split | decoding | sums | accuracy | mean tokens |
|---|---|---|---|---|
{accuracy}

Sampled at temperature 1, by what the completion does:

| split | strategy | share | accuracy |
|---|---|---|---|
{strategies}

The verifier's reasons, sampled at temperature 1:

| split | reason | completions | share |
|---|---|---|---|
{verdicts}

## Its logits, and GRPO-SG

Raw logits of sampled tokens (1024 completions of dev sums, temperature 1), quantiles:

| {quantile_head} |
| {quantile_line} |
| {quantile_row} |

- Default constants (alpha 2, tau 9, mu 0.25): weights {paper}. That is nearly GRPO.
- Own constants, `weights.constants_from_quantiles`: {constants}: weights {own} before normalisation.
  `grpo_lessons.nano.sg_options()` returns them with `normalize=True`.
"""
