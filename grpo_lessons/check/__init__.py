"""Self-checks for the exercises, and the guesses that a reader writes down before running a cell.

`check.lesson01.group_advantages(my_function)` answers at once: passed, not done yet, or a hint that names the
fault. `check.predict("04.length", 30)`, later `check.reveal("04.length", actual)`. Lessons load on first use.
"""

import re
from importlib import import_module

from grpo_lessons.check.predictions import predict, predictions, reveal

__all__ = ["faults", "predict", "predictions", "reveal"]


def __getattr__(name):
    if name in ("faults", "side_ppo", "side_countdown") or re.fullmatch(r"lesson\d\d", name):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"grpo_lessons.check has no {name!r}; checks are named lesson01, ..., side_ppo, side_countdown"
    )
