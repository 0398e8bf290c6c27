"""Log-probabilities, chosen logits and entropies of completion tokens, without the (B, T, V) float32 tensor.

Differs from `model(...).logits`: the head runs only on positions that predict a completion token, in
chunks of tokens, and its logits are computed again in backward, chunk by chunk, in place of being kept (a
vocabulary of 151 936 makes 8 x 512 tokens 2.5 GB a copy, and a plain backward holds about three).
Gradients flow to `logp` alone.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

# Below this many logits (64 MB) one plain chunk is faster than computing the head twice.
PLAIN_LIMIT = 2**24


class TokenScores(NamedTuple):
    """Each (B, T) float32, 0 at positions that a mask left out. Only logp is on the graph."""

    logp: Tensor
    chosen_logit: Tensor
    entropy: Tensor


def token_logprobs(
    model: nn.Module,
    input_ids: Tensor,
    attention_mask: Tensor,
    completion_len: int,
    *,
    mask: Tensor | None = None,
    temperature: float = 1.0,
    chunk: int = 256,
) -> TokenScores:
    """Score the last `completion_len` tokens of each row.

    model: a causal LM of transformers, or a PEFT model around one (LoRA and 4-bit included).
    input_ids, attention_mask: (B, S + T), prompts padded on the left; position ids follow the attention mask.
    mask: (B, T), 1 on the tokens to score (default: all); the head is not run for the others.
    temperature: divides the logits of logp and entropy (nats); chosen_logit is the raw logit.
    chunk: tokens per call of the head when there are more than PLAIN_LIMIT logits.
    Raises ValueError for a model that changes its logits after the head (soft-capping, scaling) or without
    a prompt.
    """
    if not 0 < completion_len < input_ids.shape[1]:
        raise ValueError(
            f"completion_len is {completion_len}, of {input_ids.shape[1]} tokens; "
            "expected at least 1, and at least 1 prompt token before it"
        )
    causal_lm = model.get_base_model() if hasattr(model, "get_base_model") else model
    head = output_head(causal_lm)
    hidden = completion_hidden_states(causal_lm, input_ids, attention_mask, completion_len)
    targets = input_ids[:, -completion_len:]
    kept = torch.ones_like(targets, dtype=torch.bool) if mask is None else mask.bool()
    values = score_hidden(head, hidden[kept], targets[kept], temperature=temperature, chunk=chunk)
    zeros = torch.zeros(targets.shape, dtype=torch.float32, device=hidden.device)
    return TokenScores(*(zeros.index_put((kept,), value) for value in values))


def completion_hidden_states(causal_lm, input_ids, attention_mask, completion_len) -> Tensor:
    """(B, T, H): the last hidden states that predict the completion tokens, each one place before it."""
    position_ids = (attention_mask.long().cumsum(1) - 1).clamp(min=0)
    output = causal_lm.base_model(
        input_ids=input_ids[:, :-1],
        attention_mask=attention_mask[:, :-1],
        position_ids=position_ids[:, :-1],
        use_cache=False,
    )
    return output.last_hidden_state[:, -completion_len:]


def output_head(causal_lm) -> nn.Module:
    """The module from hidden states to logits; ValueError if the model does more than that after it."""
    head = causal_lm.get_output_embeddings()
    if head is None:
        raise ValueError(f"{type(causal_lm).__name__} has no output head; expected a causal language model")
    for key in ("final_logit_softcapping", "logits_scaling", "logit_scale", "lm_head_multiplier"):
        value = getattr(causal_lm.config, key, None)
        if value not in (None, 1, 1.0):
            raise ValueError(
                f"{type(causal_lm).__name__} changes its logits after the head ({key}={value}); use a model without it"
            )
    return head


def score_hidden(
    head: nn.Module, hidden: Tensor, targets: Tensor, *, temperature: float, chunk: int
) -> tuple[Tensor, Tensor, Tensor]:
    """hidden (N, H), targets (N,) -> logp, chosen_logit, entropy, each (N,) float32."""
    vocabulary = head.weight.shape[0] if hasattr(head, "weight") else head.out_features
    if hidden.shape[0] * vocabulary <= PLAIN_LIMIT:
        return plain_scores(head(hidden).float(), targets, temperature)
    if any(isinstance(part, nn.Dropout) and part.p > 0 and part.training for part in head.modules()):
        raise ValueError("the output head has dropout, which backward cannot repeat; set lora_dropout=0 for it")
    trainable = [p for p in head.parameters() if p.requires_grad]
    return RecomputedHead.apply(head, temperature, chunk, targets, hidden, *trainable)


def plain_scores(logits: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """The definition: logits (N, V), targets (N,) -> logp, chosen_logit, entropy, each (N,)."""
    logp_all = (logits / temperature).log_softmax(-1)
    logp = logp_all.gather(-1, targets[:, None])[:, 0]
    with torch.no_grad():
        entropy = -(logp_all.exp() * logp_all).sum(-1)
        chosen_logit = logits.gather(-1, targets[:, None])[:, 0]
    return logp, chosen_logit, entropy


class RecomputedHead(torch.autograd.Function):
    """plain_scores(head(hidden)) in chunks of tokens; backward runs the head again instead of keeping its
    logits.

    d logp_t / d logits_t = (onehot(target_t) - softmax(logits_t)) / temperature, written over the new
    logits in place.
    """

    @staticmethod
    def forward(ctx, head, temperature, chunk, targets, hidden, *trainable):
        ctx.head, ctx.temperature, ctx.chunk = head, temperature, chunk
        device = hidden.device.type
        ctx.autocast = (device, torch.get_autocast_dtype(device), torch.is_autocast_enabled(device))
        scores = hidden.new_empty(4, len(hidden), dtype=torch.float32)
        for start in range(0, len(hidden), chunk):
            rows = slice(start, start + chunk)
            logits = head(hidden[rows]).float()
            scores[1, rows] = logits.gather(-1, targets[rows, None])[:, 0]
            scaled = logits.div_(temperature) if temperature != 1.0 else logits
            log_z = scores[3, rows] = scaled.logsumexp(-1)
            scores[0, rows] = scores[1, rows] / temperature - log_z
            probabilities = (scaled - log_z[:, None]).exp_()
            scores[2, rows] = log_z - torch.linalg.vecdot(probabilities, scaled)
        logp, chosen_logit, entropy, log_z = scores.unbind()
        ctx.save_for_backward(targets, hidden, log_z, *trainable)
        ctx.mark_non_differentiable(chosen_logit, entropy)
        return logp, chosen_logit, entropy

    @staticmethod
    def backward(ctx, grad_logp, *_):
        targets, hidden, log_z, *trainable = ctx.saved_tensors
        device, dtype, enabled = ctx.autocast
        grad_hidden = torch.empty_like(hidden)
        grad_trainable = [torch.zeros_like(p) for p in trainable]
        for start in range(0, len(hidden), ctx.chunk):
            rows = slice(start, start + ctx.chunk)
            with torch.enable_grad(), torch.autocast(device, dtype=dtype, enabled=enabled):
                inputs = hidden[rows].detach().requires_grad_()
                logits = ctx.head(inputs)
            scale = (grad_logp[rows] / ctx.temperature)[:, None]
            softmax = (logits.detach().float() / ctx.temperature).sub_(log_z[rows, None]).exp_()
            grad_logits = softmax.mul_(-scale).scatter_add_(-1, targets[rows, None], scale)
            grad, *others = torch.autograd.grad(logits, [inputs, *trainable], grad_logits.to(logits.dtype))
            grad_hidden[rows] = grad
            for total, part in zip(grad_trainable, others, strict=True):
                total += part
        return None, None, None, None, grad_hidden, *grad_trainable
