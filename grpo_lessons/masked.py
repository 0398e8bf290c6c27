"""What the losses share: log-ratios, means and counts over the tokens that a mask keeps.

Masked positions may hold anything, inf and NaN included. mask is (B, T), 1 on kept tokens.
"""

import torch
from torch import Tensor

LARGEST_LOG_RATIO = 80.0


def masked_inputs(logp_new, logp_old, advantages, mask) -> tuple[Tensor, Tensor]:
    """log rho = logp_new - logp_old and A, both (B, T) and 0 where masked.

    Selected before any arithmetic: inf and NaN at masked positions would survive a multiplication by 0.
    """
    B, T = mask.shape
    shapes = [tuple(x.shape) for x in (logp_new, logp_old, advantages, mask)]
    if shapes[:2] != [(B, T), (B, T)] or shapes[2] not in ((B,), (B, T)):
        raise ValueError(
            f"logp_new {shapes[0]}, logp_old {shapes[1]}, advantages {shapes[2]}, mask {shapes[3]}; "
            "expected (B, T), (B, T), (B,) or (B, T), and (B, T)"
        )
    kept = mask.bool()
    log_ratio = torch.where(kept, logp_new, 0.0) - torch.where(kept, logp_old.detach(), 0.0)
    A = advantages[:, None] if advantages.dim() == 1 else advantages
    return log_ratio, torch.where(kept, A, 0.0)


def importance_ratio(log_ratio, A) -> Tensor:
    """rho = exp(log rho); where A >= 0 at most e^80.

    float32 ends at e^88, and backward through an infinite rho gives 0 * inf = NaN even where the clip has taken the
    gradient away, as it has there with A >= 0. With A < 0 such a rho makes the loss infinite: the trainer stops at it.
    """
    return torch.where(A < 0, log_ratio, log_ratio.clamp(max=LARGEST_LOG_RATIO)).exp()


def sequence_mean(values, mask) -> Tensor:
    """(B,): mean over the kept tokens of each row, 0 for a row without any. values (B, T), finite."""
    return (values * mask).sum(1) / mask.sum(1).clamp(min=1)


def keeps_a_token(mask) -> Tensor:
    return mask.bool().any(1)


def sequence_count(mask, n_sequences):
    """Rows that keep a token, or the given count of the whole optimizer batch; at least 1."""
    return max(n_sequences if n_sequences is not None else int(keeps_a_token(mask).sum()), 1)


def token_count(mask, n_tokens):
    """Kept tokens, or the given count of the whole optimizer batch; at least 1."""
    return max(n_tokens if n_tokens is not None else int(mask.sum()), 1)


def ratio_metrics(log_ratio, clipped, mask) -> dict[str, float]:
    """Floats over the kept tokens; 1, 1, 0, 0, 0, 0 if there are none.

    ratio_min, ratio_max: extremes of rho. clip_fraction: share of tokens whose gradient the clip took away.
    approx_kl: mean of rho - 1 - log rho, an estimate of KL(old || new). log_ratio_q01, _q99: quantiles of
        log rho. rho is at most e^80 in them, so that they are finite.
    """
    kept = mask.bool()
    d = log_ratio.detach()[kept].float().sort().values
    names = ("ratio_min", "ratio_max", "clip_fraction", "approx_kl", "log_ratio_q01", "log_ratio_q99")
    if len(d) == 0:
        return dict(zip(names, (1.0, 1.0, 0.0, 0.0, 0.0, 0.0), strict=True))
    clip_fraction = clipped.expand_as(kept)[kept].float().mean()
    rho = d.clamp(max=LARGEST_LOG_RATIO).exp()
    approx_kl = (d.clamp(max=LARGEST_LOG_RATIO).expm1() - d).mean()
    q01, q99 = d[round(0.01 * (len(d) - 1))], d[round(0.99 * (len(d) - 1))]
    values = torch.stack([rho[0], rho[-1], clip_fraction, approx_kl, q01, q99])
    return dict(zip(names, values.tolist(), strict=True))
