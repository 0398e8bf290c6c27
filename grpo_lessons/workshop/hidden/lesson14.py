"""Hidden inputs of lesson 14: other tables, one and four people, puzzles of four."""

EVERYWHERE = 0b1111
A, B = 0b1010, 0b1100

CHAIN = [("knave", 1), ("knight", 2), ("knave", 3), ("knight", 0)]
PAIRS = [("knave", 1), ("knight", 0), ("knave", 3), ("knight", 2)]

INPUTS = {
    "14.truth_table": (
        ("and", EVERYWHERE ^ A, B),
        ("or", A, EVERYWHERE),
        ("or", EVERYWHERE ^ A, B),
        ("if", B, B),
        ("if", EVERYWHERE ^ A, B),
        ("if", 0b0001, 0b0110),
        ("iff", 0, B),
        ("iff", 0b0111, 0b0101),
        ("and", 0, EVERYWHERE),
        ("iff", 0, 0),
    ),
    "14.consistent": (
        ([True], [True]),
        ([False], [True]),
        ([True], [False]),
        ([False, True, False], [False, True, False]),
        ([False, False, True, True], [False, True, True, False]),
        ([True, True, False], [True, True, True]),
        ([True, False, True], [True, False, False]),
        ([False, False, False, False], [False, False, False, False]),
    ),
    "14.same_puzzle": (
        (CHAIN, [("knight", 1), ("knave", 2), ("knight", 3), ("knave", 0)]),
        (CHAIN, PAIRS),
        (PAIRS, [("knave", 2), ("knight", 3), ("knave", 0), ("knight", 1)]),
        (CHAIN, [("knight", 3), ("knave", 0), ("knight", 1), ("knave", 2)]),
        (PAIRS, [("knave", 3), ("knave", 2), ("knight", 1), ("knight", 0)]),
        (PAIRS, [("knave", 1), ("knave", 0), ("knight", 3), ("knight", 2)]),
        ([*CHAIN[:3], ("knight", 1)], CHAIN),
        ([("knight", 1), ("knight", 0)], [("knight", 1), ("knight", 0)]),
        ([("knight", 1), ("knight", 2), ("knave", 0)], [("knave", 1), ("knight", 2), ("knight", 0)]),
        ([("knight", 1), ("knight", 0)], [("knight", 1), ("knight", 0), ("knight", 0)]),
    ),
}
