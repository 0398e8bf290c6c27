"""The card of the nano policy as Markdown."""

from __future__ import annotations

from typing import Any

TEMPLATE = """\
# The nano policy

A Qwen2 model with {parameters} parameters and a byte-level tokenizer (one token a character for ASCII, one for each of
`<answer>` and `</answer>`), trained from scratch on a simulated pupil's homework: two-digit additions of the train
split, see `grpo_lessons/homework.py`. It has seen no dev and no held-out sum.

Made by `{command}` on {date} with torch {torch} and transformers {transformers}: {steps} steps of {batch_size} lines,
seed {seed}, final loss {final_loss:.3f} nats a token, {seconds:.0f} s with {threads} thread(s). The same command on the
same machine gives the same weights; another machine may differ in the last digits. SHA-256 of `model.safetensors`:
`{sha256}`. This file is written by that command; do not edit it.

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

- Default constants (alpha 2, tau 9, mu 0.25): weights {paper}, before normalisation.
- Own constants, `weights.constants_from_quantiles`: {constants}: weights {own}, before normalisation.
  `grpo_lessons.nano.sg_options()` returns them with `normalize=True`.
"""


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
        sha256=card["weights_sha256"],
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
