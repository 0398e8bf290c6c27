"""Verifiers: the text of a model in, a `Verdict` out.

Every `verify_*` takes a completion and what is expected, and never raises on a completion, whatever it holds.
Start with `verify_integer` or `verify_number`; `reward_function` turns any of them into a reward for TRL.
`REASONS` is the table of the reason codes. Imports neither torch nor transformers.
"""

from __future__ import annotations

import importlib

from .answers import (
    answer_after_hashes,
    extract_answer,
    extract_boxed,
    extract_last_answer,
    has_format,
    read_answer,
)
from .base import Verdict
from .compose import reward_function, weighted_sum
from .countdown import verify_countdown
from .lengths import length_penalty, overlong_penalty
from .logic import verify_knights
from .numbers import last_number, verify_integer, verify_number
from .reasons import REASONS
from .text import verify_choice, verify_text

# name -> module, imported when first asked for: they start processes or draw tables
_LAZY = {
    "verify_math": "math",
    "verify_code": "code",
    "verify_code_batch": "code",
    "score_batch": "batch",
    "verify_cases": "report",
}

__all__ = [
    "REASONS",
    "Verdict",
    "answer_after_hashes",
    "extract_answer",
    "extract_boxed",
    "extract_last_answer",
    "has_format",
    "last_number",
    "length_penalty",
    "overlong_penalty",
    "read_answer",
    "reward_function",
    "score_batch",
    "verify_cases",
    "verify_choice",
    "verify_code",
    "verify_code_batch",
    "verify_countdown",
    "verify_integer",
    "verify_knights",
    "verify_math",
    "verify_number",
    "verify_text",
    "weighted_sum",
]


def __getattr__(name: str):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
