"""What float16 needs to be trained with: gradients that are too small for it are scaled up on their way back.

float16 ends at 6e-8, where the gradients of a policy loss lie; bfloat16 and float32 reach 1e-38 and need none of this.
Differs from torch.amp.GradScaler: the factor is fixed, so a run repeats exactly; a gradient that overflows all the same
ends the run with the trainer's message.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

FLOAT16_FACTOR = 2.0**12


def loss_scale(dtype: torch.dtype) -> float:
    """The factor for a model whose activations have this dtype; 1 for all but float16."""
    return FLOAT16_FACTOR if dtype == torch.float16 else 1.0


def unscale(parameters: Iterable[Tensor], factor: float) -> None:
    """Divide the gradients, in place; those of adapters are float32 and lose nothing."""
    if factor != 1.0:
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.div_(factor)
