"""One function per paper; each reads like its formula.

Differs from the papers and from trainers in use: the KL term is a function of its own (`kl_penalty`),
masked positions are removed before exp, a fully masked row adds 0 and is not counted, and every
denominator can be that of the whole optimizer batch, so that micro-batches of any size add up to the same
loss and gradient.

Shapes everywhere: logp_new, logp_old, mask (B, T), mask 1 on completion tokens up to and with the first EOS;
advantages (B,) or (B, T). n_sequences, n_tokens: counts over the whole optimizer batch (default: of the
arguments). Every loss returns PolicyLoss(loss to minimise, metrics) and raises ValueError for shapes that
do not fit.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .masked import (
    importance_ratio,
    keeps_a_token,
    masked_inputs,
    ratio_metrics,
    sequence_count,
    sequence_mean,
    token_count,
)
from .weights import advantage_reweighting, normalize_weights, sharpness_weights


class PolicyLoss(NamedTuple):
    """loss: scalar on the graph. metrics: floats over the kept tokens (see `masked.ratio_metrics`)."""

    loss: Tensor
    metrics: dict[str, float]


def clipped_surrogate(ratio, A, clip_low, clip_high) -> tuple[Tensor, Tensor]:
    """min(rho A, clip(rho, 1 - low, 1 + high) A), and where the clip took the gradient away (bool)."""
    surrogate = torch.minimum(ratio * A, ratio.clamp(1 - clip_low, 1 + clip_high) * A)
    clipped = ((A > 0) & (ratio > 1 + clip_high)) | ((A < 0) & (ratio < 1 - clip_low))
    return surrogate, clipped


def sequence_advantages(advantages, mask, loss) -> Tensor:
    """(B,): the advantage of each row, 0 for a row whose mask keeps nothing. ValueError unless given (B,)."""
    if advantages.shape != mask.shape[:1]:
        raise ValueError(
            f"{loss} has one ratio per sequence and got advantages of shape {tuple(advantages.shape)}; "
            f"expected ({len(mask)},): one advantage per completion"
        )
    return torch.where(keeps_a_token(mask), advantages, 0.0)


def grpo_loss(
    logp_new, logp_old, advantages, mask, *, clip_low=0.2, clip_high=0.2, n_sequences=None, n_tokens=None
) -> PolicyLoss:
    """GRPO (arXiv 2402.03300): mean_i mean_t min(rho A, clip(rho, 1 - low, 1 + high) A)."""
    log_ratio, A = masked_inputs(logp_new, logp_old, advantages, mask)
    surrogate, clipped = clipped_surrogate(importance_ratio(log_ratio, A), A, clip_low, clip_high)
    loss = -sequence_mean(surrogate, mask).sum() / sequence_count(mask, n_sequences)
    return PolicyLoss(loss, ratio_metrics(log_ratio, clipped, mask))


def dr_grpo_loss(
    logp_new,
    logp_old,
    advantages,
    mask,
    *,
    max_length,
    clip_low=0.2,
    clip_high=0.2,
    n_sequences=None,
    n_tokens=None,
) -> PolicyLoss:
    """Dr. GRPO (arXiv 2503.20783): (1/N) sum_i sum_t min(...) / max_length, no length of its own anywhere.

    max_length: the constant divisor, the token budget of a completion. n_sequences defaults to B, masked
        rows too.
    """
    log_ratio, A = masked_inputs(logp_new, logp_old, advantages, mask)
    surrogate, clipped = clipped_surrogate(importance_ratio(log_ratio, A), A, clip_low, clip_high)
    sequences = len(mask) if n_sequences is None else n_sequences
    loss = -(surrogate * mask).sum() / (max(sequences, 1) * max_length)
    return PolicyLoss(loss, ratio_metrics(log_ratio, clipped, mask))


def dapo_loss(
    logp_new, logp_old, advantages, mask, *, clip_low=0.2, clip_high=0.28, n_sequences=None, n_tokens=None
) -> PolicyLoss:
    """DAPO (arXiv 2503.14476): sum_i sum_t min(...) / sum of lengths; long answers weigh more."""
    log_ratio, A = masked_inputs(logp_new, logp_old, advantages, mask)
    surrogate, clipped = clipped_surrogate(importance_ratio(log_ratio, A), A, clip_low, clip_high)
    loss = -(surrogate * mask).sum() / token_count(mask, n_tokens)
    return PolicyLoss(loss, ratio_metrics(log_ratio, clipped, mask))


def gspo_loss(
    logp_new, logp_old, advantages, mask, *, clip_low=3e-4, clip_high=4e-4, n_sequences=None, n_tokens=None
) -> PolicyLoss:
    """GSPO (arXiv 2507.18071): s_i = exp(mean_t log rho); mean_i min(s A, clip(s, 1 - low, 1 + high) A).

    advantages (B,) only. The metrics stay those of the token ratios; all tokens of a clipped sequence
    count as clipped.
    """
    A = sequence_advantages(advantages, mask, "gspo_loss")
    log_ratio, _ = masked_inputs(logp_new, logp_old, advantages, mask)
    s = importance_ratio(sequence_mean(log_ratio, mask), A)
    surrogate, clipped = clipped_surrogate(s, A, clip_low, clip_high)
    loss = -surrogate.sum() / sequence_count(mask, n_sequences)
    return PolicyLoss(loss, ratio_metrics(log_ratio, clipped[:, None], mask))


def gmpo_loss(
    logp_new, logp_old, advantages, mask, *, clip_low=0.4, clip_high=0.4, n_sequences=None, n_tokens=None
) -> PolicyLoss:
    """GMPO (arXiv 2507.20673): mean_i A exp(mean_t y).

    y = min(log rho, high) if A > 0, max(log rho, -low) if A < 0: each token is clipped on one side, by log-ratios
    (0.4 is the ratio range e^-0.4 to e^0.4). In log space because a product of 10 000 ratios leaves float32 and
    the mean of their logs does not. advantages (B,) only.
    """
    A = sequence_advantages(advantages, mask, "gmpo_loss")
    log_ratio, token_A = masked_inputs(logp_new, logp_old, advantages, mask)
    y = torch.where(token_A > 0, log_ratio.clamp(max=clip_high), log_ratio.clamp(min=-clip_low))
    loss = -(A * sequence_mean(y, mask).exp()).sum() / sequence_count(mask, n_sequences)
    clipped = (token_A != 0) & (y != log_ratio)
    return PolicyLoss(loss, ratio_metrics(log_ratio, clipped, mask))


def grpo_sg_loss(
    logp_new,
    logp_old,
    advantages,
    mask,
    chosen_logits,
    *,
    alpha=2.0,
    tau=9.0,
    mu=0.25,
    low=1.0,
    high=1.4,
    normalize=False,
    clip_low=0.2,
    clip_high=0.2,
    token_weights=None,
    n_sequences=None,
    n_tokens=None,
) -> PolicyLoss:
    """GRPO-SG (arXiv 2511.00066): mean_i mean_t w min(...); w = clip(alpha (sigmoid(h/tau) - mu), low, high).

    chosen_logits: h (B, T), raw logit of the sampled token. normalize: bring w to mean 1 over these tokens.
    token_weights: w (B, T) made from the whole optimizer batch, in place of chosen_logits and the five
    constants: normalised weights of micro-batches need it. Metrics also hold `mean_weight`.
    """
    if token_weights is None:
        token_weights = sharpness_weights(chosen_logits, alpha=alpha, tau=tau, mu=mu, low=low, high=high)
        if normalize:
            token_weights = normalize_weights(token_weights, mask)
    w = torch.where(mask.bool(), token_weights.detach(), 0.0)
    log_ratio, A = masked_inputs(logp_new, logp_old, advantages, mask)
    surrogate, clipped = clipped_surrogate(importance_ratio(log_ratio, A), A, clip_low, clip_high)
    loss = -sequence_mean(w * surrogate, mask).sum() / sequence_count(mask, n_sequences)
    mean_weight = float(w.sum() / token_count(mask, None)) if mask.any() else 1.0
    return PolicyLoss(loss, {**ratio_metrics(log_ratio, clipped, mask), "mean_weight": mean_weight})


def ar_loss(logp_new, logp_old, advantages, mask, prob_old, *, alpha=0.2, **grpo_options) -> PolicyLoss:
    """Advantage reweighting (arXiv 2505.12929): GRPO with A (alpha pi_old + 1 - alpha) in place of A.

    prob_old: (B, T), probability of each token when it was sampled. grpo_options: those of `grpo_loss`.
    """
    A = advantages[:, None] if advantages.dim() == 1 else advantages
    return grpo_loss(logp_new, logp_old, A * advantage_reweighting(prob_old, alpha=alpha), mask, **grpo_options)


def kl_penalty(logp_new, logp_ref, mask, *, estimator="k3", n_sequences=None) -> Tensor:
    """Scalar: mean over sequences of the masked token mean of an estimate of KL(new || ref).

    With d = logp_ref - logp_new on tokens sampled from new: k1 = -d, k2 = d^2 / 2, k3 = exp(d) - d - 1
    (Schulman 2020). In expectation k1 and k3 are the KL and k2 only to second order. Minimised on-policy,
    k2 has the gradient of the reverse KL, k3 that of the forward KL and k1 none at all. logp_new,
    logp_ref, mask: (B, T).
    """
    kept = mask.bool()
    d = torch.where(kept, logp_ref.detach(), 0.0) - torch.where(kept, logp_new, 0.0)
    if estimator == "k1":
        k = -d
    elif estimator == "k2":
        k = d.square() / 2
    elif estimator == "k3":
        k = d.exp() - d - 1
    else:
        raise ValueError(f"estimator is {estimator!r}; expected k1, k2 or k3")
    return sequence_mean(k, mask).sum() / sequence_count(mask, n_sequences)
