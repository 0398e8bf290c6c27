"""Hidden inputs of lesson 05: an empty batch, a batch of one, micro-batches that do not divide the batch."""

import torch

NAN, INF = float("nan"), float("inf")
VALUES = torch.tensor([[-1.0, 2.0, 7.0], [4.0, -3.0, 5.0], [6.0, 6.0, 6.0], [0.5, 9.0, 9.0], [-2.0, 1.0, 9.0]])
MASK = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
ROW_LEFT_OUT = MASK * torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0])[:, None]
HOLES = torch.where(MASK.bool(), VALUES, INF)
NOTHING = torch.zeros(5, 3)

INPUTS = {
    "05.token_mean": (
        (VALUES, MASK),
        (HOLES, MASK),
        (VALUES, ROW_LEFT_OUT),
        (torch.full((5, 3), NAN), NOTHING),
        (VALUES[3:4], MASK[3:4]),
    ),
    "05.fixed_length_mean": (
        (VALUES, MASK, 16),
        (VALUES, ROW_LEFT_OUT, 3),
        (HOLES, MASK, 5),
        (HOLES, NOTHING, 7),
        (VALUES[1:2], MASK[1:2], 12),
    ),
    "05.repair_accumulation": ((VALUES, MASK, 2), (VALUES, MASK, 3), (-VALUES, MASK, 1), (VALUES, MASK, 8)),
}
