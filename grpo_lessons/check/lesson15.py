"""Checks of lesson 15: a test that is split, a reward from tests, and a program that cheats a weak suite."""

import ast

from grpo_lessons.check.base import Exercise, is_empty
from grpo_lessons.verifiers import verify_code


def _split(text):
    comparison = ast.parse(text).body[0].test
    return ast.unparse(comparison.left), ast.literal_eval(comparison.comparators[0])


def _by_text(text):
    return text.removeprefix("assert ").split(" == ")


split_test = Exercise(
    name="15.split_test",
    todo="return the call as text and the expected value as a Python value, from 'assert f(3) == 7'.",
    right=_split,
    inputs=(
        ("assert f(3) == 7",),
        ("assert f(1, 2) == [1, 2]",),
        ("assert f('a == b') == True",),
        ("assert f('x') == 'y == z'",),
        ("assert f(0)  ==  -1",),
    ),
    wrong=(
        (
            lambda text: (_split(text)[0], repr(_split(text)[1])),
            "it is still text: '7' never equals the 7 that a program returns; ast.literal_eval reads it.",
        ),
        (
            lambda text: (_by_text(text)[0], ast.literal_eval(_by_text(text)[1])),
            "splitting the text at '==' breaks where '==' stands inside a string: let ast.parse find the comparison.",
        ),
        (lambda text: _split(text)[::-1], "call and value are exchanged."),
        (lambda text: ("assert " + _split(text)[0], _split(text)[1]), "the word assert is not part of the call."),
    ),
)


def _reward(passed, timed_out):
    return float(bool(passed) and all(passed) and not timed_out)


suite_reward = Exercise(
    name="15.suite_reward",
    todo="return 1.0 if there are tests, all of them passed and nothing timed out, else 0.0.",
    right=_reward,
    inputs=(
        ([True, True, True], False),
        ([True, False, True], False),
        ([True, True], True),
        ([], False),
        ([False, False], False),
        ([True], False),
    ),
    wrong=(
        (
            lambda passed, timed_out: float(all(passed) and not timed_out),
            "all([]) is True in Python: an empty suite would pay every program.",
        ),
        (
            lambda passed, timed_out: float(bool(passed) and all(passed)),
            "a program that ran out of time earns nothing, whatever passed before.",
        ),
        (
            lambda passed, timed_out: sum(passed) / max(1, len(passed)) * (not timed_out),
            "this pays the share that passed: a table of the shown examples would earn part of it.",
        ),
        (
            lambda passed, timed_out: float(any(passed) and not timed_out),
            "one passing test is not enough: a constant passes one test easily.",
        ),
    ),
)


def _verdicts(function, visible, hidden):
    """What a suite of the visible pairs says about the reader's program, and what one of the hidden pairs says."""
    source = function(visible)
    if is_empty(source):
        return source
    program = f"<answer>{source}</answer>"
    share = verify_code(program, visible, function="f", reward="share").reward
    return {
        "it compiles": verify_code(program, [], reward="compiles").reward == 1.0,
        "share of the visible tests that pass": share,
        "it passes the hidden tests": verify_code(program, hidden, function="f").reward == 1.0,
    }


cheat = Exercise(
    name="15.cheat",
    todo="return the text of a program that defines f, passes exactly the pairs it is given, and knows no more.",
    right=lambda visible: f"def f(x): return {dict(visible)}[x]",
    inputs=(
        ([(0, 2), (1, 5), (3, 11)], [(2, 8), (10, 32)]),
        ([(0, 1), (1, 4), (2, 13)], [(-3, 28), (7, 148)]),
    ),
    wrong=(
        (
            lambda visible: f"f = {dict(visible)}",
            "f must be something that can be called: put the table inside `def f(x): return ...`.",
        ),
        (
            lambda visible: f"def f(x): return {visible[1][1] - visible[0][1]}*x+{visible[0][1]}",
            "that is an honest attempt to find the function. A cheat looks x up in a table of the examples.",
        ),
        (
            lambda visible: f"def f(x): return {visible[0][1]}",
            "a constant passes one example; the cheat has to pass them all.",
        ),
        (
            lambda visible: f"<answer>def f(x): return {dict(visible)}[x]</answer>",
            "the program alone, please; the check puts the answer tags around it.",
        ),
    ),
    measure=_verdicts,
)
