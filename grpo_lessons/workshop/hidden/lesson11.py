"""Hidden inputs of lesson 11: square layers and other ranks, codes near both ends, blocks that are not full."""

import torch

_generator = torch.Generator().manual_seed(111)
X, W = torch.randn(1, 4, generator=_generator), torch.randn(4, 4, generator=_generator)
A, B = torch.randn(3, 4, generator=_generator), torch.randn(4, 3, generator=_generator)
SQUARE_A, SQUARE_B = torch.randn(4, 4, generator=_generator), torch.randn(4, 4, generator=_generator)

INPUTS = {
    "11.lora_layer": (
        (X, W, A, B, 16.0),
        (X, W, SQUARE_A, SQUARE_B, 2.0),
        (torch.cat([X, -X, 2 * X]), W[:2], A, B[:2], 1.0),
    ),
    "11.nf4_code": ((-0.7, 1.0), (3.0, 4.0), (-0.001, 0.05), (0.02, 0.02), (-5.0, 10.0), (0.5, 20.0)),
    "11.nf4_matrix_bytes": ((896 * 4864, True), (1000, True), (1000, False), (64 * 257, True), (64, False)),
    "11.kv_cache": ((24, 128, 6, 4, 200, 64, 2), (1, 32, 2, 16, 10, 1, 4), (12, 64, 3, 1, 7, 90, 1)),
}
