"""What a verifier returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """reward: 0 to 1. reason: a short code, see the table in `grpo_lessons.verifiers`. answer: what was read."""

    reward: float
    reason: str
    answer: Any = None
