"""How low is the rank of a matrix, or of what training did to it? Singular values, and policies with other matrices."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .four_bit import plain_weight
from .policies import Policy


def captured(matrix: Tensor) -> Tensor:
    """Share of a matrix's squared size that its best approximation of rank 1, 2, ... holds.

    matrix: (rows, columns), not all 0. Returns (min(rows, columns),), rising to 1.
    """
    squares = torch.linalg.svdvals(matrix.double()) ** 2
    return squares.cumsum(0) / squares.sum()


def best_of_rank(matrix: Tensor, rank: int) -> Tensor:
    """The nearest matrix of that rank: its largest singular values with their directions (Eckart and Young 1936)."""
    U, S, Vh = torch.linalg.svd(matrix, full_matrices=False)
    return (U[:, :rank] * S[:rank]) @ Vh[:rank]


def matrices(model: nn.Module) -> dict[str, Tensor]:
    """{name: weight (outputs, inputs), float32} of the linear layers but the output head, which LoRA and NF4 touch.

    model: a causal language model without adapters; weights stored in 4 bits are expanded.
    """
    return {name: plain_weight(layer) for name, layer in _linears(model)}


def with_matrices(policy: Policy, change: Callable[[str, Tensor], Tensor]) -> Policy:
    """A copy of a policy whose matrices (see `matrices`) are change(name, matrix); all else stays.

    ValueError for a policy with adapters or 4-bit weights: merge it first.
    """
    if hasattr(policy.model, "peft_config") or getattr(policy.model, "is_loaded_in_4bit", False):
        raise ValueError(f"with_matrices needs plain weights, {policy.name!r} has not: use merge_adapter(policy) first")
    model = copy.deepcopy(policy.model)
    with torch.no_grad():
        for name, layer in _linears(model):
            layer.weight.copy_(change(name, plain_weight(layer)))
    return Policy(model, policy.tokenizer, policy.device, f"{policy.name}, changed")


def _linears(model: nn.Module):
    head = model.get_output_embeddings()
    return [(n, m) for n, m in model.named_modules() if isinstance(m, nn.Linear) and m is not head]
