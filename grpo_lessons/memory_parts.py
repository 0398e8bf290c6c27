"""The parts of the memory calculator: weights, what is trained, and what a training forward keeps for backward.

Activations are counted operation by operation, for `packed.packed_logprobs`, or with gradient checkpointing for
`logprobs.token_logprobs` on whole rows, as a patched backend reads them (the packed forward needs less, as it reads a
prompt once); in both attention keeps keys and values for all query heads.
N tokens, b bytes a number: float32 tensors are kept once and shared; in 16 bits norms and adapters work on float32
copies, which are kept as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from .architecture import Architecture
from .four_bit import block_for
from .logprobs import PLAIN_LIMIT
from .quantization import nf4_bytes

DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
CHUNK = 256  # tokens for which logprobs.token_logprobs computes logits at once


@dataclass(frozen=True)
class RunShape:
    """The settings that decide the memory of a run; see `memory.estimate_memory`."""

    architecture: Architecture
    quantize: str | None
    lora_rank: int | None
    group_size: int
    prompt_tokens: int
    completion_tokens: int
    prompts_per_step: int
    micro_batch: int
    gradient_checkpointing: bool
    kl_beta: float
    dtype: str
    lora_targets: tuple[str, ...]


def weight_bytes(a: Architecture, quantize: str | None, number: int) -> int:
    """All weights as they are stored: the seven matrices of each layer in NF4 or not, everything else in `number`."""
    if quantize is None:
        return a.parameters * number
    matrices = sum(nf4_bytes(rows * columns, block=block_for(columns)) for columns, rows in a.linears.values())
    return a.layers * matrices + a.outside_linears * number


def trainable(s: RunShape) -> tuple[int, int, int]:
    """(numbers that the optimizer moves, in how many tensors, bytes of one); adapters are float32 always."""
    a = s.architecture
    if s.lora_rank is None:
        return a.parameters, a.tensors, DTYPE_BYTES[s.dtype]
    pairs = [a.linears[target] for target in s.lora_targets]
    return a.layers * s.lora_rank * sum(map(sum, pairs)), 2 * a.layers * len(pairs), 4


def kept_for_backward(run: RunShape, b: int) -> int:
    """Bytes kept by the forward of one micro-batch; with gradient checkpointing only the input of each layer."""
    if run.gradient_checkpointing:
        return run.architecture.layers * tokens(run) * run.architecture.hidden * b + outside_layers(run, b)
    first = 4 * tokens(run) * run.architecture.hidden if run.lora_rank else 0  # no gradient flows into the embedding
    return run.architecture.layers * one_layer(run, b) - first + outside_layers(run, b)


def rows_and_lengths(run: RunShape) -> tuple[int, int, int, int]:
    """(prompts, rows, prompt tokens, completion tokens that are read: the last one predicts nothing)."""
    return min(run.micro_batch, run.prompts_per_step), run.micro_batch, run.prompt_tokens, run.completion_tokens - 1


def tokens(run: RunShape) -> int:
    """Tokens that the linear layers of a micro-batch see: each prompt once, or with every completion."""
    prompts, rows, S, T = rows_and_lengths(run)
    return rows * (S + T) if run.gradient_checkpointing else prompts * S + rows * T


def one_layer(run: RunShape, b: int) -> int:
    """Bytes that one decoder layer keeps."""
    a = run.architecture
    mlp = 3 * a.intermediate * b  # gate, its activation, up
    norms = 2 * (4 * a.hidden + 4)  # input in float32 and 1 / its size
    inputs = adapter_inputs(run, b) if run.lora_rank else (4 * a.hidden + a.intermediate) * b
    return tokens(run) * (mlp + norms + inputs) + attention(run, b)


def attention(run: RunShape, b: int) -> int:
    """Queries, keys, values and the result, the log of each softmax's sum, and the mask of a layer."""
    prompts, rows, S, T = rows_and_lengths(run)
    query, heads = run.architecture.query * b, run.architecture.heads * 4
    if run.gradient_checkpointing:
        return rows * (S + T) * (4 * query + heads) + rows * (S + T) ** 2 * b
    result = tokens(run) * query if b == 4 and ("o_proj" in run.lora_targets or not run.lora_rank) else 0
    own = prompts * S * (4 * query + heads)
    return own + rows * (T * (2 * query + heads) + 2 * (S + T) * query + T * (S + T) * b) + result


def adapter_inputs(run: RunShape, b: int) -> int:
    """Bytes a token that the adapters of a layer keep: what goes into A, and what comes out of it.

    In float32 neighbours share their input (q, k, v; gate, up); o_proj's is counted with attention.
    """
    a, targets = run.architecture, run.lora_targets
    kept = len(targets) * run.lora_rank
    if b == 4:
        kept += a.hidden * bool({"q_proj", "k_proj", "v_proj"} & set(targets))
        kept += a.hidden * bool({"gate_proj", "up_proj"} & set(targets))
        kept += a.intermediate * ("down_proj" in targets)
    else:
        kept += sum(a.linears[target][0] for target in targets)
    return 4 * kept


def outside_layers(run: RunShape, b: int) -> int:
    """Bytes kept by rotary embedding, last norm and the head's part of the log-probabilities."""
    a, N, n = run.architecture, tokens(run), run.micro_batch * run.completion_tokens
    norm = 4 * a.hidden + (0 if run.lora_rank else a.hidden * b)
    plain = n * a.vocabulary <= PLAIN_LIMIT
    head = n * a.vocabulary * 4 if plain else 0
    hidden = 0 if plain and run.lora_rank else n * a.hidden * b
    return N * (norm + 2 * a.head_dim * b) + head + hidden


def head_workspace(run: RunShape, b: int) -> int:
    """Bytes of logits alive for a moment: up to three float32 tensors of their size, and two in 16 bits."""
    n, vocabulary = run.micro_batch * run.completion_tokens, run.architecture.vocabulary
    at_once = n if n * vocabulary <= PLAIN_LIMIT else min(n, CHUNK)
    return at_once * vocabulary * (12 if b == 4 else 16)


def update_workspace(run: RunShape, b: int) -> int:
    """Bytes alive for a moment in backward: gradients within one MLP, one weight expanded from 4 bits, and with
    gradient checkpointing the layer that is computed again."""
    a = run.architecture
    expanded = a.hidden * a.intermediate * b if run.quantize else 0
    again = one_layer(run, b) if run.gradient_checkpointing else 0
    return 3 * tokens(run) * a.intermediate * b + expanded + again
