"""Cost on paper of a GRPO step on many GPUs: bytes on each, and seconds. Arithmetic, not a measurement.

Bytes of training states: mixed precision with AdamW, 16 a weight (2 weight, 2 gradient, 4 float32 copy, 4 + 4 moments),
shared out as in ZeRO (Rajbhandari et al. 2020, arXiv 1910.02054); FSDP with resharding is "zero3". What the rollout and
a micro-batch need is counted as in `memory`, for this GPU's share of the prompts.

Seconds: 2 operations for each weight and token forward and 4 backward (Kaplan et al. 2020, arXiv 2001.08361), plus
attention; a token of decoding waits for the weights and the cache to be read, or for its arithmetic, whichever takes
longer. Assumed: sampling and training take turns on the same GPUs, every completion is as long as the longest, the work
is shared out evenly, communication hides behind nothing, and a device reaches the stated share of its data sheet.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil

from .architecture import Architecture
from .memory import estimate_memory

SHARDINGS = ("ddp", "zero2", "zero3")


@dataclass(frozen=True)
class Device:
    """One GPU. memory in GiB; flops: 16-bit operations a second, dense; bandwidth, link: bytes a second.

    link: to the other GPUs, in one direction. training, decoding, linking: the shares of these that are reached, which
    are assumptions: 0.4, 0.6 and 0.7 are what well-tuned programs report, small models stay far below.
    """

    name: str
    memory: float
    flops: float
    bandwidth: float
    link: float
    training: float = 0.4
    decoding: float = 0.6
    linking: float = 0.7


# From the vendor's data sheets: dense 16-bit tensor operations with float32 sums; NVLink, PCIe 4.0 x16 for the 4090.
DEVICES = {
    device.name: device
    for device in (
        Device("RTX 4090", 24, 165e12, 1.008e12, 32e9),
        Device("A100 80GB", 80, 312e12, 2.039e12, 300e9),
        Device("H100 80GB", 80, 989e12, 3.35e12, 450e9),
    )
}


@dataclass(frozen=True)
class Workload:
    """One GRPO step: a rollout of prompts x group_size completions and updates optimizer steps on it.

    micro_batch: sequences in one forward of a GPU. forwards: passes without gradient over the rollout (old and
    reference log-probabilities).
    """

    prompts: int = 128
    group_size: int = 8
    prompt_tokens: int = 256
    completion_tokens: int = 1024
    micro_batch: int = 1
    updates: int = 4
    forwards: int = 1
    gradient_checkpointing: bool = True


@dataclass(frozen=True)
class GpuBytes:
    """Bytes on each GPU, by part. sampler: the weights that an engine such as vLLM keeps beside those in training."""

    weights: float
    gradients: float
    optimizer: float
    gathered: float
    sampler: float
    kv_cache: float
    activations: float
    logits: float

    @property
    def states(self) -> float:
        """What training holds all the time."""
        return self.weights + self.gradients + self.optimizer

    @property
    def total(self) -> float:
        """The larger of sampling and updating; optimizer states and the sampler's weights stay through both."""
        resting = self.states + self.sampler
        return resting + max(self.kv_cache, self.gathered + self.activations + self.logits)


def bytes_per_gpu(model, gpus: int, sharding: str, work: Workload, *, sampler_gpus: int = 1) -> GpuBytes:
    """Bytes on each of `gpus` when every weight is trained.

    model: as in `memory.estimate_memory`. sampler_gpus: how many GPUs share one copy of the sampler's weights.
    Raises ValueError for an unknown sharding, or for more than one GPU a prompt.
    """
    if sharding not in SHARDINGS or not 1 <= gpus <= work.prompts:
        raise ValueError(
            f"sharding is {sharding!r} on {gpus} GPUs for {work.prompts} prompts; use {', '.join(SHARDINGS)} "
            "and at least one prompt for each GPU"
        )
    architecture = Architecture.of(model)
    here = estimate_memory(
        architecture,
        lora_rank=None,
        dtype="bfloat16",
        group_size=work.group_size,
        prompt_tokens=work.prompt_tokens,
        completion_tokens=work.completion_tokens,
        micro_batch=work.micro_batch,
        prompts_per_step=ceil(work.prompts / gpus),
        gradient_checkpointing=work.gradient_checkpointing,
    )
    n, layer = architecture.parameters, sum(a * b for a, b in architecture.linears.values())
    return GpuBytes(
        weights=2 * n / (gpus if sharding == "zero3" else 1),
        gradients=2 * n / (1 if sharding == "ddp" else gpus),
        optimizer=12 * n / (1 if sharding == "ddp" else gpus),
        gathered=2 * 2 * layer if sharding == "zero3" else 0.0,  # the layer at work and the next one
        sampler=2 * n / sampler_gpus,
        kv_cache=here.kv_cache,
        activations=here.activations + here.workspace,
        logits=here.logits,
    )


@dataclass(frozen=True)
class StepSeconds:
    """Seconds of one step, by part."""

    prefill: float
    decode: float
    scoring: float
    training: float
    communication: float

    @property
    def total(self) -> float:
        return sum(asdict(self).values())


def operations(a: Architecture, tokens: float, context: float) -> float:
    """Floating-point operations of one forward over tokens that look back on `context` tokens on average."""
    matrices = a.layers * sum(x * y for x, y in a.linears.values()) + a.vocabulary * a.hidden
    return tokens * (2 * matrices + 4 * a.layers * a.query * context)


def step_seconds(model, gpus: int, sharding: str, work: Workload, device: Device, *, number: int = 2) -> StepSeconds:
    """Seconds of one GRPO step on `gpus` devices. number: bytes of a weight, a gradient and a cached value."""
    a = Architecture.of(model)
    prompts = work.prompts / gpus
    rows, S, T = prompts * work.group_size, work.prompt_tokens, work.completion_tokens
    weights, cache = number * a.parameters, 2 * number * a.layers * a.key
    compute, read = device.flops * device.training, device.bandwidth * device.decoding
    context = S + T / 2
    token = max((weights + rows * context * cache) / read, operations(a, rows, context) / compute)
    forward = operations(a, rows * (S + T), (S + T) / 2) / compute
    micro_batches = rows / work.micro_batch
    # Ring collectives: an all-gather or a reduce-scatter moves (n - 1) / n of the tensor, an all-reduce twice that.
    # Both ddp and zero2 move 2 tensors an update; zero3 gathers the weights twice for every micro-batch.
    tensors = 2 * micro_batches + work.updates if sharding == "zero3" else 2 * work.updates
    sync = 1 if gpus > 1 else 0  # the new weights reach the sampler once a step
    return StepSeconds(
        prefill=operations(a, prompts * S, S / 2) / compute,
        decode=T * token,
        scoring=work.forwards * forward,
        training=forward * (4 if work.gradient_checkpointing else 3),
        communication=(tensors + sync) * weights * (gpus - 1) / gpus / (device.link * device.linking),
    )
