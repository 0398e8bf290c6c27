"""Rollouts with tools: the policy writes a call, generation stops, the environment answers, generation goes on.

What the environment wrote is in the context of every later token and out of the loss: its mask is 0, so no gradient
asks the policy to have written it. Differs from `rollouts.sample_groups` in that the context is read again in each
turn (on a small policy cheaper than keeping caches of different lengths apart), and from agent frameworks in that
everything of one completion stays in one assistant message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import torch
from torch import Tensor

from .decoder import make_decoder
from .environments import Environment, last_call
from .policies import Policy
from .rollouts import Rollouts, draw, encode_prompts, eos_ids, pad_id
from .tasks import Problem


@dataclass
class Episode:
    """One completion while it grows.

    ids, mask, logp, entropy: of each token, mask 1 where the policy wrote it. turn: where the policy's latest turn
    begins. calls: what was asked; statuses: what came of it. ended: "answer" (the policy stopped by itself), "tokens"
    or "calls" (a limit was reached), "" while it goes on.
    """

    prompt: list[int]
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logp: list[float] = field(default_factory=list)
    entropy: list[float] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    turn: int = 0
    ended: str = ""

    def write(self, token: int, logp: float, entropy: float) -> None:
        """One token of the policy."""
        self._append([token], 1, [logp], [entropy])

    def read(self, tokens: list[int]) -> None:
        """Tokens of the environment: nobody sampled them, so they have no log-probability."""
        zeros = [0.0] * len(tokens)
        self._append(tokens, 0, zeros, zeros)
        self.turn = len(self.ids)

    def _append(self, tokens, kept, logp, entropy) -> None:
        self.ids += tokens
        self.mask += [kept] * len(tokens)
        self.logp += logp
        self.entropy += entropy


@dataclass
class ToolRollouts(Rollouts):
    """Rollouts whose mask is 0 on the environment's tokens as well.

    texts hold calls and results. read_mask (B, T): 1 on the environment's tokens. episodes: B of them.
    """

    read_mask: Tensor
    episodes: list[Episode]

    def counts(self) -> dict[str, float]:
        """Calls per completion, share of completions by how they ended, share of calls by status."""
        B = len(self.episodes)
        statuses = Counter(status for episode in self.episodes for status in episode.statuses)
        endings = Counter(episode.ended for episode in self.episodes)
        calls = sum(statuses.values())
        return {
            "calls": calls / B,
            **{f"ended_{name}": count / B for name, count in sorted(endings.items())},
            **{f"call_{name}": count / calls for name, count in sorted(statuses.items())},
        }


def sample_tool_groups(
    policy: Policy,
    problems: Sequence[Problem],
    group_size: int,
    environment: Environment,
    *,
    max_new_tokens: int,
    temperature: float = 1.0,
    seed: int,
) -> ToolRollouts:
    """`sample_groups` with an environment that answers calls.

    max_new_tokens: of a completion, what the environment writes included. Row i draws its t-th own token with the
    t-th number of its own row. Raises ValueError as `sample_groups` does.
    """
    if not problems or group_size < 1 or max_new_tokens < 1 or temperature < 0:
        raise ValueError(
            "sample_tool_groups needs at least one problem, group_size >= 1, max_new_tokens >= 1 and temperature >= 0; "
            f"got {len(problems)} problems, {group_size}, {max_new_tokens}, {temperature}"
        )
    prompt_ids, prompt_mask = (t.repeat_interleave(group_size, 0) for t in encode_prompts(policy, problems))
    prompts = [row[keep.bool()].tolist() for row, keep in zip(prompt_ids, prompt_mask, strict=True)]
    episodes = [Episode(prompt) for prompt in prompts]
    generator = torch.Generator().manual_seed(seed)
    uniforms = torch.rand(len(episodes), max_new_tokens, generator=generator, dtype=torch.float64).float()
    was_training = policy.model.training
    policy.model.eval()
    while going := [row for row, episode in enumerate(episodes) if not episode.ended]:
        _one_turn(policy, [episodes[row] for row in going], uniforms[going], max_new_tokens, temperature)
        for row in going:
            if not episodes[row].ended:
                _answer(policy, episodes[row], environment, max_new_tokens)
    policy.model.train(was_training)
    return _collect(policy, prompt_ids, prompt_mask, episodes, list(problems), group_size)


@torch.no_grad()
def _one_turn(policy, episodes: list[Episode], uniforms: Tensor, max_new_tokens: int, temperature: float) -> None:
    """Let each episode write until it closes a call, ends, or reaches the token limit; a call leaves `ended` empty."""
    contexts = [episode.prompt + episode.ids for episode in episodes]
    longest = max(map(len, contexts))
    ids = torch.tensor([[pad_id(policy)] * (longest - len(c)) + c for c in contexts], device=policy.device)
    mask = torch.tensor([[0] * (longest - len(c)) + [1] * len(c) for c in contexts], device=policy.device)
    room = max_new_tokens - min(len(episode.ids) for episode in episodes)
    decoder = make_decoder(policy.model, longest + room)
    logits = decoder.prefill(ids, mask)
    eos, rows, own = set(eos_ids(policy)), list(range(len(episodes))), [sum(e.mask) for e in episodes]
    closes = cache(lambda token: ">" in policy.tokenizer.decode([token]))
    while rows:
        numbers = uniforms[rows, [own[row] for row in rows]].to(logits.device)
        tokens, logp, entropy = draw(logits, numbers, temperature)
        still = []
        for place, token in enumerate(zip(tokens.tolist(), logp.tolist(), entropy.tolist(), strict=True)):
            episode = episodes[rows[place]]
            episode.write(*token)
            own[rows[place]] += 1
            if token[0] in eos:
                episode.ended = "answer"
            elif len(episode.ids) == max_new_tokens:
                episode.ended = "tokens"
            elif not (closes(token[0]) and _call(policy, episode) is not None):
                still.append(place)
        if still and len(still) < len(rows):
            decoder.keep(torch.tensor(still, device=policy.device))
        rows, tokens = [rows[place] for place in still], tokens[still]
        if rows:
            logits = decoder.step(tokens)


def _call(policy, episode: Episode) -> str | None:
    """The call that the policy has just closed, or None."""
    return last_call(policy.tokenizer.decode(episode.ids[episode.turn :]))


def _answer(policy, episode: Episode, environment: Environment, max_new_tokens: int) -> None:
    """The environment's turn: append its reply, or end the episode if a limit is reached."""
    if len(episode.calls) == environment.max_calls:
        episode.ended = "calls"
        return
    call = _call(policy, episode)
    reply = environment.reply(call, episode.calls)
    tokens = policy.tokenizer(reply.text, add_special_tokens=False)["input_ids"]
    episode.calls.append(call)
    episode.statuses.append(reply.status)
    if len(episode.ids) + len(tokens) >= max_new_tokens:
        episode.ended = "tokens"
    else:
        episode.read(tokens)


def _collect(policy, prompt_ids, prompt_mask, episodes: list[Episode], problems, group_size: int) -> ToolRollouts:
    T = max(len(episode.ids) for episode in episodes)

    def table(name: str, fill: float, dtype=torch.float32) -> Tensor:
        rows = [getattr(episode, name) for episode in episodes]
        return torch.tensor([row + [fill] * (T - len(row)) for row in rows], dtype=dtype, device=policy.device)

    mask = table("mask", 0)
    return ToolRollouts(
        prompt_ids=prompt_ids,
        prompt_mask=prompt_mask,
        completion_ids=table("ids", pad_id(policy), torch.long),
        mask=mask,
        logp=table("logp", 0.0),
        entropy=table("entropy", 0.0),
        finished=torch.tensor([episode.ended == "answer" for episode in episodes], device=policy.device),
        texts=policy.tokenizer.batch_decode([episode.ids for episode in episodes], skip_special_tokens=True),
        problems=problems,
        group_size=group_size,
        read_mask=(table("mask", 1) == 0).float(),
        episodes=episodes,
    )
