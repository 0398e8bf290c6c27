"""Hidden inputs of lesson 17: negative sums, more processes, groups longer than a process's share."""

INPUTS = {
    "17.whole_mean": (
        ([-6.0, 2.0], [1, 9]),
        ([0.0, 0.0, 7.0], [0, 0, 2]),
        ([2.0, 4.0, -1.0, 3.0], [4, 4, 12, 20]),
        ([-2.5], [10]),
    ),
    "17.split_groups": ((5, 6, 3), (1, 8, 4), (8, 4, 2), (2, 9, 3), (7, 2, 7), (9, 4, 6)),
    "17.training_states": (
        (70, 16, "zero2"),
        (70, 16, "zero3"),
        (3, 2, "ddp"),
        (0.5, 4, "zero3"),
        (13, 1, "zero2"),
    ),
}
