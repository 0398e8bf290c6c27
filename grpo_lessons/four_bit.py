"""NF4 models with bitsandbytes: the linear layers of a loaded model are replaced by 4-bit ones that can be trained on.

How it differs from loading with transformers' BitsAndBytesConfig: two traps of bitsandbytes 0.50 on CPUs are avoided.
  - On CPUs with AVX512-BF16 the first forward without gradients repacks the weights in place, and every backward after
    it is wrong. `keep_trainable_layout` switches that off.
  - With AVX512 the 4-bit kernel reads wrong scales where a row is no multiple of the block (64), as in the nano
    policy, whose rows have 96 weights. Such layers take blocks of 32.
"""

from __future__ import annotations

import importlib.util

import torch
from torch import nn

from .quantization import BLOCK


def block_for(columns: int) -> int:
    """Block size for rows of that many weights. ValueError if neither 64 nor 32 divides them."""
    for block in (BLOCK, BLOCK // 2):
        if columns % block == 0:
            return block
    raise ValueError(f"a layer with {columns} inputs cannot be quantised: NF4 here needs a multiple of {BLOCK // 2}")


def need(package: str, purpose: str) -> None:
    """ImportError with one sentence if a package of the extra `qlora` is not installed."""
    if importlib.util.find_spec(package) is None:
        raise ImportError(f"{purpose} needs {package}: pip install 'grpo-lessons[qlora]'")


def quantize_linears(model: nn.Module, *, device: torch.device, compute_dtype: torch.dtype) -> nn.Module:
    """Replace all linear layers but the output head by NF4 ones (double quantisation) and move the model.

    model: a causal language model of transformers on the CPU; layers already in 4 bits stay as they are.
    compute_dtype: what the weights are expanded to for each multiplication. All weights end up frozen.
    """
    need("bitsandbytes", "quantize='nf4'")
    import bitsandbytes as bnb

    head = model.get_output_embeddings()
    for name, layer in list(model.named_modules()):
        if isinstance(layer, nn.Linear) and layer is not head and not isinstance(layer, bnb.nn.Linear4bit):
            parent, _, child = name.rpartition(".")
            setattr(model.get_submodule(parent), child, _quantized(bnb, layer, device, compute_dtype))
    keep_trainable_layout(model)
    model.is_loaded_in_4bit = True  # peft asks for it
    return model.requires_grad_(False).to(device)


def _quantized(bnb, layer: nn.Linear, device: torch.device, compute_dtype: torch.dtype) -> nn.Module:
    new = bnb.nn.Linear4bit(
        layer.in_features, layer.out_features, bias=False, compute_dtype=compute_dtype, quant_type="nf4", device="meta"
    )
    weight = layer.weight.detach().to(compute_dtype)
    new.weight = bnb.nn.Params4bit(
        weight, requires_grad=False, quant_type="nf4", blocksize=block_for(layer.in_features), module=new
    ).to(device)
    new.bias = layer.bias
    return new


def keep_trainable_layout(model: nn.Module) -> None:
    """Stop bitsandbytes from repacking 4-bit weights in place at the first forward without gradients."""
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False


def is_four_bit(model: nn.Module) -> bool:
    """Whether any weight of the model is stored in 4 bits."""
    return any(type(p).__name__ == "Params4bit" for p in model.parameters())


def plain_weight(layer: nn.Module) -> torch.Tensor:
    """The weight of a linear layer in float32, expanded if it is stored in 4 bits."""
    state = getattr(layer.weight, "quant_state", None)
    if state is None:
        return layer.weight.detach().float()
    from bitsandbytes.functional import dequantize_4bit

    return dequantize_4bit(layer.weight.detach(), state).float()


def weight_bytes(model: nn.Module) -> int:
    """Bytes of all parameters and of the quantisation state of the 4-bit ones, shared tensors once."""
    tensors: list[torch.Tensor] = []
    for parameter in model.parameters():
        tensors.append(parameter.data)
        state = getattr(parameter, "quant_state", None)
        if state is not None:
            tensors += [state.absmax, state.code]
            if state.nested:
                tensors += [state.offset, state.state2.absmax, state.state2.code]
    return sum({t.data_ptr(): t.nbytes for t in tensors}.values())
