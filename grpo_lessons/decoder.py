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
    """Forward pass and key-value cache of B sequences, written out.

    The keys and values of a prompt are kept once for all its completions (Hydragen 2024, arXiv 2402.05099): the
    queries of a group meet them together, in one matrix product. What a completion adds is kept by sequence.
    """

    def __init__(self, model, max_length: int):
        self.model, self.body, self.max_length = model, model.model, max_length
        attention = self.body.layers[0].self_attn
        self.head_dim, self.scaling = attention.head_dim, attention.scaling
        self.kv_heads = model.config.num_key_value_heads

    @torch.no_grad()
    def prefill(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Read left-padded prompts (P, S); returns the logits (P, V) of the next token."""
        self.prompt_length = input_ids.shape[1]
        self.pad = self.prompt_length - attention_mask.sum(1)  # (P,) how many positions on the left are padding
        x = self.body.embed_tokens(input_ids)
        everything = torch.arange(self.max_length, device=input_ids.device)[None]
        self.cos, self.sin = (t[0] for t in self.body.rotary_emb(x, everything))
        positions = (everything[:, : self.prompt_length] - self.pad[:, None]).clamp_min(0)
        rope = self.cos[positions][:, None], self.sin[positions][:, None]
        real = attention_mask.bool()[:, None, None]
        causal = torch.ones(self.prompt_length, self.prompt_length, dtype=torch.bool, device=x.device).tril()
        # a padding position sees itself, so that no softmax is empty; its values are read by nobody
        visible = (causal & real) | torch.eye(self.prompt_length, dtype=torch.bool, device=x.device)
        self.prompt_keys, self.prompt_values = [], []
        for layer in self.body.layers:
            x = x + self._read(layer.self_attn, layer.input_layernorm(x), rope, visible)
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        self.hidden = None if real.all() else torch.zeros(real.shape, device=x.device).masked_fill_(~real, -torch.inf)
        self._make_room(1)
        return self.model.lm_head(self.body.norm(x[:, -1])).float()

    def expand(self, group_size: int) -> None:
        """Go on with group_size sequences for each prompt: sequence p*G + g continues prompt p."""
        self._make_room(group_size)

    @torch.no_grad()
    def step(self, tokens: Tensor) -> Tensor:
        """Append one token per sequence (B,); returns the logits (B, V) of the next."""
        positions = self.prompt_length + self.length - self.pad[self.slots // self.group_size]
        rope = self.cos[positions][:, None], self.sin[positions][:, None]
        self.length += 1
        x = self.body.embed_tokens(tokens)
        for layer, *cache in zip(self.body.layers, *self.caches, strict=True):
            x = x + self._attend(layer.self_attn, layer.input_layernorm(x), rope, *cache)
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return self.model.lm_head(self.body.norm(x)).float()

    def keep(self, rows: Tensor) -> None:
        """Go on with these sequences only, in this order; their cache moves to the front, it is not made anew."""

        def narrower(t: Tensor) -> Tensor:
            t[: len(rows), :, : self.length] = t[rows, :, : self.length]
            return t[: len(rows)]

        self.keys, self.values = [narrower(t) for t in self.keys], [narrower(t) for t in self.values]
        self.slots = self.slots[rows]
        alive, prompt = (self.slots // self.group_size).unique(return_inverse=True)
        if len(alive) <= len(self.pad) / 2:  # copying the prompts' cache pays once half of them are done
            self.prompt_keys = [t[alive] for t in self.prompt_keys]
            self.prompt_values = [t[alive] for t in self.prompt_values]
            self.hidden = None if self.hidden is None else self.hidden[alive]
            self.pad = self.pad[alive]
            self.slots = prompt * self.group_size + self.slots % self.group_size

    @property
    def caches(self):
        return self.prompt_keys, self.prompt_values, self.keys, self.values

    def _make_room(self, group_size: int) -> None:
        """Empty caches (B, K, room, D) for group_size sequences a prompt, each in a slot p*G + g of its own."""
        self.group_size, self.length = group_size, 0
        self.slots = torch.arange(len(self.pad) * group_size, device=self.pad.device)
        shape = (len(self.slots), self.kv_heads, self.max_length - self.prompt_length, self.head_dim)
        self.keys = [t.new_empty(shape) for t in self.prompt_keys]
        self.values = [t.new_empty(shape) for t in self.prompt_values]

    def _read(self, attention, x, rope, visible) -> Tensor:
        """Attention inside the prompts, whose keys and values are kept."""
        P, S, _ = x.shape
        q, k, v = (
            project(x).view(P, S, -1, self.head_dim).transpose(1, 2)
            for project in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        k = rotate(k, *rope)
        self.prompt_keys.append(k)
        self.prompt_values.append(v)
        q = rotate(q, *rope).reshape(P, self.kv_heads, -1, S, self.head_dim)  # (P, K, H/K, S, D)
        scores = (q @ k[:, :, None].transpose(3, 4)) * self.scaling
        weights = scores.masked_fill_(~visible[:, None], -torch.inf).softmax(-1, dtype=torch.float32).to(v.dtype)
        y = (weights @ v[:, :, None]).view(P, -1, S, self.head_dim)
        return attention.o_proj(y.transpose(1, 2).reshape(P, S, -1))

    def _attend(self, attention, x, rope, prompt_keys, prompt_values, keys, values) -> Tensor:
        """Attention of one new token per sequence to its prompt and to its own completion: (B, H) -> (B, H)."""
        B, S, t = len(x), self.prompt_length, self.length
        q = rotate(attention.q_proj(x).view(B, -1, self.head_dim), *rope).view(B, self.kv_heads, -1, self.head_dim)
        keys[:, :, t - 1] = rotate(attention.k_proj(x).view(B, -1, self.head_dim), *rope)
        values[:, :, t - 1] = attention.v_proj(x).view(B, -1, self.head_dim)
        to_prompt = self._by_prompt(q) @ prompt_keys.transpose(2, 3)  # (P, K, G * H/K, S)
        if self.hidden is not None:
            to_prompt += self.hidden
        scores = torch.cat([self._by_sequence(to_prompt), q @ keys[:, :, :t].transpose(2, 3)], -1) * self.scaling
        weights = scores.softmax(-1, dtype=torch.float32).to(values.dtype)
        y = self._by_sequence(self._by_prompt(weights[..., :S]) @ prompt_values) + weights[..., S:] @ values[:, :, :t]
        return attention.o_proj(y.view(B, -1))

    def _by_prompt(self, x: Tensor) -> Tensor:
        """(B, K, R, X) by sequence -> (P, K, G * R, X) by prompt; the slots of finished sequences hold 0."""
        _, K, R, X = x.shape
        slots = x.new_zeros(len(self.pad) * self.group_size, K, R, X).index_copy_(0, self.slots, x)
        return slots.view(-1, self.group_size, K, R, X).transpose(1, 2).reshape(-1, K, self.group_size * R, X)

    def _by_sequence(self, x: Tensor) -> Tensor:
        """The inverse of `_by_prompt`."""
        P, K, _, X = x.shape
        slots = x.view(P, K, self.group_size, -1, X).transpose(1, 2).reshape(P * self.group_size, K, -1, X)
        return slots.index_select(0, self.slots)


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
