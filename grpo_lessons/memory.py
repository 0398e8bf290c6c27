"""The GPU memory calculator: where the bytes of a GRPO run go, before it is started.

Weights, adapters, gradients, optimizer and KV cache are exact (tests compare them with real tensors). Activations are
counted operation by operation for this library's own training forward, within a fifth of what autograd saves. What
the driver and the allocator take are stated constants. Nothing here was fitted to a measured run.

Differs from a real run: every sequence is as long as the longest allowed one, and all prompts of a step are sampled
at once, as the trainer does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace

from .adapters import LORA_TARGETS
from .architecture import Architecture
from .memory_parts import (
    DTYPE_BYTES,
    RunShape,
    head_workspace,
    kept_for_backward,
    trainable,
    update_workspace,
    weight_bytes,
)

GIB = 2**30
CUDA_CONTEXT = 500 * 2**20  # assumed: CUDA context, cuBLAS and kernels; 300 to 600 MB are usual
ALLOCATOR_SHARE = 0.08  # assumed: reserved by PyTorch's allocator beyond what tensors hold
SAMPLING_COPIES = 5  # float32 tensors (B, V) alive while a token is drawn: logits, logp, p, cumulative p, entropy terms


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes by part. `weights` includes the quantisation state.

    Held all the time: weights, adapters, optimizer, reference, context. Only while sampling: kv_cache and
    sampling_logits. Only while updating: gradients, activations, and the larger of logits (at the end of the forward)
    and workspace (in backward). allocator: on top of the larger of the two phases.
    """

    weights: int
    adapters: int
    optimizer: int
    reference: int
    kv_cache: int
    sampling_logits: int
    gradients: int
    activations: int
    logits: int
    workspace: int
    context: int
    shape: RunShape = field(repr=False)

    @property
    def permanent(self) -> int:
        return self.weights + self.adapters + self.optimizer + self.reference

    @property
    def sampling(self) -> int:
        """Peak of tensors while completions are sampled."""
        return self.permanent + self.kv_cache + self.sampling_logits

    @property
    def updating(self) -> int:
        """Peak of tensors in the update of one micro-batch."""
        return self.permanent + self.gradients + self.activations + max(self.logits, self.workspace)

    @property
    def allocator(self) -> int:
        return int(ALLOCATOR_SHARE * max(self.sampling, self.updating))

    @property
    def total(self) -> int:
        """What the card must have."""
        return max(self.sampling, self.updating) + self.allocator + self.context

    @property
    def phase(self) -> str:
        """The phase that needs most: "sampling" or "updating"."""
        return "sampling" if self.sampling > self.updating else "updating"

    def parts(self) -> dict[str, int]:
        """{part: bytes}, zeros left out."""
        parts = {name: value for name, value in asdict(replace(self, shape=None)).items() if value}
        return {**parts, "allocator": self.allocator}

    def fits(self, gpu_gb: float) -> bool:
        """Whether a card of that many GiB holds the run."""
        return self.total <= gpu_gb * GIB

    def first_to_lower(self, gpu_gb: float) -> str | None:
        """The setting to change first when the run does not fit; None if it does.

        The first of LEVERS that makes it fit by itself, else the one that frees most. They stand in the order of what
        they cost: time only, then precision of the frozen weights, then what the run can learn.
        """
        if self.fits(gpu_gb):
            return None
        totals = {name: _estimate(lower(self.shape)).total for name, lower in LEVERS.items()}
        enough = [name for name, total in totals.items() if total <= gpu_gb * GIB]
        return enough[0] if enough else min(totals, key=totals.get)

    def longest_completion(self, gpu_gb: float) -> int:
        """Most completion tokens that fit with the other settings as they are; 0 if not even one does."""
        fits = lambda n: _estimate(replace(self.shape, completion_tokens=n)).fits(gpu_gb)  # noqa: E731
        low, high = 0, self.shape.architecture.max_positions - self.shape.prompt_tokens
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle) else (low, middle - 1)
        return low


# What "lower" means for each setting, in the order of what it costs.
LEVERS: dict[str, Callable[[RunShape], RunShape]] = {
    "micro_batch": lambda s: replace(s, micro_batch=1),
    "gradient_checkpointing": lambda s: replace(s, gradient_checkpointing=True),
    "prompts_per_step": lambda s: replace(s, prompts_per_step=max(1, s.prompts_per_step // 2)),
    "quantize": lambda s: replace(s, quantize="nf4", lora_rank=s.lora_rank or 16),
    "completion_tokens": lambda s: replace(s, completion_tokens=max(1, s.completion_tokens // 2)),
    "group_size": lambda s: replace(s, group_size=max(2, s.group_size // 2)),
}


def estimate_memory(
    model,
    *,
    quantize: str | None = None,
    lora_rank: int | None = 16,
    group_size: int = 8,
    prompt_tokens: int = 128,
    completion_tokens: int = 256,
    micro_batch: int | None = None,
    prompts_per_step: int = 4,
    gradient_checkpointing: bool = False,
    kl_beta: float = 0.0,
    dtype: str | None = None,
    lora_targets: tuple[str, ...] = LORA_TARGETS,
) -> MemoryEstimate:
    """Bytes of a GRPO run by part.

    model: a policy's name, a folder with config.json, a model, or its configuration. lora_rank: None trains every
    weight. prompt_tokens, completion_tokens: of the longest prompt and completion. micro_batch: sequences in one
    forward of the update (None: all of a step, prompts_per_step * group_size). dtype: of weights not in 4 bits
    (None: as `load_policy` on a GPU, bfloat16 for frozen weights and float32 for trained ones).
    Raises ValueError for impossible settings, such as quantised weights without adapters.
    """
    dtype = dtype or ("bfloat16" if lora_rank else "float32")
    if quantize not in (None, "nf4") or dtype not in DTYPE_BYTES:
        raise ValueError(
            f"quantize is {quantize!r} and dtype {dtype!r}; use None or 'nf4', and {', '.join(DTYPE_BYTES)}"
        )
    if quantize and not lora_rank:
        raise ValueError("weights in 4 bits cannot be trained: give lora_rank, or quantize=None")
    rows = prompts_per_step * group_size
    counts = (group_size, prompt_tokens, completion_tokens, prompts_per_step, micro_batch or rows)
    if min(counts) < 1:
        raise ValueError(f"group_size, tokens, prompts_per_step and micro_batch must be at least 1, got {counts}")
    return _estimate(
        RunShape(
            architecture=Architecture.of(model),
            quantize=quantize,
            lora_rank=lora_rank,
            group_size=group_size,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            prompts_per_step=prompts_per_step,
            micro_batch=min(micro_batch or rows, rows),
            gradient_checkpointing=gradient_checkpointing,
            kl_beta=kl_beta,
            dtype=dtype,
            lora_targets=tuple(lora_targets),
        )
    )


def _estimate(s: RunShape) -> MemoryEstimate:
    a, number = s.architecture, DTYPE_BYTES[s.dtype]
    rows = s.prompts_per_step * s.group_size
    cached = s.prompts_per_step * s.prompt_tokens + rows * s.completion_tokens  # a group shares its prompt's cache
    trained, tensors, size = trainable(s)
    return MemoryEstimate(
        weights=weight_bytes(a, s.quantize, number),
        adapters=trained * size if s.lora_rank else 0,
        optimizer=2 * trained * size + 4 * tensors,  # AdamW: two moments, and a float32 step count for each tensor
        reference=trained * size if s.kl_beta else 0,
        kv_cache=2 * a.layers * a.key * cached * number,
        sampling_logits=max(
            SAMPLING_COPIES * 4 * rows * a.vocabulary,
            s.prompts_per_step * a.heads * s.prompt_tokens**2 * (2 * number + 4),  # attention scores of the prompts
        ),
        gradients=trained * size,
        activations=kept_for_backward(s, number),
        logits=head_workspace(s, number),
        workspace=update_workspace(s, number),
        context=CUDA_CONTEXT,
        shape=s,
    )
