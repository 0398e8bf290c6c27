"""NF4 by hand: the 4-bit weights of QLoRA (Dettmers et al. 2023, arXiv 2305.14314), written for reading.

    block of 64 weights -> divide by the largest magnitude -> nearest of 16 levels -> two codes a byte
    block of 256 scales -> the same trick once more, with 256 levels                (double quantisation)

How it differs from bitsandbytes: plain PyTorch, no matrix multiplication on the packed weights, and an odd number of
weights is refused. The codes are the same, one for one (a test compares them; the fast CPU kernel of bitsandbytes may
put a scale that lies in the middle of two levels on the other one). Train with bitsandbytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import torch
from torch import Tensor

# Quantiles of the normal distribution scaled to [-1, 1] with an exact zero (appendix E of the paper).
NF4_LEVELS = torch.tensor(
    [
        -1.0,
        -0.6961928009986877,
        -0.5250730514526367,
        -0.39491748809814453,
        -0.28444138169288635,
        -0.18477343022823334,
        -0.09105003625154495,
        0.0,
        0.07958029955625534,
        0.16093020141124725,
        0.24611230194568634,
        0.33791524171829224,
        0.44070982933044434,
        0.5626170039176941,
        0.7229568362236023,
        1.0,
    ]
)
BLOCK, SCALE_BLOCK = 64, 256


def normal_float_levels(outermost: float = 0.9677083) -> list[float]:
    """Where NF4_LEVELS come from: 8 positive quantiles, 7 negative ones and 0, over the largest.

    outermost: the quantile that becomes 1, the paper's mean of 1 - 1/32 and 1 - 1/30.
    """
    quantile = NormalDist().inv_cdf
    positive = [quantile(outermost + i / 8 * (0.5 - outermost)) for i in range(8)]
    negative = [-quantile(outermost + i / 7 * (0.5 - outermost)) for i in range(7)]
    return sorted(value / positive[0] for value in [*positive, 0.0, *negative])


def dynamic_levels() -> Tensor:
    """256 levels from -0.99 to 1, dense near 0, for the scales (dynamic tree type, Dettmers 2016, arXiv 1511.04561).

    Seven decades from 1e-6 to 1; decade i holds 2^i levels of each sign, the midpoints of equal steps from 0.1 to 1.
    """
    levels = [0.0, 1.0]
    for decade in range(7):
        steps = torch.linspace(0.1, 1, 2**decade + 1)
        midpoints = (steps[:-1] + steps[1:]) / 2
        levels += (10.0 ** (decade - 6) * midpoints).tolist()
        levels += (-(10.0 ** (decade - 6)) * midpoints).tolist()
    return torch.tensor(sorted(levels))


def nearest_level(values: Tensor, levels: Tensor) -> Tensor:
    """Index (uint8) of the level nearest to each value; levels are sorted, a tie goes to the lower one."""
    middles = (levels[:-1] + levels[1:]) / 2
    return torch.bucketize(values, middles).to(torch.uint8)


def blockwise(values: Tensor, block: int) -> tuple[Tensor, Tensor]:
    """Values (N,) as blocks scaled to [-1, 1], (ceil(N/block), block), and the scales: each block's largest magnitude.

    The last block is filled up with zeros.
    """
    blocks = torch.nn.functional.pad(values, (0, -len(values) % block)).view(-1, block)
    scales = blocks.abs().amax(1)
    return (blocks * (1.0 / scales.clamp_min(1e-38))[:, None]).clamp(-1, 1), scales


@dataclass(frozen=True)
class QuantizedScales:
    """Double quantisation. codes (M,) uint8, scales (ceil(M/256),), offset: mean of the M scales, taken off first."""

    codes: Tensor
    scales: Tensor
    offset: Tensor
    levels: Tensor

    def dequantize(self) -> Tensor:
        """The M scales, float32, each a little off."""
        values = self.levels[self.codes.long()]
        return values * self.scales.repeat_interleave(SCALE_BLOCK)[: len(values)] + self.offset


@dataclass(frozen=True)
class NF4Weight:
    """packed (N/2,) uint8: code 2i in the high half of byte i, code 2i+1 in the low half."""

    packed: Tensor
    scales: Tensor | QuantizedScales
    block: int
    shape: torch.Size

    @property
    def codes(self) -> Tensor:
        """One number from 0 to 15 for each weight, in the weight's shape (uint8)."""
        return torch.stack([self.packed >> 4, self.packed & 15], dim=1).view(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the codes, scales and tables: what `nf4_bytes` predicts."""
        tensors = [self.packed, NF4_LEVELS]
        double = isinstance(self.scales, QuantizedScales)
        tensors += list(vars(self.scales).values()) if double else [self.scales]
        return sum(t.nbytes for t in tensors)


def quantize_nf4(weight: Tensor, *, block: int = BLOCK, double: bool = True) -> NF4Weight:
    """Quantise a weight of any shape, row after row in blocks.

    double: also quantise the scales, which saves 0.37 bits a weight with blocks of 64.
    Raises ValueError for an odd number of weights or values that are not finite.
    """
    flat = weight.detach().reshape(-1).float()
    if len(flat) % 2 or not flat.isfinite().all():
        raise ValueError(f"quantize_nf4 needs an even number of finite weights, got {tuple(weight.shape)}")
    scaled, scales = blockwise(flat, block)
    codes = nearest_level(scaled, NF4_LEVELS).view(-1)[: len(flat)]
    packed = codes[::2] << 4 | codes[1::2]
    return NF4Weight(packed, quantize_scales(scales) if double else scales, block, weight.shape)


def quantize_scales(scales: Tensor) -> QuantizedScales:
    """The second quantisation: scales (M,), all positive, so their mean is taken off to use both signs."""
    offset, levels = scales.mean(), dynamic_levels()
    scaled, outer = blockwise(scales - offset, SCALE_BLOCK)
    return QuantizedScales(nearest_level(scaled, levels).view(-1)[: len(scales)], outer, offset, levels)


def dequantize_nf4(quantized: NF4Weight) -> Tensor:
    """The weight that the codes stand for, float32, in its own shape."""
    scales = quantized.scales
    if isinstance(scales, QuantizedScales):
        scales = scales.dequantize()
    values = NF4_LEVELS[quantized.codes.view(-1).long()]
    return (values * scales.repeat_interleave(quantized.block)[: len(values)]).view(quantized.shape)


def nf4_bytes(weights: int, *, block: int = BLOCK, double: bool = True) -> int:
    """Bytes of one quantised matrix as it is stored, tables included.

    4 bits a weight, 1 byte a block and 4 bytes every 256 blocks (without `double` 4 bytes a block); the tables are
    64 bytes of levels and, with `double`, 1024 of scale levels and 4 of offset.
    """
    blocks = -(-weights // block)
    if not double:
        return -(-weights // 2) + 4 * blocks + 64
    return -(-weights // 2) + blocks + 4 * -(-blocks // SCALE_BLOCK) + 64 + 1024 + 4
