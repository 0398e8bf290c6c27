"""Token weights and token masks: which tokens a method listens to.

Everything here is detached: a weight scales a token's gradient and has none itself. Differs from the
GRPO-SG paper (arXiv 2511.00066) in that its constants can be fitted to a policy's own logits
(`constants_from_quantiles`) and the weights brought to mean 1 (`normalize_weights`), so that weighting is
not a hidden change of learning rate.
"""

import torch
from torch import Tensor


def sharpness_weights(
    chosen_logits: Tensor,
    *,
    alpha: float = 2.0,
    tau: float = 9.0,
    mu: float = 0.25,
    low: float = 1.0,
    high: float = 1.4,
) -> Tensor:
    """GRPO-SG: w = clip(alpha * (sigmoid(h / tau) - mu), low, high), detached.

    chosen_logits: h, any shape, the raw logit of the sampled token (before the temperature; not its
        probability: with these constants every probability gives w = 1, a silent no-op).
    The default constants are second-hand (a public re-implementation), not confirmed by the paper.
    """
    h = chosen_logits.detach()
    return (alpha * (torch.sigmoid(h / tau) - mu)).clamp(low, high)


def normalize_weights(weights: Tensor, mask: Tensor) -> Tensor:
    """Weights divided by their mean over the kept tokens: mean 1, so the effective learning rate stays.

    weights, mask: (B, T) of the whole optimizer batch. Masked positions may hold anything and become 0.
    """
    kept = torch.where(mask.bool(), weights.detach(), 0.0)
    mean = kept.sum() / mask.bool().sum().clamp(min=1)
    return kept / torch.where(mean > 0, mean, 1.0)


def constants_from_quantiles(
    chosen_logits: Tensor,
    mask: Tensor | None = None,
    *,
    q_low: float = 0.1,
    q_high: float = 0.9,
    low: float = 1.0,
    high: float = 1.4,
) -> dict[str, float]:
    """Constants for `sharpness_weights` fitted to a policy: w = low up to its quantile q_low, high from
    q_high on.

    With a and b the two quantiles of h, and s = sigmoid(h / tau):
        tau   = max(|a|, |b|) / 3            (the default constants reach `high` at h = 2.9 tau)
        alpha = (high - low) / (s(b) - s(a)) (the rise between the quantiles is high - low)
        mu    = s(a) - low / alpha           (it starts at low)
    chosen_logits: any shape; mask: same shape, 1 on the tokens to count (default: all).
    Returns alpha, tau, mu, low, high. Raises ValueError if the two quantiles are equal or `low` is not
    below `high`.
    """
    h = chosen_logits.detach().double()
    h = h[mask.bool()] if mask is not None else h.flatten()
    if h.numel() == 0 or not low < high or not 0 <= q_low < q_high <= 1:
        raise ValueError(
            f"{h.numel()} logits, low {low}, high {high}, quantiles {q_low} and {q_high}; "
            "expected some logits, low < high and 0 <= q_low < q_high <= 1"
        )
    a, b = torch.quantile(h, torch.tensor([q_low, q_high], dtype=h.dtype, device=h.device)).tolist()
    if a == b:
        raise ValueError(f"quantiles {q_low} and {q_high} of the logits are both {a:.3g}: there is no range to weight")
    tau = max(abs(a), abs(b)) / 3
    s_a, s_b = torch.sigmoid(torch.tensor([a / tau, b / tau], dtype=torch.float64)).tolist()
    alpha = (high - low) / (s_b - s_a)
    return {"alpha": alpha, "tau": tau, "mu": s_a - low / alpha, "low": low, "high": high}


def advantage_reweighting(prob_old: Tensor, *, alpha: float = 0.2) -> Tensor:
    """AR (arXiv 2505.12929): the factor alpha * pi_old + 1 - alpha on a token's advantage, detached.

    prob_old: any shape, probabilities. The paper takes alpha 0.2 alone and 0.3 together with Lopti.
    """
    return alpha * prob_old.detach() + (1.0 - alpha)


def low_probability_split(prob_old: Tensor, mask: Tensor, *, eta: float = 0.4) -> tuple[Tensor, Tensor]:
    """Lopti (arXiv 2505.12929): the two masks of its two updates, tokens with pi_old < eta first, then the
    rest.

    prob_old, mask: (B, T). Returns two masks of mask's dtype that add up to `mask`.
    The paper takes eta 0.4 alone and 0.5 together with AR.
    """
    kept, unlikely = mask.bool(), prob_old.detach() < eta
    return (kept & unlikely).to(mask.dtype), (kept & ~unlikely).to(mask.dtype)


def high_entropy_mask(entropy: Tensor, mask: Tensor, *, top: float = 0.2) -> Tensor:
    """80/20 (arXiv 2506.01939): the mask that keeps the `top` share of most uncertain tokens of the batch.

    entropy: (B, T) nats, mask: (B, T), both of the whole optimizer batch: ranks depend on the batch.
    Keeps exactly round(top * kept tokens), at least 1 where mask keeps any.
    """
    if not 0.0 < top <= 1.0:
        raise ValueError(f"top is {top}; expected a share in (0, 1], such as 0.2")
    kept = mask.bool()
    n_kept = int(kept.sum())
    if n_kept == 0:
        return torch.zeros_like(mask)
    ranked = torch.where(kept, entropy.detach(), -torch.inf).flatten()
    chosen = ranked.topk(max(1, round(top * n_kept))).indices
    return torch.zeros_like(mask).flatten().index_fill(0, chosen, 1).view_as(mask)
