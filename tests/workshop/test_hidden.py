"""The hidden inputs pass every right answer, whoever wrote it, and fail every known wrong one and every table.

Right answers come from three hands: the checks', the solution notebooks', and `ANOTHER_HAND` of the checks' tests.
"""

import resource
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import torch
from check.test_hints import ANOTHER_HAND, EXERCISES

from grpo_lessons.check.tasks_of_others import Products
from grpo_lessons.verifiers import Verdict
from grpo_lessons.workshop.hidden import hidden_exercise, judge, names

SOLUTIONS = Path(__file__).parents[2] / "notebooks/solutions"

# The same question as in the lesson, since there are no others of its kind. A table of names is the right answer.
CLOSED = {"02.break_museum", "10.diagnosis"}

# Wrong implementations, by their place in Exercise.wrong, that are right wherever the visible check does not look.
RIGHT_ELSEWHERE = {
    "10.group_size": [6],  # `<=` for `<`: differs at a pass rate of exactly one half only
    "15.suite_reward": [0],  # an empty suite is paid: there is one empty suite in time, and the check has it
}


def plain(value):
    """A value that == compares: tensors as their shape, type and numbers as text, since NaN is not equal to itself."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), str(value.dtype), str(value.tolist())
    return [plain(part) for part in value] if isinstance(value, tuple | list) else value


def test_every_exercise_of_the_checks_has_hidden_inputs_and_no_other_has():
    assert sorted(names()) == sorted(EXERCISES)


@pytest.mark.parametrize("name", EXERCISES)
def test_at_least_two_and_none_twice(name):
    inputs = [plain(args) for args in hidden_exercise(name).inputs]
    assert len(inputs) >= 2 and all(args not in inputs[:i] for i, args in enumerate(inputs))


@pytest.mark.parametrize("name", [name for name in EXERCISES if name not in CLOSED])
def test_none_is_a_visible_one(name):
    visible = [plain(args) for args in EXERCISES[name].inputs]
    assert not [args for args in hidden_exercise(name).inputs if plain(args) in visible]


@pytest.mark.parametrize("name", EXERCISES)
def test_the_right_implementation_passes_again_and_again_within_a_second_of_processor_time(name):
    before = processor_time()
    assert judge(name, EXERCISES[name].right), judge(name, EXERCISES[name].right).message
    assert processor_time() - before < 1
    assert judge(name, EXERCISES[name].right)


def processor_time():
    """Seconds of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@pytest.mark.parametrize("name", EXERCISES)
def test_a_right_answer_by_another_hand_passes(name):
    assert judge(name, ANOTHER_HAND[name]), judge(name, ANOTHER_HAND[name]).message


@pytest.mark.parametrize("path", sorted(SOLUTIONS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_solutions_pass(path: Path):
    """Imports and exercise cells of a solution notebook, with hidden checks in place of the visible ones."""
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    solved = [cell for cell in cells if "exercise" in cell.metadata.get("grpo_lessons", {})]
    space = {}
    exec(cells[0].source, space)
    space["check"] = hidden_checks()
    for cell in solved:
        exec(cell.source, space)  # ends with `assert check.lesson04.masked_mean(my_masked_mean)`
    assert len(solved) >= 2


def hidden_checks():
    """Looks like `grpo_lessons.check`, judges by hidden inputs."""
    check = SimpleNamespace()
    for name in names():
        lesson, _, exercise = name.partition(".")
        module = f"lesson{lesson}" if lesson.isdigit() else f"side_{lesson}"
        lesson_checks = vars(check).setdefault(module, SimpleNamespace())
        setattr(lesson_checks, exercise, partial(judge, name))
    return check


@pytest.mark.parametrize("name", EXERCISES)
def test_each_known_wrong_answer_fails_with_its_own_hint(name):
    passed = []
    for i, (function, hint) in enumerate(EXERCISES[name].wrong):
        result = judge(name, function)
        if result:
            passed.append(i)
        elif name != "10.diagnosis":  # whose hint lists the runs in the order in which they were asked for
            assert (result.status, result.message) == ("wrong", hint)
    assert passed == RIGHT_ELSEWHERE.get(name, [])


@pytest.mark.parametrize("name", [name for name in EXERCISES if name not in (*CLOSED, "18.own_task")])
def test_a_table_of_the_visible_answers_fails_whatever_it_says_elsewhere(name):
    shown = arguments_of_visible_calls(name)
    tables = [table(name, shown, elsewhere) for elsewhere in shown]
    assert EXERCISES[name](tables[0])
    assert not any(judge(name, by_heart) for by_heart in tables)


def arguments_of_visible_calls(name):
    """The arguments with which the visible check calls a function."""
    calls = []
    EXERCISES[name](lambda *args: calls.append(args))
    return calls


def table(name, shown, elsewhere):
    """Right where the arguments are among those shown; on any other the answer to `elsewhere`."""
    keys = [plain(args) for args in shown]
    return lambda *args: EXERCISES[name].right(*(args if plain(args) in keys else elsewhere))


@pytest.mark.parametrize("elsewhere", [Verdict(1.0, "correct"), Verdict(0.0, "wrong")])
def test_a_task_that_knows_the_visible_completions_by_heart_fails(elsewhere):
    known = {}

    class Recorded(Products):
        def verify(self, completion, problem):
            return known.setdefault((completion, problem.answer), super().verify(completion, problem))

    class ByHeart(Products):
        def verify(self, completion, problem):
            return known.get((completion, problem.answer), elsewhere)

    assert EXERCISES["18.own_task"](Recorded) and EXERCISES["18.own_task"](ByHeart)
    assert judge("18.own_task", ByHeart).status == "wrong"


@pytest.mark.parametrize("name", EXERCISES)
def test_an_empty_stub_is_not_done(name):
    assert {judge(name, stub).status for stub in (lambda *args: None, lambda *args: ..., None, ...)} == {"todo"}


def raises(*args):
    raise RuntimeError("half written")


@pytest.mark.parametrize("name", EXERCISES)
def test_a_broken_function_is_wrong_and_stops_nothing(name):
    too_many = lambda a, b, c, d, e, f, g, h, i: a  # noqa: E731
    assert {judge(name, broken).status for broken in (raises, too_many, lambda *args: object(), 3)} == {"wrong"}


@pytest.mark.parametrize("name", ["04.no_such", "19.masked_mean", "masked_mean", "ppo", "", "base.Exercise"])
def test_an_unknown_name_says_which_exist(name):
    with pytest.raises(ValueError, match=r"there is no exercise .*; there are 01\.group_advantages, .*04\.masked_mean"):
        judge(name, len)
