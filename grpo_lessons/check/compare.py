"""Are two results the same, and if not, what differs? Results are tensors, numbers, texts, None, or dicts of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def numbers(value: Any) -> torch.Tensor | None:
    """value as a float64 tensor: a tensor, an array, a number, nested lists; None if it is none of those."""
    if value is None or isinstance(value, str | dict | bool):
        return None
    if isinstance(value, torch.Tensor):
        return value.detach().double().cpu()
    if hasattr(value, "loss"):
        return numbers(value.loss)
    if isinstance(value, list | tuple):
        parts = [numbers(part) for part in value]
        if any(part is None or part.shape != parts[0].shape for part in parts):
            return None
        return torch.stack(parts) if parts else torch.zeros(0).double()
    try:
        return torch.as_tensor(value).double()
    except (TypeError, ValueError, RuntimeError):
        return None


def same(given: Any, expected: Any, tolerance: float) -> bool:
    """Equal as text, None and the like; numbers within the tolerance, shapes equal, NaN where NaN is expected."""
    if isinstance(expected, dict):
        return (
            isinstance(given, dict)
            and given.keys() == expected.keys()
            and all(same(given[key], expected[key], tolerance) for key in expected)
        )
    if hasattr(expected, "error"):
        return hasattr(given, "error") and type(given.error) is type(expected.error)
    if isinstance(expected, bool | str) and _is_single(given):
        given = given.item()
    left, right = numbers(given), numbers(expected)
    if left is None or right is None:
        return left is right and type(given) is type(expected) and _equal(given, expected)
    return left.shape == right.shape and torch.allclose(left, right, tolerance, tolerance, equal_nan=True)


def _is_single(value: Any) -> bool:
    """np.True_, np.str_ and the like, or a tensor without dimensions: how numpy and torch give a bool or a text."""
    return isinstance(value, np.generic) or (isinstance(value, torch.Tensor) and value.dim() == 0)


def _equal(given: Any, expected: Any) -> bool:
    try:
        return bool(given == expected)
    except Exception:  # an array within a tuple has no single truth value
        return False


def difference(given: Any, expected: Any, tolerance: float) -> str:
    """In words, what differs first."""
    if hasattr(given, "error"):
        return f"your function raised {given}\n  expected: {show(expected)}"
    if isinstance(expected, dict) and isinstance(given, dict):
        key = next(key for key in expected if not same(given.get(key), expected[key], tolerance))
        return f"{key}: {difference(given.get(key), expected[key], tolerance)}"
    left, right = numbers(given), numbers(expected)
    lines = [f"expected: {show(expected)}", f"yours:    {show(given)}"]
    if left is not None and right is not None:
        lines += _number_faults(left, right)
    return "\n  ".join(lines)


def _number_faults(left: torch.Tensor, right: torch.Tensor) -> list[str]:
    if left.shape != right.shape:
        return [f"the shape is {tuple(left.shape)}; it must be {tuple(right.shape)}"]
    bad = left.isnan() & ~right.isnan()
    if left.dim() == 2 and bad.any():
        rows = ", ".join(str(int(row) + 1) for row in bad.any(1).nonzero().flatten())
        return [f"row {rows} holds NaN: a division by zero, or a NaN that was not left out"]
    return ["there is a NaN in yours: a division by zero, or a NaN that was not left out"] if bad.any() else []


def show(value: Any) -> str:
    """A short text for a value: tensors as rounded lists."""
    if isinstance(value, dict):
        return "; ".join(f"{key} {show(part)}" for key, part in value.items())
    if hasattr(value, "error"):
        return str(value)
    if isinstance(value, torch.Tensor | list | tuple | float) or hasattr(value, "loss"):
        tensor = numbers(value)
        if tensor is not None:
            digits = tensor.float().numpy().round(4).tolist()
            return str(digits) if tensor.numel() <= 24 else f"a tensor of shape {tuple(tensor.shape)}"
    return repr(value)
