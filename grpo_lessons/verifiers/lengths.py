"""Penalties for length: reward functions with TRL's signature, to be parts of a `weighted_sum`.

Both are 0 at best and -1 at worst, and count tokens from the `completion_ids` that TRL hands to every reward
function, or characters where asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .compose import Rewards, completion_text


def length_penalty(max_length: int, *, unit: str = "tokens") -> Callable[..., Rewards]:
    """-min(1, length / max_length): every token costs the same.

    unit: "tokens" (needs `completion_ids`) or "characters". Raises ValueError for another unit or length.
    """
    return _penalty("length_penalty", max_length, max_length, unit)


def overlong_penalty(max_length: int, buffer: int, *, unit: str = "tokens") -> Callable[..., Rewards]:
    """0 up to max_length - buffer, then a straight line down to -1 at max_length (DAPO 2025, equation 13).

    unit: "tokens" (needs `completion_ids`) or "characters". Raises ValueError unless 0 < buffer <= max_length.
    """
    return _penalty("overlong_penalty", max_length, buffer, unit)


def _penalty(name: str, max_length: int, buffer: int, unit: str) -> Callable[..., Rewards]:
    if unit not in ("tokens", "characters"):
        raise ValueError(f"unit={unit!r}; units: tokens, characters")
    if not 0 < buffer <= max_length:
        raise ValueError(f"buffer={buffer} and max_length={max_length}: 0 < buffer <= max_length must hold")
    function = partial(_ramp, free=max_length - buffer, buffer=buffer, lengths=_LENGTHS[unit])
    function.__name__ = name
    return function


def _ramp(
    prompts: Sequence | None = None,
    completions: Sequence = (),
    *,
    free: int,
    buffer: int,
    lengths: Callable,
    **columns: Any,
) -> Rewards:
    return [min(0.0, max(-1.0, (free - length) / buffer)) for length in lengths(completions, columns)]


def _tokens(completions: Sequence, columns: dict[str, Any]) -> list[int]:
    if columns.get("completion_ids") is None:
        raise ValueError(
            "a penalty in tokens needs completion_ids, one list of token ids per completion; TRL passes it, "
            'elsewhere pass it yourself or choose unit="characters"'
        )
    return [len(ids) for ids in columns["completion_ids"]]


def _characters(completions: Sequence, columns: dict[str, Any]) -> list[int]:
    texts = map(completion_text, completions)
    return [len(text) if isinstance(text, str) else 0 for text in texts]


_LENGTHS = {"tokens": _tokens, "characters": _characters}
