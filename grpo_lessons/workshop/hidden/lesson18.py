"""Hidden inputs of lesson 18: other counts, lengths and facts, and other problems of the student's own task."""

# a limit of 96: one completion ended just there, two did not end
LENGTHS = [40, 96, 17, 96, 55, 61, 33, 96, 48, 52, 20, 38, 44, 29, 70, 66]
FINISHED = [True, False, True, True, True, True, True, False, *[True] * 8]
SHORT = [9, 5, 7, 5, 6, 8, 5, 11]

FACTS = (
    {
        "task": "sums in Roman numerals",
        "verifier": "verify_text",
        "before": 0.0,
        "after": 0.563,
        "low": 0.512,
        "high": 0.609,
        "n": 400,
        "tokens": 96,
        "steps": 200,
        "runs": 2,
    },
    {
        "task": "anagrams",
        "verifier": "verify_letters",
        "before": 0.333,
        "after": 0.29,
        "low": 0.241,
        "high": 0.349,
        "n": 310,
        "tokens": 18,
        "steps": 120,
        "runs": 1,
    },
)

INPUTS = {
    "18.dead_share": (([0, 1, 12, 7], 12, 3), ([5], 10, 2), ([2, 2, 9], 10, 5), ([7, 0, 7], 7, 7)),
    "18.budget": (
        (LENGTHS, FINISHED, 0.25),
        (LENGTHS, FINISHED, 0.125),
        (LENGTHS, FINISHED, 0.0625),
        (SHORT, [True] * 8, 0.0),
        (SHORT, [True] * 8, 0.5),
        (SHORT, [True] * 7 + [False], 0.0),
    ),
    "18.own_task": ((11,), (12,)),  # the seed with which problems are drawn
    "18.sentence": tuple((facts,) for facts in FACTS),
}
