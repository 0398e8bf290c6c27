"""From a verifier to a reward function with TRL's signature, and from several to a weighted sum.

A reward function is called as `f(prompts=..., completions=..., completion_ids=..., **columns)` and returns one
float, or None for "not scored", per completion, in order (TRL 1.x, GRPOTrainer).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

Rewards = list[float | None]


def completion_text(completion: Any) -> Any:
    """The text of a completion: a string as it is, of chat messages the content of the last assistant's one.

    When a tool spoke last there is no answer yet: "". Anything else is returned as it came, for the verifier
    to call "not_text".
    """
    if isinstance(completion, dict):
        completion = [completion]
    if not isinstance(completion, (list, tuple)) or not all(isinstance(m, dict) for m in completion):
        return completion
    last = completion[-1] if completion else {}
    content = last.get("content") if last.get("role", "assistant") == "assistant" else None
    if isinstance(content, (list, tuple)):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


class RewardFunction:
    """What `reward_function` returns: callable, named, and picklable if its verifier is."""

    def __init__(self, verify: Callable, column_map: dict[str, str]):
        self.verify = verify
        self.column_map = column_map
        self.__name__ = getattr(verify, "__name__", None) or getattr(verify, "func", verify).__name__
        _check_arguments(verify, self.__name__, column_map)

    def verdicts(self, completions: Sequence, **columns: Any) -> list[Any]:
        """What the verifier returns for each completion; None where a mapped column holds None."""
        arguments = {name: self._column(column, columns, len(completions)) for name, column in self.column_map.items()}
        rows = [dict(zip(arguments, values, strict=True)) for values in zip(*arguments.values(), strict=True)]
        return [
            None if any(value is None for value in row.values()) else self.verify(completion_text(completion), **row)
            for completion, row in zip(completions, rows or [{}] * len(completions), strict=True)
        ]

    def __call__(self, prompts: Sequence | None = None, completions: Sequence = (), **columns: Any) -> Rewards:
        return [_reward(verdict) for verdict in self.verdicts(completions, **columns)]

    def _column(self, name: str, columns: dict[str, Any], rows: int) -> Sequence:
        if name not in columns:
            raise ValueError(
                f"{self.__name__} reads the column {name!r}, which was not given; columns given: "
                f"{', '.join(sorted(columns)) or 'none'}. Name another one in reward_function({self.__name__}, ...), "
                "or keep the column in the dataset"
            )
        values = columns[name]
        if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__len__") or len(values) != rows:
            raise ValueError(
                f"the column {name!r} must hold one value for each of the {rows} completions; given was {values!r:.80}"
            )
        return values


def reward_function(verify: Callable, **column_map: str) -> RewardFunction:
    """A reward function with TRL's signature out of a verifier.

    `reward_function(verify_integer, expected="answer")` reads the verifier's argument `expected` from the dataset
    column `answer`. Options of the verifier are bound with `functools.partial`. Completions may be strings or
    chat messages; columns that no argument asks for are ignored; a row with None in a mapped column gets None.
    The verifier may return a Verdict, a number, a bool (`has_format`) or None.
    Raises TypeError if the verifier has no such argument or one that it requires is not mapped, and ValueError,
    when called, if a mapped column is missing or has the wrong length.
    """
    return RewardFunction(verify, column_map)


def _check_arguments(verify: Callable, name: str, column_map: dict[str, str]) -> None:
    _completion, *others = inspect.signature(verify).parameters.values()
    known = [p.name for p in others if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [p.name for p in others if p.default is p.empty and p.name in known]
    if unknown := sorted(set(column_map) - set(known)):
        raise TypeError(f"{name} has no argument {', '.join(unknown)}; its arguments: {', '.join(known) or 'none'}")
    if missing := [p for p in required if p not in column_map]:
        raise TypeError(f"{name} needs {', '.join(missing)}; say which column holds it: {missing[0]}='a column'")


def _reward(verdict: Any) -> float | None:
    return None if verdict is None else float(getattr(verdict, "reward", verdict))


class WeightedSum:
    """What `weighted_sum` returns: a reward function, with `parts` for the log."""

    def __init__(self, parts: dict[str, tuple[float, Callable]]):
        if not parts:
            raise ValueError("weighted_sum needs at least one part, such as correct=(1.0, reward)")
        self.weights = {name: float(weight) for name, (weight, _) in parts.items()}
        self.functions = {name: function for name, (_, function) in parts.items()}
        self.__name__ = "_plus_".join(parts)

    def parts(self, prompts: Sequence | None = None, completions: Sequence = (), **columns: Any) -> dict[str, Rewards]:
        """Each part's rewards before weighting, by name."""
        functions = self.functions.items()
        return {name: function(prompts=prompts, completions=completions, **columns) for name, function in functions}

    def __call__(self, prompts: Sequence | None = None, completions: Sequence = (), **columns: Any) -> Rewards:
        parts = self.parts(prompts, completions, **columns)
        if log_metric := columns.get("log_metric"):
            for name, values in parts.items():
                scored = [value for value in values if value is not None]
                if scored:
                    log_metric(f"reward_parts/{name}", sum(scored) / len(scored))
        return [self._total(dict(zip(parts, row, strict=True))) for row in zip(*parts.values(), strict=True)]

    def _total(self, row: dict[str, float | None]) -> float | None:
        scored = [self.weights[name] * value for name, value in row.items() if value is not None]
        return sum(scored) if scored else None


def weighted_sum(**parts: tuple[float, Callable]) -> WeightedSum:
    """sum_k w_k r_k over named parts: `weighted_sum(correct=(1.0, f), format=(0.1, g), brief=(0.2, h))`.

    Each part is a reward function with TRL's signature. A part that returns None for a row adds nothing to it; a
    row that no part scored gets None (TRL sums in the same way). `.parts(...)` gives each part apart; when TRL
    hands over its `log_metric`, the mean of each part is logged as `reward_parts/<name>`.
    """
    return WeightedSum(parts)
