"""Hidden inputs of the side road on countdown: zeros and equal numbers, other expressions and rates."""

INPUTS = {
    "countdown.values_of_two": ((7, 3), (6, 3), (1, 1), (9, 0), (0, 0), (10, 4)),
    "countdown.uses_numbers": (
        ("25*(3-1)", [1, 3, 25]),
        ("1+23", [12, 3]),
        ("12*3+4", [1, 2, 3, 4]),
        ("7*7-7", [7, 7]),
        ("7*7", [7, 7, 7]),
        ("(10+10)/5", [5, 10, 10]),
        ("10/5", [5, 10, 10]),
        ("6*4*4", [4, 6, 6]),
        ("100-(20+3)*4", [3, 4, 20, 100]),
    ),
    "countdown.group_size": ((0.1, 0.9), (0.6, 0.99), (0.002, 0.5), (0.5, 0.75), (0.85, 0.8), (0.4, 0.3)),
}
