"""The pupils of lessons 14 to 16: nano policies, each raised on the flawed homework of one task.

`python -m grpo_lessons.tasks.pupils nano-knights` makes `data/nano-knights` again, with a card that says how it was
made and what it scores. `load_policy("nano-knights")` loads it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from tqdm.auto import tqdm

from grpo_lessons.evaluation import evaluate
from grpo_lessons.logprobs import token_logprobs
from grpo_lessons.nano import Homework, make_nano
from grpo_lessons.nano_card import file_hash
from grpo_lessons.paths import data_dir
from grpo_lessons.policies import load_policy, trainable_parameters
from grpo_lessons.rollouts import roll_out
from grpo_lessons.weights import constants_from_quantiles

from .base import get_task
from .lookup_homework import lookup_words


@dataclass(frozen=True)
class Pupil:
    """homework: "module:function" of the lines it reads. steps, options: of `make_nano`.

    tasks: a label for each task that the card measures it on, and that task's name and options.
    """

    homework: str
    steps: int
    tasks: dict[str, tuple[str, dict[str, Any]]]
    options: dict[str, Any] = field(default_factory=dict)


PUPILS = {
    "nano-knights": Pupil(
        "grpo_lessons.tasks.knights_homework:knights_homework",
        1500,
        {f"{n} people": ("knights_knaves", {"people": n, "form": "compact"}) for n in (2, 3)},
        {"batch_size": 32},
    ),
    "nano-programs": Pupil(
        "grpo_lessons.tasks.programs_homework:programs_homework",
        1000,
        {"programs": ("programs", {"form": "compact"})},
        {"batch_size": 64},
    ),
    "nano-lookup": Pupil(
        "grpo_lessons.tasks.lookup_homework:lookup_homework",
        3000,
        {
            f"{kind}, {'note' if share else 'no note'}": (
                "lookup_qa",
                {"form": "compact", "kinds": (kind,), "note_share": share},
            )
            for kind in ("one hop", "two hops")
            for share in (0.0, 1.0)
        },
        {"batch_size": 48, "words": lookup_words()},
    ),
}


def of_like_length(homework: Homework, batch_size: int, batches: int = 8) -> Homework:
    """The same lines in another order: several batches are drawn at once and sorted, so that little is padding."""
    waiting: list = []

    def next_line(rng: random.Random):
        if not waiting:
            lines = [homework(rng) for _ in range(batch_size * batches)]
            lines.sort(key=lambda line: sum(len(message["content"]) for message in line[0]) + len(line[1]))
            parts = [lines[start : start + batch_size] for start in range(0, len(lines), batch_size)]
            rng.shuffle(parts)
            waiting.extend(line for part in parts for line in part)
        return waiting.pop()

    return next_line


def raise_pupil(name: str, folder: Path, *, seed: int = 0, steps: int | None = None) -> dict[str, Any]:
    """Train a pupil and save it in `folder`; returns how it was made."""
    pupil = PUPILS[name]
    module, _, function = pupil.homework.partition(":")
    homework = of_like_length(getattr(importlib.import_module(module), function), pupil.options["batch_size"])
    steps, losses, start = steps or pupil.steps, [], time.perf_counter()
    with tqdm(total=steps, unit="step", mininterval=5) as bar:

        def on_step(step: int, loss: float) -> None:
            losses.append(loss)
            bar.update()
            bar.set_postfix(loss=f"{loss:.3f}", refresh=False)

        make_nano(homework, steps=steps, seed=seed, out=folder, on_step=on_step, **pupil.options)
    return {
        "command": f"python -m grpo_lessons.tasks.pupils {name} --seed {seed} --steps {steps}",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "final_loss": round(sum(losses[-50:]) / len(losses[-50:]), 4),
        "seconds": round(time.perf_counter() - start),
        "threads": torch.get_num_threads(),
    }


def measure(policy, pupil: Pupil, *, n: int = 200, seed: int = 0) -> dict[str, Any]:
    """Parameters, GRPO-SG's constants, and accuracy on n held-out problems of each task, sampled and greedy."""
    tasks = {label: get_task(name, **options) for label, (name, options) in pupil.tasks.items()}
    logits = chosen_logits(policy, next(iter(tasks.values())), seed=seed)
    constants = constants_from_quantiles(logits)
    accuracy = {}
    for label, task in tasks.items():
        for decoding, temperature in (("sampled", 1.0), ("greedy", 0.0)):
            report = evaluate(policy, task, n=n, temperature=temperature, seed=seed)
            accuracy[f"{label}, {decoding}"] = {
                "accuracy": round(report.accuracy, 4),
                "interval": [round(bound, 4) for bound in report.interval],
                "n": n,
                "length": round(report.length, 1),
                "reasons": report.reasons,
            }
    return {
        "parameters": trainable_parameters(policy.model),
        "sg_constants": {key: round(value, 6) for key, value in constants.items()},
        "accuracy": accuracy,
    }


@torch.no_grad()
def chosen_logits(policy, task, *, seed: int, problems: int = 64, each: int = 4) -> torch.Tensor:
    """Raw logits of the tokens that the policy sampled for dev problems of a task, flat."""
    options = {"max_new_tokens": task.max_new_tokens, "temperature": 1.0, "seed": seed}
    rollouts = roll_out(policy, task, task.problems("dev", problems, seed), each, **options)
    ids = torch.cat([rollouts.prompt_ids, rollouts.completion_ids], 1)
    attention = torch.cat([rollouts.prompt_mask, torch.ones_like(rollouts.completion_ids)], 1)
    scores = token_logprobs(policy.model, ids, attention, rollouts.completion_ids.shape[1], mask=rollouts.mask)
    return scores.chosen_logit[rollouts.mask.bool()]


def main(arguments: list[str] | None = None) -> None:
    """Make pupils again: weights, tokenizer and card."""
    parser = argparse.ArgumentParser(prog="python -m grpo_lessons.tasks.pupils", description=main.__doc__)
    parser.add_argument("names", nargs="+", choices=sorted(PUPILS), metavar="NAME", help=", ".join(sorted(PUPILS)))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--out", type=Path, default=None, help="parent folder (default: data)")
    parser.add_argument("--measure", action="store_true", help="keep the weights and measure them again")
    options = parser.parse_args(arguments)
    for name in options.names:
        folder = (options.out or data_dir()) / name
        if options.measure:
            made = json.loads((folder / "card.json").read_text(encoding="utf-8"))["made"]
        else:
            made = raise_pupil(name, folder, seed=options.seed, steps=options.steps)
        digest = file_hash(folder / "model.safetensors")
        measured = measure(load_policy(str(folder), device="cpu"), PUPILS[name])
        card = {"made": made, "weights_sha256": digest, **measured}
        (folder / "card.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(card, indent=1))


if __name__ == "__main__":
    main()
