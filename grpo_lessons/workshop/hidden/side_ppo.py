"""Hidden inputs of the side road on PPO: one token, a discount of 0, three completions of different length."""

import torch

_generator = torch.Generator().manual_seed(120)
REWARDS = torch.randn(6, generator=_generator)
VALUES = torch.rand(6, generator=_generator)

PAID = torch.tensor([[0.0, 0.0, 1.0, 0.0, 0.0], [-0.5, 0.0, 0.0, 0.0, 0.0], [0.0, 0.1, 0.0, 0.0, 0.7]])
TABLE = torch.tensor([[0.2, 0.6, 0.5, 4.0, -3.0], [0.9, -7.0, 2.0, 0.3, 0.8], [0.1, 0.4, -0.2, 0.5, 0.6]])
MASK = torch.tensor([[1.0, 1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0]])

INPUTS = {
    "ppo.returns": ((REWARDS, 0.7), (REWARDS, 1.0), (REWARDS, 0.0), (torch.tensor([-2.0]), 0.9)),
    "ppo.gae": (
        (REWARDS, VALUES, 0.8, 0.6),
        (REWARDS, VALUES, 1.0, 0.0),
        (REWARDS, -VALUES, 0.9, 1.0),
        (REWARDS[:1], VALUES[:1], 0.5, 0.5),
    ),
    "ppo.repair_gae": (
        (PAID, TABLE, MASK, 0.8, 0.7),
        (PAID, -TABLE, MASK, 1.0, 1.0),
        (PAID[1:], TABLE[1:], MASK[1:], 0.9, 0.95),
    ),
}
