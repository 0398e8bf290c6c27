"""Log-probabilities, chosen logits and entropies of completion tokens, without the (B, T, V) float32 tensor.

Differs from `model(...).logits`: the head runs only on positions that predict a completion token, in chunks of tokens
whose logits are not kept. (A vocabulary of 151 936 makes 8 x 512 tokens 2.5 GB a copy; a plain backward holds three.)
Their gradient is computed at once if the head is frozen, else by running the head again. It flows to `logp` alone.
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
    trainable = [p for p in head.parameters() if p.requires_grad]
    if torch.is_grad_enabled() and trainable:
        if any(isinstance(part, nn.Dropout) and part.p > 0 and part.training for part in head.modules()):
            raise ValueError("the output head has dropout, which backward cannot repeat; set lora_dropout=0 for it")
        return RecomputedHead.apply(head, temperature, chunk, targets, hidden, *trainable)
    if torch.is_grad_enabled() and hidden.requires_grad:
        return FrozenHead.apply(head, temperature, chunk, targets, hidden)
    return scores_by_chunk(head, temperature, chunk, targets, hidden)


def plain_scores(logits: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """The definition: logits (N, V), targets (N,) -> logp, chosen_logit, entropy, each (N,)."""
    logp_all = (logits / temperature if temperature != 1.0 else logits).log_softmax(-1)
    logp = logp_all.gather(-1, targets[:, None])[:, 0]
    with torch.no_grad():
        entropy = -(logp_all.exp() * logp_all).sum(-1)
        chosen_logit = logits.gather(-1, targets[:, None])[:, 0]
    return logp, chosen_logit, entropy


@torch.no_grad()
def scores_by_chunk(head, temperature, chunk, targets, hidden) -> tuple[Tensor, Tensor, Tensor]:
    """plain_scores(head(hidden)) without a graph, `chunk` tokens at a time."""
    pieces = zip(hidden.split(chunk), targets.split(chunk), strict=True)
    scores = [plain_scores(head(h).float(), y, temperature) for h, y in pieces]
    return tuple(torch.cat(values) for values in zip(*scores, strict=True))


def logp_gradient(softmax: Tensor, targets: Tensor, temperature: float) -> Tensor:
    """d logp / d logits = (onehot(target) - softmax) / temperature, (N, V), written over `softmax`."""
    return softmax.neg_().scatter_add_(-1, targets[:, None], torch.ones_like(softmax[:, :1])).div_(temperature)


def scores_and_gradient(head, hidden, targets, temperature) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The scores of plain_scores, and d logp / d hidden (N, H), of one chunk."""
    with torch.enable_grad():
        inputs = hidden.detach().requires_grad_()
        logits = head(inputs)
    values = logits.detach().float()
    chosen_logit = values.gather(-1, targets[:, None])[:, 0]
    logp_all = (values / temperature if temperature != 1.0 else values).log_softmax(-1)
    logp = logp_all.gather(-1, targets[:, None])[:, 0]
    softmax = logp_all.exp()
    entropy = -logp_all.mul_(softmax).sum(-1)
    by_logits = logp_gradient(softmax, targets, temperature).to(logits.dtype)
    return logp, chosen_logit, entropy, torch.autograd.grad(logits, inputs, by_logits)[0]


class FrozenHead(torch.autograd.Function):
    """Scores by a head without trainable parameters, as under LoRA.

    A token's log-probability depends on its own hidden state alone. So its gradient there, (H,), is computed at once,
    while the logits are at hand, and backward only multiplies: the head never runs twice.
    """

    @staticmethod
    def forward(ctx, head, temperature, chunk, targets, hidden):
        pieces = zip(hidden.split(chunk), targets.split(chunk), strict=True)
        results = [scores_and_gradient(head, h, y, temperature) for h, y in pieces]
        logp, chosen_logit, entropy, gradients = (torch.cat(values) for values in zip(*results, strict=True))
        ctx.save_for_backward(gradients)
        ctx.mark_non_differentiable(chosen_logit, entropy)
        return logp, chosen_logit, entropy

    @staticmethod
    def backward(ctx, grad_logp, *_):
        (gradients,) = ctx.saved_tensors
        return None, None, None, None, gradients * grad_logp[:, None].to(gradients.dtype)


class RecomputedHead(torch.autograd.Function):
    """Scores by a trainable head: backward runs it again, chunk by chunk, instead of keeping its logits."""

    @staticmethod
    def forward(ctx, head, temperature, chunk, targets, hidden, *trainable):
        ctx.head, ctx.temperature, ctx.chunk = head, temperature, chunk
        device = hidden.device.type
        ctx.autocast = (device, torch.get_autocast_dtype(device), torch.is_autocast_enabled(device))
        ctx.save_for_backward(targets, hidden, *trainable)
        logp, chosen_logit, entropy = scores_by_chunk(head, temperature, chunk, targets, hidden)
        ctx.mark_non_differentiable(chosen_logit, entropy)
        return logp, chosen_logit, entropy

    @staticmethod
    def backward(ctx, grad_logp, *_):
        targets, hidden, *trainable = ctx.saved_tensors
        device, dtype, enabled = ctx.autocast
        grad_hidden, grad_trainable = torch.empty_like(hidden), []
        for start in range(0, len(hidden), ctx.chunk):
            rows = slice(start, start + ctx.chunk)
            with torch.enable_grad(), torch.autocast(device, dtype=dtype, enabled=enabled):
                inputs = hidden[rows].detach().requires_grad_()
                logits = ctx.head(inputs)
            softmax = (logits.detach().float() / ctx.temperature).softmax(-1)
            by_logits = logp_gradient(softmax, targets[rows], ctx.temperature).mul_(grad_logp[rows, None])
            grad, *others = torch.autograd.grad(logits, [inputs, *trainable], by_logits.to(logits.dtype))
            grad_hidden[rows] = grad
            grad_trainable = others if start == 0 else [a.add_(b) for a, b in zip(grad_trainable, others, strict=True)]
        return None, None, None, None, grad_hidden, *grad_trainable
