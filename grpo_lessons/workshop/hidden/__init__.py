"""Hidden tests: every exercise on inputs that neither the lesson nor its visible check shows. For grading.

`judge("04.masked_mean", my_masked_mean)` runs the exercise of `grpo_lessons.check` on the inputs of `lesson04.py`
beside this file, prints the same kind of answer as the visible check, and returns its Result.

What "hidden" means: an assignment does not show these inputs. They are no secret, since the repository holds
them (a bundle made with `--without-solutions` does not). They catch a table of the visible answers and a rule that
holds for the visible sizes and signs only. Who needs more changes numbers in the copy that grades, and runs
tests/workshop/test_hidden.py, which says whether they still tell right from wrong.

What the answer shows: where a mistake is not a known one, the message shows the hidden input, what was expected and
what came, like the visible check. It is read after grading, in the feedback, when there is nothing left to guess.

Three questions are the same here, since no others of their kind exist: "02.break_museum" asks for the same exhibits in
another order, "10.diagnosis" for the same seven runs, and "18.own_task" draws other problems from the student's task.
"""

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from grpo_lessons.check.base import Exercise, Result

__all__ = ["hidden_exercise", "judge", "names"]

MODULES = tuple(sorted(module.name for module in iter_modules(__path__)))  # named like those of grpo_lessons.check


def judge(name: str, function) -> Result:
    """The answer to a student's function for the exercise `name`, such as "04.masked_mean"; it never raises for one.

    Result.status is "passed", "todo" (an empty stub) or "wrong". Raises ValueError for a name that does not exist.
    """
    return hidden_exercise(name)(function)


def hidden_exercise(name: str) -> Exercise:
    """The exercise of the check with the hidden inputs in place of its own; ValueError for an unknown name."""
    lesson, _, attribute = name.partition(".")
    module = f"lesson{lesson}" if lesson.isdigit() else f"side_{lesson}"
    inputs = _inputs(module) if module in MODULES else {}
    if name not in inputs:
        raise ValueError(f"there is no exercise {name!r} with hidden tests; there are {', '.join(names())}")
    return replace(getattr(import_module(f"grpo_lessons.check.{module}"), attribute), inputs=inputs[name])


def names() -> list[str]:
    """The names of all exercises with hidden tests: lessons in order, then side roads."""
    return [name for module in MODULES for name in _inputs(module)]


def _inputs(module: str) -> dict[str, tuple[tuple, ...]]:
    return import_module(f"{__name__}.{module}").INPUTS
