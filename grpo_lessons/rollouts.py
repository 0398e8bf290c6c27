"""Sample groups of completions: the "ask" and "sample" of the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .decoder import make_decoder
from .logprobs import token_logprobs
from .policies import Policy
from .tasks import Problem, Task

SHRINK = 0.9  # copying the cache pays once a tenth of the rows is done


@dataclass
class Rollouts:
    """P problems with G completions each; row p*G + g is completion g of problem p. B = P*G, S and T tokens.

    prompt_ids, prompt_mask (B, S): left-padded prompts. completion_ids, mask (B, T): mask is 1 up to and with the
    first end-of-sequence token. logp, entropy (B, T): of the sampling distribution (after the temperature), 0 where
    the mask is 0. finished (B,): True if the completion ended by itself, False if it hit max_new_tokens.
    texts: B strings without special tokens. problems: the P problems.
    """

    prompt_ids: Tensor
    prompt_mask: Tensor
    completion_ids: Tensor
    mask: Tensor
    logp: Tensor
    entropy: Tensor
    finished: Tensor
    texts: list[str]
    problems: list[Problem]
    group_size: int

    @property
    def lengths(self) -> Tensor:
        """Completion tokens of each row, the end-of-sequence token included: (B,)."""
        return self.mask.sum(1)

    @property
    def row_problems(self) -> list[Problem]:
        """The problem of each of the B rows."""
        return [problem for problem in self.problems for _ in range(self.group_size)]


def roll_out(policy: Policy, task: Task, problems: Sequence[Problem], group_size: int, **options) -> Rollouts:
    """The task's own `rollout` where it has one (tools, for instance), else `sample_groups`; options as there."""
    if hasattr(task, "rollout"):
        return task.rollout(policy, problems, group_size, **options)
    return sample_groups(policy, problems, group_size, **options)


def sample_groups(
    policy: Policy,
    problems: Sequence[Problem],
    group_size: int,
    *,
    max_new_tokens: int,
    temperature: float = 1.0,
    seed: int,
) -> Rollouts:
    """Sample group_size completions for each problem from the full distribution (no top-p, no top-k).

    temperature: divides the logits; 0 takes the likeliest token. seed: row i draws its t-th token with the t-th
    number of its own row, so a completion does not depend on which other rows are finished.
    Raises ValueError for an empty list, group_size < 1, max_new_tokens < 1 or a negative temperature.
    """
    if not problems or group_size < 1 or max_new_tokens < 1 or temperature < 0:
        raise ValueError(
            "sample_groups needs at least one problem, group_size >= 1, max_new_tokens >= 1 and temperature >= 0; "
            f"got {len(problems)} problems, {group_size}, {max_new_tokens}, {temperature}"
        )
    was_training = policy.model.training
    policy.model.eval()
    ids, mask = encode_prompts(policy, problems)
    decode = _decode if policy.sampler is None else _decode_by_backend
    completion_ids, logp, entropy = decode(policy, ids, mask, group_size, max_new_tokens, temperature, seed)
    policy.model.train(was_training)
    completion_mask, finished = completion_mask_of(completion_ids, eos_ids(policy))
    completion_ids = completion_ids.masked_fill(completion_mask == 0, pad_id(policy))
    return Rollouts(
        prompt_ids=ids.repeat_interleave(group_size, 0),
        prompt_mask=mask.repeat_interleave(group_size, 0),
        completion_ids=completion_ids,
        mask=completion_mask,
        logp=logp * completion_mask,
        entropy=entropy * completion_mask,
        finished=finished,
        texts=decode_texts(policy, completion_ids, completion_mask),
        problems=list(problems),
        group_size=group_size,
    )


def encode_prompts(policy: Policy, problems: Sequence[Problem]) -> tuple[Tensor, Tensor]:
    """Token ids and mask (P, S) of the chat prompts, padded on the left."""
    render = policy.tokenizer.apply_chat_template
    texts = [render(p.prompt, add_generation_prompt=True, tokenize=False) for p in problems]
    rows = policy.tokenizer(texts, add_special_tokens=False)["input_ids"]
    longest = max(map(len, rows))
    ids = torch.tensor([[pad_id(policy)] * (longest - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
    return ids.to(policy.device), mask.to(policy.device)


def completion_mask_of(completion_ids: Tensor, eos: Sequence[int]) -> tuple[Tensor, Tensor]:
    """(mask (B, T) float: 1 up to and with the first end token, finished (B,) bool).

    Looks for the end token and not for padding, so it is right when both share an id.
    """
    is_eos = torch.isin(completion_ids, torch.tensor(list(eos), device=completion_ids.device))
    ended_before = is_eos.cumsum(1) - is_eos.long()
    return (ended_before == 0).float(), is_eos.any(1)


def decode_texts(policy: Policy, completion_ids: Tensor, mask: Tensor) -> list[str]:
    """The completions as text, special tokens left out."""
    rows = [ids[:n] for ids, n in zip(completion_ids.tolist(), mask.sum(1).long().tolist(), strict=True)]
    return policy.tokenizer.batch_decode(rows, skip_special_tokens=True)


def eos_ids(policy: Policy) -> list[int]:
    """All ids that end a completion: the tokenizer's and those of the model's generation config."""
    configured = getattr(policy.model, "generation_config", None)
    ids = getattr(configured, "eos_token_id", None)
    ids = set(ids if isinstance(ids, (list, tuple)) else [ids])
    return sorted({policy.tokenizer.eos_token_id, *ids} - {None})


def pad_id(policy: Policy) -> int:
    """The padding id, or the end token's where the tokenizer has none."""
    pad = policy.tokenizer.pad_token_id
    return policy.tokenizer.eos_token_id if pad is None else pad


@torch.no_grad()
def _decode(policy, prompt_ids, prompt_mask, group_size, max_new_tokens, temperature, seed):
    """Token ids, log-probabilities and entropies (B, T), T the longest completion; finished rows leave the batch."""
    B, device = len(prompt_ids) * group_size, prompt_ids.device
    eos = torch.tensor(eos_ids(policy), device=device)
    generator = torch.Generator().manual_seed(seed)
    uniforms = torch.rand(B, max_new_tokens, generator=generator, dtype=torch.float64).to(device, torch.float32)
    ids = torch.full((B, max_new_tokens), int(eos[0]), device=device)
    logp, entropy = (
        torch.zeros(B, max_new_tokens, device=device),
        torch.zeros(B, max_new_tokens, device=device),
    )

    decoder = make_decoder(policy.model, prompt_ids.shape[1] + max_new_tokens)
    logits = decoder.prefill(prompt_ids, prompt_mask).repeat_interleave(group_size, 0)
    decoder.expand(group_size)
    rows = torch.arange(B, device=device)  # where the decoder's rows belong
    alive = torch.ones(B, dtype=torch.bool, device=device)
    for t in range(max_new_tokens):
        token, token_logp, token_entropy = draw(logits, uniforms[rows, t], temperature)
        ids[rows, t] = torch.where(alive, token, eos[0])
        logp[rows, t], entropy[rows, t] = token_logp, token_entropy
        alive = alive & ~torch.isin(token, eos)
        count = int(alive.sum())
        if count == 0 or t + 1 == max_new_tokens:
            break
        if count <= SHRINK * len(rows):
            still = alive.nonzero()[:, 0]
            decoder.keep(still)
            rows, token, alive = rows[still], token[still], alive[still]
        logits = decoder.step(token)
    return ids[:, : t + 1], logp[:, : t + 1], entropy[:, : t + 1]


@torch.no_grad()
def _decode_by_backend(policy, prompt_ids, prompt_mask, group_size, max_new_tokens, temperature, seed):
    """The same by a backend's own sampler, which returns tokens only: a forward pass of ours scores them."""
    settings = {"max_new_tokens": max_new_tokens, "temperature": temperature, "seed": seed}
    ids = policy.sampler(prompt_ids, prompt_mask, group_size, **settings)
    prompt_ids, prompt_mask = prompt_ids.repeat_interleave(group_size, 0), prompt_mask.repeat_interleave(group_size, 0)
    policy.model.eval()
    scores = token_logprobs(
        policy.model,
        torch.cat([prompt_ids, ids], 1),
        torch.cat([prompt_mask, torch.ones_like(ids)], 1),
        ids.shape[1],
        temperature=temperature or 1.0,
    )
    return ids, scores.logp, scores.entropy


def draw(logits: Tensor, uniforms: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """One token per row by inverting the cumulative distribution.

    logits (B, V), uniforms (B,) in [0, 1). Returns token ids, log-probabilities and entropies (B,) of the
    distribution softmax(logits / temperature); at temperature 0 the likeliest token, the rest at temperature 1.
    """
    log_probs = (logits / (temperature or 1.0)).log_softmax(-1)
    probs = log_probs.exp()
    if temperature == 0:
        token = logits.argmax(-1)
    else:
        cdf = probs.cumsum(-1)
        threshold = uniforms[:, None] * cdf[:, -1:]  # scaled, as rounding may leave the total beside 1
        token = torch.searchsorted(cdf, threshold, right=True)[:, 0].clamp_max(logits.shape[-1] - 1)
    entropy = -torch.linalg.vecdot(probs, log_probs.clamp_min(torch.finfo(log_probs.dtype).min))
    return token, log_probs.gather(-1, token[:, None])[:, 0], entropy
