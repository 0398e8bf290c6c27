"""Hidden inputs of lesson 13: other settings and runs, other shapes and number formats."""

import torch


def _config(**changes):
    return {
        "temperature": 1.0,
        "method": "grpo",
        "kl_beta": 0.0,
        "method_options": {},
        "group_size": 8,
        "micro_batch": None,
        "seed": 3,
    } | changes


_generator = torch.Generator().manual_seed(113)
W = torch.randn(5, 3, generator=_generator)
A, B = 0.2 * torch.randn(4, 3, generator=_generator), 0.2 * torch.randn(5, 4, generator=_generator)
TALL = torch.randn(16, 8, generator=_generator)
A8, B16 = torch.randn(1, 8, generator=_generator), torch.randn(16, 1, generator=_generator)

INPUTS = {
    "13.unfair": (
        ([_config(), _config(method="gspo", seed=4), _config(kl_beta=0.02, group_size=16, temperature=0.8)],),
        ([_config(), _config(method="dapo", method_options={"clip_high": 0.3}, seed=9)],),
        ([_config(micro_batch=4), _config(), _config(micro_batch=4, seed=5)],),
        ([_config(method="gmpo"), _config(group_size=4, kl_beta=0.1)],),
    ),
    "13.merged_weight": (
        (W, A, B, 16, 4, torch.float32),
        (TALL, A8, B16, 3, 1, torch.bfloat16),
        (TALL, A8, B16, 1, 1, torch.float16),
        (30 * TALL, 0.1 * A8, B16, 6, 1, torch.bfloat16),
    ),
}
