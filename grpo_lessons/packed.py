"""The training forward without waste: no padding, and the prompt of a group computed once for all its completions.

The tokens of a micro-batch stand one after another in one list; norms, linear layers and the head see that list, and
only attention looks at rows. Every number is the one of the model's own forward, up to the order of additions.
For the architectures of decoder.py; the modules are the model's own (LoRA and 4-bit included).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from .decoder import fast_decodable, rotate
from .logprobs import TokenScores, output_head, score_hidden


def packable(policy) -> bool:
    """Whether this forward may stand in for the policy's own: an architecture we know, not patched by a backend."""
    model = policy.model.get_base_model() if hasattr(policy.model, "get_base_model") else policy.model
    return policy.backend == "transformers" and fast_decodable(model, model.config.max_position_embeddings)


def packed_logprobs(
    model,
    prompt_ids: Tensor,
    prompt_mask: Tensor,
    groups: Tensor,
    completion_ids: Tensor,
    mask: Tensor,
    *,
    temperature: float = 1.0,
    chunk: int = 256,
    gradient_checkpointing: bool = False,
) -> TokenScores:
    """Score completions; the result equals `token_logprobs` on whole rows.

    prompt_ids, prompt_mask (U, S): each prompt once, padded on the left. groups (B,): which prompt a row answers.
    completion_ids, mask (B, T): mask is 1 on the tokens to score; what follows a row's last one is not computed.
    gradient_checkpointing: keep only what enters each layer, and compute the layer again in backward (Chen et al. 2016,
    arXiv 1604.06174).
    """
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    kept = mask.bool()
    layout = Layout.of(prompt_mask.bool(), groups, kept)
    tokens = torch.cat([prompt_ids[prompt_mask.bool()], completion_ids[:, : layout.fed.shape[1]][layout.fed]])
    hidden = hidden_states(base.model, tokens, layout, gradient_checkpointing).index_select(0, layout.sources[kept])
    values = score_hidden(output_head(base), hidden, completion_ids[kept], temperature=temperature, chunk=chunk)
    zeros = torch.zeros(mask.shape, dtype=torch.float32, device=hidden.device)
    return TokenScores(*(zeros.index_put((kept,), value) for value in values))


@dataclass
class Layout:
    """Where things are in the list of N tokens: first the prompts' tokens, then those of the completions.

    positions (N,): counted from each prompt's first token. prompt_slots (U, S), completion_slots (B, T): the place of
    each token in the list, rows filled from the left (the rest is 0 and read by nobody). groups (B,): prompt of a row.
    visible: which of prompt + completion a completion token may look at, (B or 1, 1, T, S + T). back (N,): the place of
    each listed token among all slots. fed (B, T): completion tokens that are computed: all before a row's last kept.
    sources (B, T + 1): the listed token whose hidden state predicts a completion token.
    """

    positions: Tensor
    prompt_slots: Tensor
    completion_slots: Tensor
    groups: Tensor
    visible: Tensor
    back: Tensor
    fed: Tensor
    sources: Tensor

    @classmethod
    def of(cls, prompt_mask: Tensor, groups: Tensor, kept: Tensor) -> Layout:
        device, U = kept.device, len(prompt_mask)
        prompt_lengths = prompt_mask.sum(1)
        columns = torch.arange(kept.shape[1], device=device)
        fed_lengths = (kept * columns).amax(1)  # the last kept token predicts nothing
        S, T = int(prompt_lengths.max()), max(1, int(fed_lengths.max()))
        real = torch.arange(S, device=device) < prompt_lengths[:, None]
        fed = columns[:T] < fed_lengths[:, None]
        lengths = torch.cat([prompt_lengths, fed_lengths])
        starts = (lengths.cumsum(0) - lengths)[:, None]  # (U + B, 1)
        prompt_slots = (starts[:U] + torch.arange(S, device=device)) * real
        completion_slots = (starts[U:] + columns[:T]) * fed
        last_of_prompt = (starts[:U] + prompt_lengths[:, None] - 1)[groups]
        positions = torch.cat(
            [torch.arange(S, device=device).expand_as(real)[real], (prompt_lengths[groups, None] + columns[:T])[fed]]
        )
        earlier = (columns[:T] <= columns[:T, None])[None, None]  # (1, 1, T, T)
        rows = len(groups) if not bool(real.all()) else 1
        visible = torch.cat(
            [real[groups[:rows]][:, None, None].expand(rows, 1, T, S), earlier.expand(rows, 1, T, T)], dim=-1
        )
        back = torch.cat([real.flatten(), fed.flatten()]).nonzero()[:, 0]
        sources = torch.cat([last_of_prompt, starts[U:] + columns[:-1]], dim=1)
        return cls(positions, prompt_slots, completion_slots, groups, visible, back, fed, sources)


def hidden_states(body, tokens: Tensor, layout: Layout, gradient_checkpointing: bool = False) -> Tensor:
    """tokens (N,) -> (N, H) after the last norm. body: the decoder stack of a Qwen2, Llama or Mistral model."""
    recompute = gradient_checkpointing and torch.is_grad_enabled()
    x = body.embed_tokens(tokens)
    rope = tuple(t[0, :, None] for t in body.rotary_emb(x, layout.positions[None]))  # cos and sin, (N, 1, D)
    for layer in body.layers:
        inputs = (layer, x, rope, layout)
        x = checkpoint(apply_layer, *inputs, use_reentrant=False) if recompute else apply_layer(*inputs)
    return body.norm(x)


def apply_layer(layer, x: Tensor, rope: tuple[Tensor, Tensor], layout: Layout) -> Tensor:
    """(N, H) -> (N, H)."""
    x = x + attend(layer.self_attn, layer.input_layernorm(x), rope, layout)
    return x + layer.mlp(layer.post_attention_layernorm(x))


def attend(attention, x: Tensor, rope: tuple[Tensor, Tensor], layout: Layout) -> Tensor:
    """Attention of every listed token to its prompt and to what its own completion has so far: (N, H) -> (N, H)."""
    N, D = len(x), attention.head_dim
    q = rotate(attention.q_proj(x).view(N, -1, D), *rope)
    k = rotate(attention.k_proj(x).view(N, -1, D), *rope)
    v = attention.v_proj(x).view(N, -1, D)
    prompts = look(*(rows(t, layout.prompt_slots) for t in (q, k, v)), attention, is_causal=True)
    slots = torch.cat([layout.prompt_slots[layout.groups], layout.completion_slots], dim=1)
    completions = look(
        rows(q, layout.completion_slots), rows(k, slots), rows(v, slots), attention, attn_mask=layout.visible
    )
    return attention.o_proj(torch.cat([prompts, completions]).index_select(0, layout.back))


def rows(listed: Tensor, slots: Tensor) -> Tensor:
    """(N, heads, D) -> (rows, heads, L, D) for slots (rows, L)."""
    return listed.index_select(0, slots.flatten()).view(*slots.shape, *listed.shape[1:]).transpose(1, 2)


def look(q: Tensor, k: Tensor, v: Tensor, attention, **options) -> Tensor:
    """Softmax attention, heads side by side: (rows * L, heads * D)."""
    shared = q.shape[1] // k.shape[1]  # query heads that share a key head
    if shared > 1:
        k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
    y = scaled_dot_product_attention(q, k, v, scale=attention.scaling, **options)
    return y.transpose(1, 2).reshape(-1, q.shape[1] * q.shape[3])
