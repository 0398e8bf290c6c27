"""Guesses written down before a cell runs, and what came out: one small JSON file of the reader's own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grpo_lessons.runlog import replace_file

FOLDER = ".progress"


def predict(key: str, guess: Any) -> None:
    """Keep a guess, such as `predict("04.length", 30)`; `...` stands for one that is still to come.

    A second guess for the same key replaces the first. Nothing is raised where the folder cannot be written.
    """
    if guess is ... or guess is None:
        print(f"{key}: write your guess in place of the dots, then run this cell again. A wrong guess teaches more.")
        return
    kept = _keep(key, {"guess": _plain(guess)})
    print(f"{key}: your guess {guess} is kept." if kept else f"{key}: this folder is read-only; note {guess} on paper.")


def reveal(key: str, actual: Any) -> None:
    """Print what came out beside the guess, and keep it for the calibration plot of the last lesson."""
    actual = _plain(actual)
    guess = _load().get(key, {}).get("guess")
    if guess is None:
        print(f"{key}: it is {_round(actual)}. You wrote no guess down.")
        return
    _keep(key, {"guess": guess, "actual": actual})
    print(f"{key}: you guessed {_round(guess)}, it is {_round(actual)}.")


def predictions():
    """DataFrame of the guesses whose outcome is known: key, guess, actual."""
    import pandas as pd

    rows = [{"key": key, **entry} for key, entry in sorted(_load().items()) if "actual" in entry]
    return pd.DataFrame(rows, columns=["key", "guess", "actual"])


def location() -> Path:
    """Where guesses are kept: GRPO_LESSONS_PROGRESS names the folder, else the nearest `.progress` upwards.

    Without one it is made beside the nearest pyproject.toml upwards, so that all lessons of one copy of the
    course share it, or in the working directory.
    """
    named = os.environ.get("GRPO_LESSONS_PROGRESS")
    if named:
        return Path(named) / "predictions.json"
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / FOLDER).is_dir() or (folder / "pyproject.toml").is_file():
            return folder / FOLDER / "predictions.json"
    return here / FOLDER / "predictions.json"


def _load() -> dict[str, dict]:
    try:
        entries = json.loads(location().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {k: v for k, v in entries.items() if isinstance(v, dict)} if isinstance(entries, dict) else {}


def _keep(key: str, entry: dict) -> bool:
    return save(location, _load() | {key: entry})


def save(place: Callable[[], Path], content: dict) -> bool:
    """Write JSON to a file of the reader's own, whole or not at all; False where that is not possible."""
    try:
        path = place()
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    except OSError:
        return False
    return True


def _plain(value: Any) -> Any:
    """Numbers of numpy and torch as Python's own; anything that JSON does not know as text."""
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, str | int | float | bool) else str(value)


def _round(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
