"""Checks of lesson 13: which settings make a comparison unfair, and the merged weight of one layer."""

import torch

from grpo_lessons.check.base import Exercise

FREE = ("method", "method_options", "seed")


def _unequal(configs, free=FREE):
    """Sorted names of the settings that are not the same everywhere, those in `free` left out."""
    return sorted(key for key in configs[0] if key not in free and any(c[key] != configs[0][key] for c in configs))


def _config(**changes):
    return {
        "method": "grpo",
        "method_options": {},
        "seed": 0,
        "steps": 30,
        "learning_rate": 2e-4,
        "minibatches": 4,
    } | changes


unfair = Exercise(
    name="13.unfair",
    todo="for each key that is none of method, method_options and seed: do all runs have the same value? "
    "Sort the names of those that have not.",
    right=_unequal,
    inputs=(
        ([_config(), _config(method="gmpo", steps=60, learning_rate=1e-4), _config(seed=1)],),
        ([_config(), _config(method="gmpo"), _config(method="grpo_sg", method_options={"tau": 4.0}, minibatches=1)],),
        ([_config(), _config(method="gmpo", seed=1)],),
    ),
    wrong=(
        (
            lambda configs: _unequal(configs, ()),
            "method, its options and the seed are what a comparison varies; they do not belong into the list.",
        ),
        (
            lambda configs: _unequal(configs, ("method", "method_options")),
            "the seed may differ: seeds are repeated on purpose.",
        ),
        (
            lambda configs: _unequal(configs, ("method", "seed")),
            "the options belong to the method: GRPO-SG has constants that GRPO has not.",
        ),
        (
            lambda configs: _unequal(configs[:2]),
            "only the first two runs are compared; a later one may differ as well.",
        ),
        (lambda configs: list(reversed(_unequal(configs))), "the right names, but not sorted."),
        (
            lambda configs: sorted(k for k in configs[0] if k not in FREE and k not in _unequal(configs)),
            "these are the settings that agree; wanted are those that differ.",
        ),
        (lambda configs: len(_unequal(configs)), "this is how many differ; return their names."),
    ),
)

_generator = torch.Generator().manual_seed(0)
W = torch.randn(4, 6, generator=_generator)
A, B = 0.3 * torch.randn(2, 6, generator=_generator), 0.3 * torch.randn(4, 2, generator=_generator)
NARROW, WIDE = torch.randn(2, 6, generator=_generator), torch.randn(6, 2, generator=_generator)
SQUARE = torch.randn(6, 6, generator=_generator)


def _merged(W, A, B, alpha, rank, dtype):
    return (W + alpha / rank * (B @ A)).to(dtype)


def _described(function, *args):
    """A measure: the number format, and the values in float32."""
    merged = function(*args)
    return merged if not torch.is_tensor(merged) else {"the dtype": str(merged.dtype), "the values": merged.float()}


merged_weight = Exercise(
    name="13.merged_weight",
    todo="W + (alpha / rank) * B @ A in float32; then, once, .to(dtype).",
    right=_merged,
    inputs=(
        (W, A, B, 8, 2, torch.float32),
        (SQUARE, NARROW, WIDE, 4, 2, torch.bfloat16),
        (100 * W, A, B, 2, 2, torch.bfloat16),
    ),
    measure=_described,
    tolerance=1e-6,
    wrong=(
        (
            lambda W, A, B, alpha, rank, dtype: (W + B @ A).to(dtype),
            "the scale is missing: the update is (alpha / rank) times B A.",
        ),
        (
            lambda W, A, B, alpha, rank, dtype: (W + alpha * (B @ A)).to(dtype),
            "the scale is alpha / rank, so that another rank needs no other learning rate.",
        ),
        (
            lambda W, A, B, alpha, rank, dtype: _merged(W, A, B, alpha, rank, torch.float32),
            "the result must be of the asked dtype.",
        ),
        (
            lambda W, A, B, alpha, rank, dtype: W.to(dtype) + (alpha / rank * (B @ A)).to(dtype),
            "rounded three times: both parts and their sum. Add in float32 and round once.",
        ),
        (
            lambda W, A, B, alpha, rank, dtype: (W - alpha / rank * (B @ A)).to(dtype),
            "the update is added, not subtracted.",
        ),
        (lambda W, A, B, alpha, rank, dtype: (alpha / rank * (B @ A)).to(dtype), "this is the update alone; add W."),
    ),
)
