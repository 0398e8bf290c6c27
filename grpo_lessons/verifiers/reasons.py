"""The one table of reason codes."""

from __future__ import annotations

REASONS: dict[str, str] = {
    # the answer
    "correct": "the answer equals the expected one",
    "wrong": "the answer was read and is another one",
    # extraction
    "not_text": "the completion is not a string",
    "no_answer": "no complete answer block, or an empty one",
    "two_answers": "more than one opening or closing answer tag",
    "trailing_text": "something other than white space and end strings follows the answer block",
    # reading
    "unreadable": "the answer is not in a form that this verifier reads; nothing is guessed",
    "too_long": "the answer, a number in it or its exponent exceeds the limit; nothing was converted",
    # countdown
    "wrong_numbers": "a number was used that was not given, or too often, or one that must be used is left out",
    "false_claim": "the answer claims an equality that does not hold",
    "division_by_zero": "the expression divides by zero",
    # knights and knaves
    "contradiction": "a person was called both a knight and a knave",
    "missing_person": "a person was given no role",
    # mathematics and code
    "unsafe": "the answer holds something that is never evaluated",
    "timeout": "the time limit of one verdict was reached",
    "memory": "the memory limit was reached",
    "syntax_error": "the program does not compile",
    "error": "the program, or a call of it, raised an exception or returned something that is not a plain value",
    "exited": "the program's process ended before it had answered",
    "too_much_output": "the program wrote more than its limit",
    "bad_expected": "the expected answer itself cannot be read (a warning says so): a fault of the data set",
}
