"""Checks of lesson 14: truth tables as integers, consistency, and puzzles that are the same up to renaming."""

from itertools import permutations

from grpo_lessons.check.base import Exercise

EVERYWHERE = 0b1111  # four worlds: nobody, A, B, both are knights
A, B = 0b1010, 0b1100


def _combine(kind, a, b):
    return {"and": a & b, "or": a | b, "if": EVERYWHERE ^ a | b, "iff": EVERYWHERE ^ a ^ b}[kind]


def _with(**changed):
    """A wrong implementation that differs for some kinds."""
    return lambda kind, a, b: changed[kind](a, b) if kind in changed else _combine(kind, a, b)


truth_table = Exercise(
    name="14.truth_table",
    todo="return the integer whose bit w says whether the connective is true in world w.",
    right=_combine,
    inputs=(
        ("and", A, B),
        ("or", A, B),
        ("if", A, B),
        ("iff", A, B),
        ("if", B, A),
        ("iff", A, EVERYWHERE ^ B),
        ("or", 0, A),
        ("if", EVERYWHERE, 0),
    ),
    wrong=(
        (
            _with(**{"if": lambda a, b: ~a | b, "iff": lambda a, b: ~(a ^ b)}),
            "in Python `~` makes a negative number with endless ones: cut it to the four worlds with `& 0b1111`.",
        ),
        (
            _with(**{"if": lambda a, b: a & b}),
            "'if A then B' says nothing about worlds in which A is false, so it is true there.",
        ),
        (
            _with(**{"if": lambda a, b: EVERYWHERE ^ b | a}),
            "the implication is the wrong way round: it is false only where A is true and B is not.",
        ),
        (
            _with(iff=lambda a, b: a ^ b),
            "`^` is 1 where the two differ; 'if and only if' is true where they agree.",
        ),
        (_with(iff=lambda a, b: a & b), "'if and only if' is also true where both are false."),
        (_with(**{"or": lambda a, b: a ^ b}), "'or' here is the inclusive one: it is true where both are, too."),
    ),
)


def _fits(knights, truths):
    return list(knights) == list(truths)


consistent = Exercise(
    name="14.consistent",
    todo="return True if every person is a knight exactly where that person's statement is true.",
    right=_fits,
    inputs=(
        ([True, False], [True, False]),
        ([True, False], [True, True]),
        ([True, True], [True, True]),
        ([False, False], [False, False]),
        ([True, False], [False, False]),
        ([True, False, True], [True, True, False]),
        ([False, True], [True, False]),
    ),
    wrong=(
        (
            lambda knights, truths: all(truths),
            "this asks that everything said is true: knaves lie, so what they say must be false.",
        ),
        (
            lambda knights, truths: all(t for k, t in zip(knights, truths, strict=True) if k),
            "the knights are checked and the knaves are not: a knave who says something true does not fit either.",
        ),
        (
            lambda knights, truths: not any(t for k, t in zip(knights, truths, strict=True) if not k),
            "the knaves are checked and the knights are not.",
        ),
        (
            lambda knights, truths: knights[0] == truths[0],
            "only the first speaker is looked at; all of them must fit.",
        ),
        (
            lambda knights, truths: sum(knights) == sum(truths),
            "counting is not enough: each person must fit their own statement.",
        ),
    ),
)


def _renamed(statements, order):
    moved = sorted((order[i], (role, order[about])) for i, (role, about) in enumerate(statements))
    return [statement for _, statement in moved]


def _same(p, q):
    return any(_renamed(p, order) == list(q) for order in permutations(range(len(p)))) if len(p) == len(q) else False


LIAR_RING = [("knave", 1), ("knave", 2), ("knave", 0)]
same_puzzle = Exercise(
    name="14.same_puzzle",
    todo="return True if some renaming of the people turns the first list of statements into the second.",
    right=_same,
    inputs=(
        ([("knave", 1), ("knight", 0)], [("knight", 1), ("knave", 0)]),
        ([("knave", 1), ("knight", 0)], [("knave", 1), ("knight", 0)]),
        ([("knave", 1), ("knave", 0)], [("knave", 1), ("knight", 0)]),
        (LIAR_RING, [("knave", 2), ("knave", 0), ("knave", 1)]),
        (LIAR_RING, [("knave", 1), ("knave", 2), ("knave", 1)]),
        ([("knight", 1), ("knave", 2), ("knave", 1)], [("knave", 1), ("knave", 0), ("knight", 1)]),
        ([("knave", 1), ("knave", 0)], LIAR_RING),
        ([("knave", 1), ("knight", 0)], [("knave", 0), ("knight", 1)]),
    ),
    wrong=(
        (lambda p, q: p == q, "this compares the puzzles as they are; a renaming may stand between them."),
        (
            lambda p, q: sorted(p) == sorted(q),
            "sorting moves the speakers but leaves the numbers inside the statements: rename both.",
        ),
        (
            lambda p, q: sorted(role for role, _ in p) == sorted(role for role, _ in q),
            "who is spoken about counts too, not only what is said.",
        ),
        (
            lambda p, q: any([(r, o[i]) for r, i in p] == list(q) for o in permutations(range(len(p)))),
            "the people inside the statements are renamed, but the speakers stay where they were: person i becomes "
            "order[i] everywhere.",
        ),
    ),
)
