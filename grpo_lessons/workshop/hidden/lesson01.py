"""Hidden inputs of lesson 01: groups of other sizes, negative rewards, an equal group with a reward missing."""

import torch

NAN = float("nan")
FIVE = torch.tensor([[2.0, 0.0, 0.0, 0.0, 1.0], [-1.0, 3.0, 1.0, 1.0, 0.0]])
SIGNED = torch.tensor([[-1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [0.5, -0.5, 0.0]])
PAIRS = torch.tensor([[1.0, 0.0], [0.25, 0.75], [-2.0, 4.0]])
EQUAL = torch.tensor([[0.5, 0.5, 0.5], [-1.0, -1.0, -1.0], [0.0, 0.0, 3.0]])
MISSING = torch.tensor([[0.5, 0.5, NAN, 0.5], [NAN, 2.0, -1.0, 0.5], [1.0, NAN, NAN, 0.0]])

INPUTS = {
    "01.group_advantages": (
        (FIVE, "sample"),
        (FIVE, "population"),
        (SIGNED, "population"),
        (PAIRS, "sample"),
        (EQUAL, "population"),
        (MISSING, "sample"),
        (MISSING, "population"),
    ),
    "01.dead_group": ((0.2, 3), (0.75, 6), (0.01, 16), (0.999, 2), (0.0, 3), (1.0, 8)),
    "01.repair_advantages": ((SIGNED,), (FIVE,), (PAIRS,)),
}
