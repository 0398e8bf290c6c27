"""Functions with one planted fault each, for the exercises that ask a reader to find it.

Each runs, returns something plausible, and came from a mistake that real projects made. Do not import them
elsewhere.
"""

import torch


def advantages(rewards):
    """Advantage of each completion, (P, G) -> (P, G): centred and divided by the sample standard deviation."""
    mean, std = rewards.mean(), rewards.std()
    return (rewards - mean) / (std + 1e-6)


def sequence_loss(surrogate, mask):
    """Loss to minimise: minus the mean over sequences of the mean over each one's tokens.

    surrogate, mask: (B, T), mask 1 on completion tokens.
    """
    return -surrogate.mean(dim=1).mean()


def accumulated_loss(surrogate, mask, size):
    """Minus the mean over all kept tokens of the batch (DAPO), computed `size` rows at a time to save memory.

    surrogate, mask: (B, T), mask 1 on completion tokens.
    """
    losses = []
    for values, kept in zip(surrogate.split(size), mask.split(size), strict=True):
        losses.append(-(values * kept).sum() / kept.sum())
    return torch.stack(losses).mean()


def k3(logp_new, logp_ref):
    """Estimate of KL(new || ref) for each token sampled from the new policy; same shape."""
    d = logp_new - logp_ref
    return d.exp() - d - 1


def completion_mask(ids, eos_id):
    """1 on the tokens that belong to the completion, 0 on the padding after it; ids (B, T)."""
    is_eos = (ids == eos_id).long()
    return (is_eos.cumsum(dim=1) == 0).float()


def token_logprobs(logits, ids, temperature):
    """Log-probability of each sampled token under the policy that sampled it; logits (B, T, V), ids (B, T)."""
    logp = torch.log_softmax(logits, dim=-1)
    return logp.gather(-1, ids[..., None])[..., 0]


def gmpo_loss(logp_new, logp_old, advantages, mask):
    """GMPO's loss with the clip at 0.4; mask (B, T), all 0 in the row of a completion that is left out."""
    d = (logp_new - logp_old) * mask
    y = torch.where(advantages[:, None] > 0, d.clamp(max=0.4), d.clamp(min=-0.4))
    geometric_mean = (y.sum(dim=1) / mask.sum(dim=1).clamp(min=1)).exp()
    return -(advantages * geometric_mean).mean()


def gae(rewards, values, mask, gamma, lam):
    """Advantages (B, T) from rewards, values and mask (B, T): generalized advantage estimation."""
    advantages = torch.zeros_like(values)
    later_value, later_advantage = torch.zeros(len(values)), torch.zeros(len(values))
    for t in reversed(range(values.shape[1])):
        delta = rewards[:, t] + gamma * later_value - values[:, t]
        later_value, later_advantage = values[:, t], delta + gamma * lam * later_advantage
        advantages[:, t] = later_advantage
    return advantages
