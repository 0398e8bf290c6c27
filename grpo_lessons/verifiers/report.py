"""A verifier against labelled completions: confusion matrix, error rates with intervals, failing rows.

A case is one JSON object per line: `completion`, `arguments` (by name; an extractor by its name), `reward` (the
label), and if wanted `verifier`, `reason`,
`kind`, `id`. A reward of at least 0.5 counts as accepted.
"""

from __future__ import annotations

import importlib
import json
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Failure:
    """A case and what the verifier made of it instead."""

    case: dict[str, Any]
    reward: float
    reason: str


@dataclass(frozen=True)
class CaseReport:
    """confusion: {(label, verdict): count}, True for "right". failures: another reward or reason than the label's."""

    verifier: str
    confusion: dict[tuple[bool, bool], int]
    failures: list[Failure]

    @property
    def n(self) -> int:
        return sum(self.confusion.values())

    def error_rate(self, label: bool) -> tuple[int, int]:
        """(errors, cases) among cases with that label: False gives false positives, True false negatives."""
        return self.confusion[label, not label], self.confusion[label, True] + self.confusion[label, False]


def verify_cases(verifier: str | Callable, path: str | Path, *, cases_of: str | None = None) -> CaseReport:
    """Run a verifier over the cases of a file.

    verifier: a name from `grpo_lessons.verifiers`, "module:function", "file.py:function", or a function.
    cases_of: whose cases to take, by default those of the verifier's own name; a case without `verifier` is always
    taken.
    Raises ValueError, naming what is there, for an unknown verifier, a broken line or a file without such cases.
    """
    function = _by_name(verifier) if isinstance(verifier, str) else verifier
    name = cases_of or getattr(function, "__name__", str(function))
    every = read_cases(path)
    cases = [case for case in every if case.get("verifier", name) == name]
    if not cases:
        there = sorted({case["verifier"] for case in every})
        raise ValueError(f"{path} has no case for {name}; it has cases for {', '.join(there) or 'nothing'}")
    confusion = {(label, verdict): 0 for label in (True, False) for verdict in (True, False)}
    failures = []
    for case in cases:
        reward, reason = run_case(function, case)
        confusion[case["reward"] >= 0.5, reward >= 0.5] += 1
        if abs(reward - case["reward"]) > 1e-9 or case.get("reason", reason) != reason:
            failures.append(Failure(case, reward, reason))
    return CaseReport(getattr(function, "__name__", name), confusion, failures)


def read_cases(path: str | Path) -> list[dict[str, Any]]:
    """The cases of a JSON-lines file; ValueError names the first line that is not one."""
    cases = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number} is not JSON: {error}") from error
        if not isinstance(case, dict) or not {"completion", "reward"} <= case.keys():
            raise ValueError(f"{path}, line {number}: a case is an object with at least completion and reward")
        cases.append(case)
    return cases


def run_case(function: Callable, case: dict[str, Any]) -> tuple[float, str]:
    """(reward, reason) of one case; a verifier that raises gets reward 0 and says so in the reason."""
    arguments = dict(case.get("arguments", {}))
    if "extract" in arguments:
        arguments["extract"] = _by_name(arguments["extract"])
    try:
        verdict = function(case["completion"], **arguments)
    except Exception as error:
        return 0.0, f"raised {type(error).__name__}"
    return float(getattr(verdict, "reward", verdict)), getattr(verdict, "reason", "")


def _by_name(name: str) -> Callable:
    from grpo_lessons import verifiers

    if ":" in name:
        return _own(name)
    if name not in verifiers.__all__ or not callable(getattr(verifiers, name)):
        known = [n for n in verifiers.__all__ if n.startswith(("verify_", "has_", "extract_", "answer_", "last_"))]
        raise ValueError(f"unknown verifier {name!r}; known: {', '.join(known)}")
    return getattr(verifiers, name)


def _own(name: str) -> Callable:
    """The function behind "module:function" or "file.py:function"; ValueError says which half is not there."""
    home, _, function = name.rpartition(":")
    try:
        found = runpy.run_path(home) if home.endswith(".py") else vars(importlib.import_module(home))
    except (ImportError, OSError) as error:
        raise ValueError(f"verifier {name!r}: {home} cannot be read: {error}") from error
    if not callable(found.get(function)):
        raise ValueError(f"verifier {name!r}: {home} holds no function {function!r}")
    return found[function]


def print_report(report: CaseReport, console: Console | None = None, *, rows: int = 20) -> None:
    """The report as tables; at most `rows` failing rows."""
    console = console or Console()
    table = Table(title=f"{report.verifier}: {report.n} cases", title_justify="left")
    table.add_column("label")
    table.add_column("accepted", justify="right")
    table.add_column("rejected", justify="right")
    for label in (True, False):
        table.add_row("right" if label else "wrong", *(str(report.confusion[label, v]) for v in (True, False)))
    console.print(table)
    for label, title in ((False, "false positives"), (True, "false negatives")):
        console.print(f"{title}: {_rate(*report.error_rate(label))}")
    console.print(f"failing rows: {len(report.failures)}")
    if report.failures:
        console.print(_failing(report.failures[:rows]))
    if len(report.failures) > rows:
        console.print(f"and {len(report.failures) - rows} more")


def _rate(errors: int, cases: int) -> str:
    from grpo_lessons.evaluation import wilson_interval  # above this package, and needed for printing only

    if cases == 0:
        return "no such case"
    low, high = wilson_interval(errors, cases)
    return f"{errors} of {cases}, {errors / cases:.1%} [{low:.1%}, {high:.1%}]"


def _failing(failures: list[Failure]) -> Table:
    table = Table(title="failing rows", title_justify="left")
    for column in ("id", "completion", "arguments", "label", "verdict"):
        table.add_column(column, overflow="fold")
    for failure in failures:
        case = failure.case
        shown = (str(case.get("id", "")), repr(case["completion"])[:120], json.dumps(case.get("arguments", {}))[:80])
        label = f"{case['reward']:g} {case.get('reason', '')}"
        table.add_row(*shown, label, f"{failure.reward:g} {failure.reason}")
    return table
