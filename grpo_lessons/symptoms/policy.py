"""Symptoms of the policy: what its completions become; and of the evaluation that judges it."""

from __future__ import annotations

import math

from .rewards import constant_reward
from .view import Finding, RunView, percent


def entropy_collapse(run: RunView) -> Finding | None:
    """The policy became certain while it was still often wrong."""
    if run.steps < 6:
        return None
    before, after, accuracy = run.first("entropy"), run.last("entropy"), run.last("accuracy")
    if after > 0.25 * before or accuracy > 0.8 or run.last("dead_groups") < 0.6:
        return None
    return Finding(
        "the policy is certain and wrong",
        f"entropy {before:.3f} -> {after:.3f} nats a token, accuracy {percent(accuracy)}, "
        f"{percent(run.last('dead_groups'))} of the groups dead",
        "it no longer tries anything else, so that groups rank nothing and training stands still",
        "a smaller learning_rate; a wider upper clip (dapo); kl_beta 0.04; start again from an earlier checkpoint",
    )


def length_explosion(run: RunView) -> Finding | None:
    """Completions grow until they are cut off."""
    if run.steps < 6:
        return None
    longer = run.last("length_mean") > 1.5 * run.first("length_mean")
    cut_off = run.last("truncated") > 0.3 and run.last("truncated") > run.first("truncated") + 0.2
    if not (longer and cut_off):
        return None
    return Finding(
        "the completions grow without end",
        f"mean length {run.first('length_mean'):.0f} -> {run.last('length_mean'):.0f} tokens, truncated "
        f"{percent(run.first('truncated'))} -> {percent(run.last('truncated'))}",
        "the policy forgot its end token, or the reward pays for length",
        "a smaller learning_rate; an overlong penalty in the reward; dr_grpo, whose loss does not favour long errors",
    )


def evaluation_noise(run: RunView) -> Finding | None:
    """The first and the last evaluation differ by less than they can tell apart."""
    for split in ("held_out", "dev"):
        evals = run.evaluations(split)
        if len(evals) < 2 or constant_reward(run):
            continue
        a, b = evals[0], evals[-1]
        spread = 1.96 * math.sqrt(sum(max(e["accuracy"] * (1 - e["accuracy"]), 0.25 / e["n"]) / e["n"] for e in (a, b)))
        if abs(b["accuracy"] - a["accuracy"]) >= spread:
            continue
        return Finding(
            "the evaluation cannot tell",
            f"{split} {percent(a['accuracy'])} -> {percent(b['accuracy'])} on {a['n']} problems: a difference below "
            f"{percent(spread)} may be chance",
            "the noise of the evaluation is larger than the change that it shows",
            f"eval_n={4 * a['n']} halves the noise; compare on the same problems with paired_bootstrap; train longer",
        )
    return None
