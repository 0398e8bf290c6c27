"""Symptoms of the update: the learning rate, the loss, the clip, the distance from the first policy."""

from __future__ import annotations

from .view import Finding, RunView, percent

# |log rho| of the outermost 2 % of the tokens in the last update of a rollout, upper quartile over the steps of a run.
# Measured on nano (data/recorded/ladder, lengths): 0.06-0.14 at a learning rate that works, 0.35-0.62 at one that is
# high, 2.6-5.4 at one that breaks the policy.
BROKEN_SHIFT, NO_SHIFT = 0.3, 0.002


def not_finite(run: RunView) -> Finding | None:
    """The run stopped at a loss, gradient or weight that is not finite."""
    stops = [e["reason"] for e in run.log.lines["events"][-1:] if e["event"] == "stopped"]
    if not stops or "not finite" not in stops[0]:
        return None
    return Finding(
        "the run stopped at a number that is not finite",
        stops[0],
        "a step was so large that the next loss, gradient or weight left the range of its number format",
        "a smaller learning_rate; warmup_steps; for 16-bit weights, look for inf in the reward function's inputs too",
    )


def learning_rate_too_high(run: RunView) -> Finding | None:
    """Accuracy fell from its peak while the policy moved far within single rollouts."""
    if run.steps < 6:
        return None
    fall, shift = run.peak("accuracy") - run.last("accuracy"), run.policy_shift(0.75)
    if fall < max(0.08, run.chance) or shift < BROKEN_SHIFT or hacked_by_design(run):
        return None
    return Finding(
        "the learning rate is too high",
        f"accuracy fell from {percent(run.peak('accuracy'))} to {percent(run.last('accuracy'))}; in a quarter of the "
        f"steps 1 % of the tokens changed their log-probability by more than {shift:.2g} within one rollout (extremes "
        f"{run.table['log_ratio_min'].min():.1f} and {run.table['log_ratio_max'].max():.1f}); largest gradient norm "
        f"{run.table['grad_norm_max'].max():.1f}",
        "the minibatches of a rollout move the policy so far that its later ones no longer describe it",
        f"learning_rate {run.config.learning_rate / 5:.0e}; or fewer minibatches and epochs; or GMPO",
    )


def hacked_by_design(run: RunView) -> bool:
    """Whether the reward rose while accuracy fell: then the reward is to blame, not the learning rate."""
    return run.last("reward_mean") > run.first("reward_mean") + max(0.1, run.chance)


def learning_rate_too_low(run: RunView) -> Finding | None:
    """There are gradients, and the policy does not move.

    Judged by the ratios of the first third, in which most groups must have a gradient, and not by the norm of the
    weights: small adapters change theirs by a visible share long before the policy does. With one update a rollout
    there are no ratios, and the norm must do.
    """
    if run.steps < 3 or run.table["grad_norm"].median() == 0 or run.beginning("dead_groups") > 0.5:
        return None
    norms = run.table["weight_norm"]
    drift = abs(norms.iloc[-1] - norms.iloc[0]) / norms.iloc[0]
    shift = run.policy_shift(0.5, steps=max(1, run.steps // 3))
    if (drift >= 1e-6) if run.updates == 1 else (shift >= NO_SHIFT):
        return None
    ratio = "" if run.updates == 1 else f"; 98 % of the ratios within {shift:.1e} of 1"
    return Finding(
        "the learning rate is too low",
        f"the norm of the weights changed by a share of {drift:.0e} in {run.steps} steps{ratio}; gradient norm "
        f"{run.table['grad_norm'].median():.2g}",
        "the gradient is there and the steps along it are too small to see",
        f"learning_rate {run.config.learning_rate * 10:.0e}, and again ten times that; LoRA wants about ten times the "
        "rate of full training",
    )


def zero_loss(run: RunView) -> Finding | None:
    """The loss is 0 in every step, and that is no fault."""
    gradients = run.table["grad_norm"].median()
    if run.steps < 3 or run.table["loss"].abs().max() > 1e-5 or gradients == 0:
        return None
    return Finding(
        "the loss is 0, and that is right",
        f"largest |loss| {run.table['loss'].abs().max():.1e}, gradient norm {gradients:.2g}",
        "at ratio 1 the loss is minus the mean advantage, which is 0 in every group; its gradient is not",
        "nothing: watch the reward and held-out accuracy, the loss says nothing about progress",
    )


def nothing_to_clip(run: RunView) -> Finding | None:
    """One update a rollout: the ratio is 1 and no clip can act."""
    if run.updates > 1 or run.table["clip_fraction"].max() > 0:
        return None
    return Finding(
        "no ratio is ever clipped",
        "clip fraction 0 in every step; one optimizer step for each rollout",
        "with one update the ratio is 1 everywhere: GRPO, GMPO and GSPO have the same gradient here",
        "minibatches=4 (or epochs=2) if you want to compare methods; otherwise nothing",
    )


def kl_explosion(run: RunView) -> Finding | None:
    """The distance to the initial policy grows to more than one nat a token."""
    if not run.has("kl_reference") or run.last("kl_reference") < 1.0:
        return None
    return Finding(
        "the policy left the reference",
        f"KL to the initial policy {run.first('kl_reference'):.3f} -> {run.last('kl_reference'):.2f} nats a token",
        "kl_beta is too small to hold the policy at this learning rate, and k3's gradient explodes far away",
        "a smaller learning_rate first; then a larger kl_beta, or kl_estimator='k2'",
    )


def sampler_gap(run: RunView) -> Finding | None:
    """Sampler and trainer disagree about the same tokens."""
    gap = run.table["sampler_gap"].median()
    if gap < 0.05:
        return None
    return Finding(
        "sampler and training forward disagree",
        f"log-probabilities of the same tokens differ by up to {gap:.2g} before the first update of a step",
        "the ratio starts away from 1, so that clipping acts on rounding: 16-bit weights, dropout or another engine",
        "old_logp='recompute'; lora dropout 0; float32 if memory allows",
    )
