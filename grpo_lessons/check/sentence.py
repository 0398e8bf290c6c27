"""Does one sentence about a run say what a reader needs, and no more than was measured?"""

from __future__ import annotations

import re
from typing import Any

# what was not measured: a verdict of a verifier on one task, in one run, says nothing about these
OVERCLAIMS = re.compile(
    r"\b(reasons|reasoning|understands?|thinks|intelligen\w+|learn(?:ed|t) to|proves?|always|solved|can now)\b",
    re.IGNORECASE,
)


def sentence_faults(text: str, facts: dict[str, Any]) -> list[str]:
    """What is missing in a sentence or said too much; empty if nothing is.

    facts: `before`, `after`, `low`, `high` (shares from 0 to 1; low and high are the interval of after), `n`, `tokens`,
    `steps`, `runs` (whole numbers) and `task`, `verifier` (names). Shares may be written as 0.874 or as 87.4 %.
    """
    written = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]
    shares = {
        "the accuracy before": facts["before"],
        "the accuracy after": facts["after"],
        "the lower end of the interval": facts["low"],
        "the upper end of the interval": facts["high"],
    }
    faults = [f"missing: {name}" for name, share in shares.items() if not _holds_share(written, share)]
    counts = {"n": "the number of problems", "tokens": "the token budget", "steps": "the training steps"}
    faults += [f"missing: {name}" for key, name in counts.items() if facts[key] not in written]
    if facts["runs"] not in written and not (facts["runs"] == 1 and re.search(r"\b(one|a single) run\b", text, re.I)):
        faults.append("missing: the number of runs")
    faults += [f"missing: the {key}" for key in ("task", "verifier") if facts[key].lower() not in text.lower()]
    return faults + [f"more than was measured: {found!r}" for found in OVERCLAIMS.findall(text)]


def _holds_share(written: list[float], share: float) -> bool:
    """The share to half a percent point, written as a share or in percent."""
    return any(abs(x - share) <= 0.0051 or abs(x - 100 * share) <= 0.51 for x in written)
