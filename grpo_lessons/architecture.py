"""The shape of a Qwen2, Llama or Mistral model, read from its config.json: what the memory calculator counts with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .paths import data_dir

SUPPORTED = ("qwen2", "llama", "mistral")


@dataclass(frozen=True)
class Architecture:
    """Sizes of a decoder. query, key: width of all query heads and of all key heads. biases: of one layer, all."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied: bool
    biases: int
    bias_tensors: int
    max_positions: int

    @classmethod
    def of(cls, model) -> Architecture:
        """From a policy's name, a folder, a model, a configuration of transformers, or the content of config.json.

        Raises ValueError for another family of models, or for a name whose config.json does not ship with the course.
        """
        if isinstance(model, cls):
            return model
        if isinstance(model, (str, Path)):
            model = json.loads(config_path(str(model)).read_text())
        config = getattr(model, "config", model)
        return cls.from_config(config if isinstance(config, dict) else config.to_dict())

    @classmethod
    def from_config(cls, config: dict) -> Architecture:
        """From the content of a config.json."""
        kind = config.get("model_type")
        if kind not in SUPPORTED:
            raise ValueError(f"memory of a model of type {kind!r} is not known; known: {', '.join(SUPPORTED)}")
        hidden, heads = config["hidden_size"], config["num_attention_heads"]
        kv_heads = config.get("num_key_value_heads") or heads
        head_dim = config.get("head_dim") or hidden // heads
        query, key, inner = heads * head_dim, kv_heads * head_dim, config["intermediate_size"]
        biases = (
            [query, key, key] if kind == "qwen2" else [query, key, key, hidden] * bool(config.get("attention_bias"))
        )
        biases += [inner, inner, hidden] * bool(config.get("mlp_bias"))
        return cls(
            layers=config["num_hidden_layers"],
            hidden=hidden,
            heads=heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            intermediate=inner,
            vocabulary=config["vocab_size"],
            tied=config.get("tie_word_embeddings", False),
            biases=sum(biases),
            bias_tensors=len(biases),
            max_positions=config["max_position_embeddings"],
        )

    @property
    def query(self) -> int:
        return self.heads * self.head_dim

    @property
    def key(self) -> int:
        return self.kv_heads * self.head_dim

    @property
    def linears(self) -> dict[str, tuple[int, int]]:
        """(inputs, outputs) of the seven matrices of a layer."""
        h, q, k, i = self.hidden, self.query, self.key, self.intermediate
        return {
            "q_proj": (h, q),
            "k_proj": (h, k),
            "v_proj": (h, k),
            "o_proj": (q, h),
            "gate_proj": (h, i),
            "up_proj": (h, i),
            "down_proj": (i, h),
        }

    @property
    def outside_linears(self) -> int:
        """Weights that stay in 16 or 32 bits: embedding, an untied head, norms and biases."""
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return embeddings + self.layers * (self.biases + 2 * self.hidden) + self.hidden

    @property
    def parameters(self) -> int:
        """All weights; a head tied to the embedding counts once."""
        return self.outside_linears + self.layers * sum(a * b for a, b in self.linears.values())

    @property
    def tensors(self) -> int:
        """Parameter tensors: matrices, biases and two norms a layer; embedding, last norm, an untied head."""
        return self.layers * (7 + self.bias_tensors + 2) + (2 if self.tied else 3)


def config_path(name: str) -> Path:
    """config.json of a folder, or of a policy that ships with the course (data/nano, data/configs)."""
    for folder in (Path(name).expanduser(), data_dir() / name, data_dir() / "configs" / name):
        if (folder / "config.json").is_file():
            return folder / "config.json"
    known = sorted(path.parent.name for path in (data_dir() / "configs").glob("*/config.json"))
    raise ValueError(f"no config.json for {name!r}; give nano, {', '.join(known)}, or a folder that holds one")
