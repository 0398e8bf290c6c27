"""Hidden inputs of lesson 09: other constants and shapes, a row left out, other windows and a norm at the limit."""

import torch

LOGITS = torch.tensor([[-6.0, 0.0], [5.0, 9.0], [14.0, 40.0]])
SOFT = (3.0, 6.0, 0.3, 0.2, 1.9)
FLAT = (1.0, 20.0, -0.5, 0.5, 1.2)
OPEN = (5.0, 4.0, 0.5, -9.0, 9.0)  # clips nothing

WEIGHTS = torch.tensor([[0.8, 1.6, 1.0], [1.4, 1.1, 0.9], [0.6, 2.0, 1.3]])
MASK = torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
ROW_LEFT_OUT = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])

# the third and the fifth stand exactly at twice the median of the two before
NORMS = [1.0, 1.0, 2.0, 0.5, 2.5, 4.0, 7.0, 1.0, 1.0, 3.0, 0.25, 1.5]

INPUTS = {
    "09.sharpness_weight": (
        (LOGITS, *SOFT),
        (LOGITS / 3, *FLAT),
        (LOGITS, *OPEN),
        (LOGITS[1], *SOFT),
    ),
    "09.normalize": ((WEIGHTS, MASK), (WEIGHTS, ROW_LEFT_OUT), (WEIGHTS[1:2], torch.ones(1, 3))),
    "09.spikes": ((NORMS, 2.0, 2), (NORMS, 1.5, 3), (NORMS, 2.5, 1), (NORMS, 1.2, 5), (NORMS[:4], 2.0, 6)),
}
