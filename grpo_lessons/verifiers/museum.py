r"""A museum of broken verifiers. Do not use them: each shows one fault that real reward functions have had.

Only the lessons, their checks and the tests import this module. Every exhibit takes (completion, expected) and returns
a bool; its docstring names an input that it gets wrong.
"""

from __future__ import annotations

import re
import subprocess
import sys


def substring_match(completion: str, expected: str) -> bool:
    """Fault: a mention is not an answer. "I considered 42, my answer is 40" passes for 42, and so does "142"."""
    return str(expected) in completion


def dot_without_newline(completion: str, expected: str) -> bool:
    r"""Fault: "." does not match a line break without re.DOTALL. "<answer>\n42\n</answer>" fails for 42."""
    found = re.search(r"<answer>(.*)</answer>", completion)
    return found is not None and found.group(1).strip() == str(expected)


def dollar_with_multiline(completion: str, expected: str) -> bool:
    r"""Fault: with re.MULTILINE, "$" ends a line, not the text. "<answer>42</answer>\nor 43, who knows" passes."""
    return re.search(rf"<answer>{re.escape(str(expected))}</answer>$", completion, re.MULTILINE) is not None


def isdigit_integer(completion: str, expected: int) -> bool:
    """Fault: isdigit is no test for what int() reads. "-5" fails for -5; "4²" passes the test, then int() raises."""
    text = completion.removeprefix("<answer>").removesuffix("</answer>").strip()
    return text.isdigit() and int(text) == expected


def float_equality(completion: str, expected: str) -> bool:
    """Fault: floats round. "9007199254740993" passes for 9007199254740992; "0.30" fails for 0.1 + 0.2."""
    text = completion.removeprefix("<answer>").removesuffix("</answer>")
    try:
        return float(text) == float(expected)
    except ValueError:
        return False


def absolute_tolerance(completion: str, expected: str) -> bool:
    """Fault: 0.001 is nothing beside 29 and everything beside 0.0001. "0" passes for 0.0001."""
    text = completion.removeprefix("<answer>").removesuffix("</answer>")
    try:
        return abs(float(text) - float(expected)) < 0.001
    except ValueError:
        return False


def filtered_eval(completion: str, expected: int, numbers: tuple[int, ...] = (), time_limit_s: float = 1.0) -> bool:
    """Fault: a list of harmless characters is not a harmless language. It lets through

    - "2.5*4", which passes for 10 with the numbers 2, 5, 4 although nobody may write 2.5;
    - "9**9**9", 370 million digits long, which holds its process until somebody kills it.

    The real ones call eval() in the training process. This one does so in a process of its own, without names,
    without builtins and with a time limit, so that the second fault costs a second instead of the run.
    """
    text = completion.removeprefix("<answer>").removesuffix("</answer>")
    if not re.fullmatch(r"[0-9+\-*/(). ]+", text):
        return False
    if sorted(map(int, re.findall(r"[0-9]+", text))) != sorted(numbers):
        return False
    program = (
        f"import sys; sys.set_int_max_str_digits(640); print(eval({text!r}, {{'__builtins__': {{}}}}) == {expected:d})"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=time_limit_s
        )
    except subprocess.TimeoutExpired:
        return False
    return done.stdout.strip() == "True"
