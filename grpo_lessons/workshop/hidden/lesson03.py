"""Hidden inputs of lesson 03: other numbers of arms, negative and equal rewards, a batch of one, another EOS."""

import torch

_generator = torch.Generator().manual_seed(103)
THETA = torch.randn(5, generator=_generator)
ARMS = torch.tensor([4, 0, 0, 3, 1, 4, 4])
PAID = torch.tensor([-1.0, 2.0, 0.5, 0.0, -0.5, 1.0, 3.0])
LOGITS = 2 * torch.randn(3, 4, 6, generator=_generator)
IDS = torch.randint(0, 6, (3, 4), generator=_generator)
MASK = torch.tensor([[0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
TOKENS = torch.tensor([[7, 1, 1, 1, 1, 1], [1, 7, 7, 0, 0, 0], [3, 4, 5, 3, 4, 1], [0, 0, 3, 1, 0, 7]])

INPUTS = {
    "03.reinforce_gradient": (
        (THETA, ARMS, PAID),
        (torch.tensor([3.0, -3.0]), torch.tensor([0, 0, 1, 0]), torch.tensor([-1.0, -1.0, 1.0, -2.0])),
        (torch.tensor([0.1, 0.2, 0.3]), torch.tensor([2, 0, 2]), torch.tensor([2.0, 2.0, 2.0])),
    ),
    "03.completion_logprobs": (
        (LOGITS, IDS, MASK),
        (LOGITS[:1], IDS[:1], MASK[:1]),
        (LOGITS[:1, :2], IDS[:1, :2], MASK[:1, :2]),
        (LOGITS[:, :3] - 5, IDS[:, 1:], torch.ones(3, 3)),
    ),
    "03.repair_mask": ((TOKENS, 1), (TOKENS, 7), (TOKENS, 0), (TOKENS[2:3], 9)),
    "03.repair_temperature": ((LOGITS, IDS, 0.5), (LOGITS[:1], IDS[:1], 2.0), (LOGITS[1:, :1], IDS[1:, :1], 1.2)),
}
