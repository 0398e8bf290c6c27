"""Hidden inputs of lesson 04: as many rows as tokens, an advantage of 0, holes and infinities, a batch of one."""

import torch

INF, NAN = float("inf"), float("nan")
_generator = torch.Generator().manual_seed(104)
OLD = -2 * torch.rand(4, 4, generator=_generator)
NEW = OLD + 0.5 * torch.randn(4, 4, generator=_generator)
ADVANTAGES = torch.tensor([-0.7, 1.3, 0.0, -2.0])

VALUES = torch.tensor([[-2.0, 4.0, 1.0, 5.0, 8.0], [3.0, -1.0, 6.0, 2.0, 7.0]])
MASK = torch.tensor([[1.0, 1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.0]])
HOLES = torch.tensor([[-2.0, 4.0, 1.0, 5.0, NAN], [3.0, -1.0, INF, -INF, NAN]])
SPANS = torch.tensor([[1.0, 0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0]])

INPUTS = {
    "04.clipped_surrogate": (
        (NEW, OLD, ADVANTAGES, 0.2),
        (NEW, OLD, -ADVANTAGES, 0.3),
        (NEW[:1], OLD[:1], ADVANTAGES[:1], 0.05),
        (OLD[:, :1], NEW[:, :1], ADVANTAGES, 0.1),
    ),
    "04.masked_mean": (
        (VALUES, MASK),
        (HOLES, MASK),
        (HOLES, torch.zeros(2, 5)),
        (VALUES, SPANS),
        (VALUES[:1], MASK[:1]),
    ),
    "04.repair_loss": ((VALUES, MASK), (-VALUES, torch.ones(2, 5)), (VALUES[1:], MASK[1:])),
}
