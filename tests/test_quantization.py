"""NF4 by hand against values worked out on paper and against bitsandbytes, code for code."""

import pytest
import torch
from safetensors.torch import load_file

from grpo_lessons.four_bit import block_for
from grpo_lessons.paths import data_dir
from grpo_lessons.quantization import (
    NF4_LEVELS,
    NF4Weight,
    QuantizedScales,
    dequantize_nf4,
    dynamic_levels,
    nearest_level,
    nf4_bytes,
    normal_float_levels,
    quantize_nf4,
)


def bnb():
    return pytest.importorskip("bitsandbytes.functional")


def weights():
    """Names and matrices: random ones of several scales and shapes, and some of the nano policy's."""
    generator = torch.Generator().manual_seed(0)
    for shape in ((64, 64), (7, 10), (3, 96), (513, 256)):
        for scale in (1e-3, 1.0, 100.0):
            yield f"random {shape} x {scale}", scale * torch.randn(shape, generator=generator)
    yield "heavy tails", torch.randn(128, 128, generator=generator) ** 5
    nano = load_file(data_dir() / "nano" / "model.safetensors")
    matrices = [(name, w.float()) for name, w in nano.items() if w.ndim == 2]
    yield from matrices[:8]


def test_levels_are_the_quantiles_that_the_paper_defines():
    torch.testing.assert_close(torch.tensor(normal_float_levels()), NF4_LEVELS, atol=2e-7, rtol=0)


def test_one_block_by_hand():
    # the largest magnitude is 2, so the values become 1, -1, 0, 0.25 and 0.5; nearest levels 1, -1, 0, 0.246, 0.441
    weight = torch.tensor([[2.0, -2.0, 0.0, 0.5, 1.0, 1.0]])
    quantized = quantize_nf4(weight, block=64, double=False)
    assert quantized.codes.tolist() == [[15, 0, 7, 10, 12, 12]]
    assert quantized.packed.tolist() == [0xF0, 0x7A, 0xCC]
    assert quantized.scales.tolist() == [2.0]
    expected = [[2.0, -2.0, 0.0, 2 * 0.24611230, 2 * 0.44070983, 2 * 0.44070983]]
    torch.testing.assert_close(dequantize_nf4(quantized), torch.tensor(expected))


def test_a_tie_goes_to_the_lower_level():
    assert nearest_level(torch.tensor([0.5, 0.50001, -9.0, 9.0]), torch.tensor([0.0, 1.0])).tolist() == [0, 1, 0, 1]


def test_a_block_of_zeros_stays_zero():
    for double in (False, True):
        assert (dequantize_nf4(quantize_nf4(torch.zeros(2, 64), double=double)) == 0).all()


@pytest.mark.parametrize("block", [32, 64, 256])
def test_codes_and_scales_equal_bitsandbytes(block):
    for name, weight in weights():
        ours = quantize_nf4(weight, block=block, double=False)
        packed, state = bnb().quantize_4bit(weight, blocksize=block, quant_type="nf4")
        assert torch.equal(ours.packed, packed.view(-1)), name
        assert torch.equal(ours.scales, state.absmax), name


def test_codes_of_the_double_quantisation_equal_bitsandbytes():
    for name, weight in weights():
        scales = quantize_nf4(weight, double=False).scales
        ours = quantize_nf4(weight).scales
        # float64 takes bitsandbytes' exact path on CPU; its fast one is compared below
        exact = torch.ops.bitsandbytes.quantize_blockwise.default(
            (scales - scales.mean()).double(), dynamic_levels(), 256
        )
        assert torch.equal(ours.codes, exact[0]), name
        _, state = bnb().quantize_4bit(weight, blocksize=64, quant_type="nf4", compress_statistics=True)
        torch.testing.assert_close(ours.scales, state.state2.absmax, atol=0, rtol=1e-6)
        torch.testing.assert_close(ours.offset, state.offset, atol=0, rtol=1e-6)


def test_the_fast_kernel_of_bitsandbytes_differs_only_where_two_levels_are_as_near():
    """On CPU it looks codes up in a table, so a scale in the middle of two levels may go to either."""
    for name, weight in weights():
        ours = quantize_nf4(weight).scales
        _, state = bnb().quantize_4bit(weight, blocksize=64, quant_type="nf4", compress_statistics=True)
        scaled = (quantize_nf4(weight, double=False).scales - ours.offset) / ours.scales.repeat_interleave(256)[
            : len(ours.codes)
        ]
        worse = (ours.levels[state.absmax.long()] - scaled).abs() - (ours.levels[ours.codes.long()] - scaled).abs()
        assert worse.max() < 4e-5, name


@pytest.mark.parametrize("double", [False, True])
def test_values_equal_bitsandbytes_for_the_same_codes(double):
    # the block divides the rows here: where it does not, bitsandbytes 0.50 reads wrong scales on AVX512 (four_bit.py)
    for name, weight in weights():
        if weight.shape[1] % 32 == 0:
            block = block_for(weight.shape[1])
            packed, state = bnb().quantize_4bit(weight, blocksize=block, quant_type="nf4", compress_statistics=double)
            scales = state.absmax
            if double:
                scales = QuantizedScales(state.absmax, state.state2.absmax, state.offset, state.state2.code)
            ours = dequantize_nf4(NF4Weight(packed.view(-1), scales, block, weight.shape))
            tolerance = {"atol": 1e-7 * float(weight.abs().max()), "rtol": 1e-5}
            theirs = bnb().dequantize_4bit(packed, state)
            torch.testing.assert_close(ours, theirs, **tolerance, msg=lambda m, n=name: f"{n}: {m}")


def test_scale_levels_equal_bitsandbytes():
    assert torch.equal(dynamic_levels(), bnb().create_dynamic_map())
    assert len(dynamic_levels()) == 256


@pytest.mark.parametrize("double", [False, True])
def test_predicted_bytes_are_those_of_the_tensors(double):
    for rows, columns in ((96, 96), (7, 10), (513, 256)):
        quantized = quantize_nf4(torch.randn(rows, columns), double=double)
        assert nf4_bytes(rows * columns, double=double) == quantized.nbytes


def test_bits_for_each_weight_of_a_large_matrix():
    n = 8960 * 1536
    assert 8 * nf4_bytes(n, double=False) / n == pytest.approx(4.5, abs=1e-3)  # 4 + 32/64
    assert 8 * nf4_bytes(n) / n == pytest.approx(4.127, abs=1e-3)  # 4 + 8/64 + 32/(64*256)


def test_smaller_blocks_lose_less():
    weight = torch.randn(256, 256, generator=torch.Generator().manual_seed(0))
    error = [(dequantize_nf4(quantize_nf4(weight, block=b)) - weight).square().mean() for b in (32, 64, 256, 1024)]
    assert error == sorted(error)


def test_double_quantisation_costs_little_accuracy():
    weight = torch.randn(256, 256, generator=torch.Generator().manual_seed(0))
    once, twice = (dequantize_nf4(quantize_nf4(weight, double=d)) for d in (False, True))
    assert isinstance(quantize_nf4(weight).scales, QuantizedScales)
    assert (twice - weight).square().mean() < 1.02 * (once - weight).square().mean()


@pytest.mark.parametrize("weight", [torch.ones(3), torch.tensor([1.0, float("nan")])])
def test_odd_or_not_finite_weights_are_refused(weight):
    with pytest.raises(ValueError, match="even number of finite weights"):
        quantize_nf4(weight)
