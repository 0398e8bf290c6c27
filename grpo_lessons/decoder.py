"""Next-token logits for a batch that grows by one token at a time, in two interchangeable engines.

`FastDecoder` walks through the layers of a Qwen2, Llama or Mistral model itself: the modules (linear layers,
norms, LoRA, 4-bit) are the model's own, only the book-keeping of `transformers` is left out, which on a small model
costs several times the arithmetic. `CacheDecoder` asks the model's forward and works for every architecture.
Both compute the prompt once per group (`expand`) and forget finished sequences (`keep`).
"""

from __future__ import annotations

import torch
from torch import Tensor

FAST_ARCHITECTURES = ("Qwen2ForCausalLM", "LlamaForCausalLM", "MistralForCausalLM")


def make_decoder(model, max_length: int) -> FastDecoder | CacheDecoder:
    """The fast engine where the architecture allows it, else the general one.

    max_length: prompt tokens + completion tokens, the size of the key-value cache.
    """
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return FastDecoder(base, max_length) if fast_decodable(base, max_length) else CacheDecoder(model, max_length)


def fast_decodable(model, max_length: int) -> bool:
    """Whether `FastDecoder` computes this model: full attention, static rotary embedding, one device."""
    config = model.config
    window = getattr(config, "sliding_window", None) if "sliding_attention" in layer_types(config) else None
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    return (
        type(model).__name__ in FAST_ARCHITECTURES
        and (window is None or window >= max_length)
        and rope in ("default", "linear", "llama3")
        and len({p.device for p in model.parameters()}) == 1
    )


def layer_types(config) -> list[str]:
    """The attention type of each layer; Mistral names none and slides in all of them where it has a window."""
    default = "sliding_attention" if getattr(config, "sliding_window", None) else "full_attention"
    return getattr(config, "layer_types", None) or [default]


class FastDecoder:
    """Key-value cache and forward pass of B sequences, written out."""

    def __init__(self, model, max_length: int):
        self.model, self.body, self.max_length = model, model.model, max_length
        attention = self.body.layers[0].self_attn
        self.head_dim, self.scaling = attention.head_dim, attention.scaling
        self.kv_heads = model.config.num_key_value_heads

    @torch.no_grad()
    def prefill(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Read left-padded prompts (B, S); returns the logits (B, V) of the next token."""
        B, S = input_ids.shape
        device, dtype = input_ids.device, self.body.embed_tokens.weight.dtype
        shape = (B, self.kv_heads, self.max_length, self.head_dim)
        self.keys = [torch.empty(shape, device=device, dtype=dtype) for _ in self.body.layers]
        self.values = [torch.empty(shape, device=device, dtype=dtype) for _ in self.body.layers]
        self.length = 0
        self.pad = S - attention_mask.sum(1)  # (B,) how many positions on the left are padding
        self.padded = bool(self.pad.any())
        everything = torch.arange(self.max_length, device=device)[None]
        self.cos, self.sin = (t[0] for t in self.body.rotary_emb(self.body.embed_tokens.weight, everything))
        return self._forward(input_ids)

    @torch.no_grad()
    def step(self, tokens: Tensor) -> Tensor:
        """Append one token per sequence (B,); returns the logits (B, V) of the next."""
        return self._forward(tokens[:, None])

    def expand(self, group_size: int) -> None:
        """Repeat each sequence group_size times: row p becomes rows p*G ... p*G + G-1."""

        def wider(t: Tensor) -> Tensor:
            new = t.new_empty(len(t) * group_size, *t.shape[1:])
            new[:, :, : self.length] = t[:, :, : self.length].repeat_interleave(group_size, dim=0)
            return new

        self.keys, self.values = [wider(t) for t in self.keys], [wider(t) for t in self.values]
        self.pad = self.pad.repeat_interleave(group_size)

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows only, in this order; they move to the front of the cache, which is not made anew."""

        def narrower(t: Tensor) -> Tensor:
            t[: len(rows), :, : self.length] = t[rows, :, : self.length]
            return t[: len(rows)]

        self.keys, self.values = [narrower(t) for t in self.keys], [narrower(t) for t in self.values]
        self.pad = self.pad[rows]

    def _forward(self, input_ids: Tensor) -> Tensor:
        start, self.length = self.length, self.length + input_ids.shape[1]
        rope, bias = self._rope(start), self._bias(start)
        x = self.body.embed_tokens(input_ids)
        for layer, keys, values in zip(self.body.layers, self.keys, self.values, strict=True):
            x = x + self._attend(layer.self_attn, layer.input_layernorm(x), keys, values, start, rope, bias)
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return self.model.lm_head(self.body.norm(x[:, -1])).float()

    def _rope(self, start: int) -> tuple[Tensor, Tensor]:
        """cos and sin (1 or B, 1, N, D) of the positions start ... length-1, counted from each first real token."""
        if not self.padded:
            return self.cos[None, None, start : self.length], self.sin[None, None, start : self.length]
        columns = torch.arange(start, self.length, device=self.pad.device)
        positions = (columns[None] - self.pad[:, None]).clamp_min(0)
        return self.cos[positions][:, None], self.sin[positions][:, None]

    def _bias(self, start: int) -> Tensor | None:
        """0 where a position may look, minus infinity elsewhere: (1 or B, 1, 1, N, L); None if it may look anywhere."""
        n = self.length - start
        if n == 1 and not self.padded:
            return None
        columns = torch.arange(self.length, device=self.pad.device)
        visible = (columns[None] <= columns[start:, None])[None]  # causal, (1, N, L)
        if self.padded:
            # a padding position sees itself, so that no softmax is empty; its values are read by nobody
            real = columns[None, None] >= self.pad[:, None, None]
            visible = visible & (real | (columns[None] == columns[start:, None])[None])
        bias = torch.zeros(visible.shape, device=visible.device, dtype=self.keys[0].dtype)
        return bias.masked_fill_(~visible, float("-inf"))[:, None, None]

    def _attend(self, attention, x, keys, values, start, rope, bias) -> Tensor:
        B, N, _ = x.shape
        q = attention.q_proj(x).view(B, N, -1, self.head_dim).transpose(1, 2)
        k = attention.k_proj(x).view(B, N, -1, self.head_dim).transpose(1, 2)
        v = attention.v_proj(x).view(B, N, -1, self.head_dim).transpose(1, 2)
        q, k = rotate(q, *rope), rotate(k, *rope)
        keys[:, :, start : self.length], values[:, :, start : self.length] = k, v
        keys, values = keys[:, :, : self.length], values[:, :, : self.length]
        # the query heads that share a key head stand in a dimension of their own: no key is copied
        q = q.reshape(B, self.kv_heads, -1, self.head_dim)  # (B, K, H/K * N, D)
        scores = (q @ keys.transpose(2, 3)) * self.scaling
        if bias is not None:
            scores = (scores.view(B, self.kv_heads, -1, N, self.length) + bias).view(scores.shape)
        weights = scores.softmax(-1, dtype=torch.float32).to(values.dtype)
        y = (weights @ values).view(B, -1, N, self.head_dim).transpose(1, 2).reshape(B, N, -1)
        return attention.o_proj(y)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding of x (B, H, N, D) (RoFormer 2021), the halves paired as in Llama."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class CacheDecoder:
    """The same interface through the model's own forward and cache."""

    def __init__(self, model, max_length: int):
        self.model, self.max_length = model, max_length

    @torch.no_grad()
    def prefill(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Read left-padded prompts (B, S); returns the logits (B, V) of the next token."""
        self.mask, self.cache = attention_mask, None
        positions = (attention_mask.cumsum(1) - 1).clamp_min(0)
        return self._forward(input_ids, positions)

    @torch.no_grad()
    def step(self, tokens: Tensor) -> Tensor:
        """Append one token per sequence (B,); returns the logits (B, V) of the next."""
        self.mask = torch.cat([self.mask, self.mask.new_ones(len(tokens), 1)], dim=1)
        return self._forward(tokens[:, None], self.mask.sum(1, keepdim=True) - 1)

    def expand(self, group_size: int) -> None:
        """Repeat each sequence group_size times: row p becomes rows p*G ... p*G + G-1."""
        self.cache.batch_repeat_interleave(group_size)
        self.mask = self.mask.repeat_interleave(group_size, dim=0)

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows only, in this order."""
        self.cache.batch_select_indices(rows)
        self.mask = self.mask.index_select(0, rows)

    def _forward(self, input_ids: Tensor, position_ids: Tensor) -> Tensor:
        output = self.model(
            input_ids=input_ids,
            attention_mask=self.mask,
            position_ids=position_ids,
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self.cache = output.past_key_values
        return output.logits[:, -1].float()
