"""Hidden inputs of lesson 08: other sizes, an advantage of 0, two rows left out, all tokens clipped or none."""

import torch

_generator = torch.Generator().manual_seed(108)
OLD = -2 * torch.rand(5, 3, generator=_generator)
NEW = OLD + 0.7 * torch.randn(5, 3, generator=_generator)
ADVANTAGES = torch.tensor([-0.8, 1.2, 0.0, 2.0, -1.5])
MASK = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
TWO_LEFT_OUT = MASK * torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0])[:, None]
FIRST_LEFT_OUT = MASK * torch.tensor([0.0, 1.0, 1.0, 1.0, 1.0])[:, None]
LOG_RATIOS = torch.tensor([-0.35, 0.5, 0.1, -0.9, 0.25])

INPUTS = {
    "08.gmpo_loss": (
        (NEW, OLD, ADVANTAGES, MASK, 0.4),
        (NEW, OLD, -ADVANTAGES, MASK, 0.15),
        (NEW[:2], OLD[:2], ADVANTAGES[:2], torch.ones(2, 3), 0.3),
        (NEW[4:], OLD[4:], ADVANTAGES[4:], MASK[4:], 0.1),
    ),
    "08.repair_masked_row": (
        (NEW, OLD, ADVANTAGES, TWO_LEFT_OUT),
        (NEW, OLD, -ADVANTAGES, FIRST_LEFT_OUT),
        (NEW[3:], OLD[3:], ADVANTAGES[3:], TWO_LEFT_OUT[3:]),
    ),
    "08.token_push": (
        (LOG_RATIOS, 1.5, 0.2),
        (LOG_RATIOS, -0.5, 0.2),
        (LOG_RATIOS[1:3], 1.0, 0.05),
        (LOG_RATIOS[:1], -3.0, 0.4),
    ),
}
