"""Verifiers: text of a model in, Verdict out."""

from __future__ import annotations

from .answers import answer_after_hashes, extract_answer, extract_boxed, extract_last_answer, has_format
from .base import Verdict
from .numbers import verify_integer

__all__ = [
    "Verdict",
    "answer_after_hashes",
    "extract_answer",
    "extract_boxed",
    "extract_last_answer",
    "has_format",
    "verify_integer",
]
