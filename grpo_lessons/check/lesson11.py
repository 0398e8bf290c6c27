"""Checks of lesson 11: a layer with an adapter, a 4-bit code, the bytes of a quantised matrix and of a KV cache."""

from math import ceil, sqrt

import torch

from grpo_lessons.check.base import Exercise
from grpo_lessons.quantization import NF4_LEVELS, nearest_level, nf4_bytes

_generator = torch.Generator().manual_seed(0)
X, W = torch.randn(3, 6, generator=_generator), torch.randn(5, 6, generator=_generator)
A, B = torch.randn(2, 6, generator=_generator), torch.randn(5, 2, generator=_generator)


def _lora(x, W, A, B, alpha, scale=lambda alpha, A: alpha / A.shape[0]):
    return x @ W.T + scale(alpha, A) * (x @ A.T) @ B.T


def _scaled(scale):
    return lambda x, W, A, B, alpha: _lora(x, W, A, B, alpha, scale)


lora_layer = Exercise(
    name="11.lora_layer",
    todo="the frozen layer's result, plus alpha / r times what A and then B make of x.",
    right=_lora,
    inputs=((X, W, A, B, 4.0), (X, W, A, torch.zeros(5, 2), 4.0), (X, W, A[:1], B[:, :1], 3.0)),
    wrong=(
        (_scaled(lambda alpha, A: 1.0), "alpha is not used: the update is multiplied by alpha / r."),
        (_scaled(lambda alpha, A: alpha), "the update is multiplied by alpha; divide by the rank as well."),
        (_scaled(lambda alpha, A: A.shape[0] / alpha), "the factor is upside down: alpha over the rank."),
        (
            _scaled(lambda alpha, A: alpha / A.shape[1]),
            "alpha is divided by the number of inputs; the rank is the number of rows of A.",
        ),
        (
            _scaled(lambda alpha, A: alpha / sqrt(A.shape[0])),
            "this divides by the root of the rank (a variant called rsLoRA); here it is the rank itself.",
        ),
        (
            lambda x, W, A, B, alpha: _lora(x, 0 * W, A, B, alpha),
            "this is the update alone: the frozen layer's own result is added.",
        ),
        (lambda x, W, A, B, alpha: x @ W.T, "this is the frozen layer alone."),
    ),
)


def _code(value, largest):
    return int(nearest_level(torch.tensor([value / largest]), NF4_LEVELS))


def _below(value, largest):
    return int((value / largest + 1e-6 >= NF4_LEVELS).sum()) - 1


nf4_code = Exercise(
    name="11.nf4_code",
    todo="divide by the block's largest magnitude, then find the nearest of NF4_LEVELS: its place, 0 to 15.",
    right=_code,
    inputs=((0.5, 2.0), (-2.0, 2.0), (0.03, 0.1), (-0.0099, 0.05), (0.0, 3.0), (0.9, 1.0)),
    wrong=(
        (
            lambda value, largest: _code(value, 1.0),
            "the value is compared as it is: divide it by the block's largest magnitude first.",
        ),
        (
            lambda value, largest: round((value / largest + 1) / 2 * 15),
            "these are 16 even steps: the levels of NF4 are not evenly spaced, compare with each of them.",
        ),
        (_below, "this is the level below; take the nearest, which may be the one above."),
        (lambda value, largest: min(_below(value, largest) + 1, 15), "this is the level above; take the nearest."),
        (
            lambda value, largest: float(NF4_LEVELS[_code(value, largest)]),
            "this is the level itself; what is stored is its place, a whole number from 0 to 15.",
        ),
        (
            lambda value, largest: _code(abs(value), largest),
            "the sign is lost: negative weights have levels of their own.",
        ),
        (lambda value, largest: _code(value, largest) + 1, "places are counted from 0 to 15."),
    ),
)


def _bytes(weights, double, *, code=0.5, second=lambda blocks: 4 * ceil(blocks / 256)):
    blocks = ceil(weights / 64)
    return weights * code + (blocks + second(blocks) if double else 4 * blocks)


nf4_matrix_bytes = Exercise(
    name="11.nf4_matrix_bytes",
    todo="half a byte a weight, then the scales: 4 bytes a block, or 1 byte a block and 4 bytes for 256 blocks.",
    right=lambda weights, double: nf4_bytes(weights, double=double) - (64 + 1028 * double),
    inputs=((1536 * 8960, True), (1536 * 8960, False), (6400, True), (128, False)),
    wrong=(
        (lambda weights, double: weights / 2, "these are the codes; every block of 64 also keeps a scale."),
        (
            lambda weights, double: _bytes(weights, False),
            "with double quantisation the scales themselves are one byte each, and 256 of them share a float.",
        ),
        (
            lambda weights, double: _bytes(weights, double, second=lambda blocks: 0),
            "the second scales are missing: 4 bytes for every 256 blocks, the last group included.",
        ),
        (
            lambda weights, double: _bytes(weights, double, second=lambda blocks: 4 * (blocks // 256)),
            "a group of blocks that is not full has a second scale too: round up.",
        ),
        (lambda weights, double: 8 * _bytes(weights, double), "these are bits: a byte has 8."),
        (
            lambda weights, double: _bytes(weights, double, code=1),
            "two 4-bit codes share a byte: half a byte a weight.",
        ),
        (
            lambda weights, double: _bytes(weights, True),
            "without double quantisation a scale takes 4 bytes, not 1.",
        ),
    ),
    tolerance=1e-9,
)


def _cache(layers, width, prompts, group_size, prompt_tokens, completion_tokens, number, *, tokens=None):
    tokens = prompts * (prompt_tokens + group_size * completion_tokens) if tokens is None else tokens
    return 2 * layers * width * tokens * number


def _with_tokens(count):
    return lambda L, w, P, G, S, T, b: _cache(L, w, P, G, S, T, b, tokens=count(P, G, S, T))


kv_cache = Exercise(
    name="11.kv_cache",
    todo="a key and a value in every layer, for each prompt once and for every completion.",
    right=_cache,
    inputs=((28, 256, 4, 8, 128, 256, 2), (3, 96, 32, 8, 8, 32, 4), (2, 8, 1, 1, 5, 3, 4)),
    wrong=(
        (lambda *args: _cache(*args) // 2, "keys and values are both kept: twice as many numbers."),
        (
            _with_tokens(lambda P, G, S, T: P * G * (S + T)),
            "the prompt is counted for every completion; a group shares its prompt's keys and values.",
        ),
        (_with_tokens(lambda P, G, S, T: P * G * T), "the prompts are missing: their keys and values are kept too."),
        (_with_tokens(lambda P, G, S, T: P * (S + T)), "every prompt has group_size completions."),
        (_with_tokens(lambda P, G, S, T: S + G * T), "this is one prompt's group; there are several prompts."),
        (lambda L, *rest: _cache(1, *rest), "this is one layer; each of them keeps its own."),
        (
            lambda L, w, P, G, S, T, b: _cache(L, w, P, G, S, T, 1),
            "these are numbers, not bytes: multiply by the bytes of one.",
        ),
    ),
    tolerance=1e-9,
)
