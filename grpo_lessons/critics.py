"""The critic of PPO: what reward to expect, as seen before each token of a completion.

Differs from the value models of RLHF libraries: the separate critic begins as a copy of the policy (no reward model is
at hand), the value head begins at 0, and values come from the hidden states that predict the next token, so V_t knows
the prompt and the tokens before t. For the architectures of decoder.py (Qwen2, Llama, Mistral).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .logprobs import output_head, score_hidden
from .packed import Layout, hidden_states, packable
from .policies import Policy
from .rollouts import Rollouts


@dataclass(frozen=True)
class Rows:
    """Completions as PPO learns from them: prompts (B, S), padded on the left; the rest (B, T).

    mask is 1 on the completion's tokens up to and with the end token. advantages and returns are 0 until compared.
    """

    prompt_ids: Tensor
    prompt_mask: Tensor
    completion_ids: Tensor
    mask: Tensor
    logp_old: Tensor
    advantages: Tensor
    returns: Tensor

    @classmethod
    def of(cls, rollouts: Rollouts) -> Rows:
        nothing = torch.zeros_like(rollouts.mask)
        prompts = rollouts.prompt_ids, rollouts.prompt_mask
        return cls(*prompts, rollouts.completion_ids, rollouts.mask, rollouts.logp, nothing, nothing)

    def take(self, rows: Tensor) -> Rows:
        """These rows, in this order."""
        return Rows(**{name: tensor[rows] for name, tensor in vars(self).items()})


class Critic(nn.Module):
    """A linear head on the hidden states of a body. Only what it does not share with the policy is its parameter."""

    def __init__(self, kind: str, hidden_size: int, device: torch.device):
        super().__init__()
        self.kind = kind
        self.head = nn.Linear(hidden_size, 1, device=device)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, rows: Rows, hidden: Tensor | None = None) -> Tensor:
        """Expected reward before each token: (B, T) float32, 0 where masked.

        hidden (N, H): the policy's states at the kept tokens, which a critic that shares them takes as they are.
        """
        values = self.head(self.states(rows, hidden).to(self.head.weight.dtype))[:, 0].float()
        return spread(values, rows.mask)


class SeparateCritic(Critic):
    """A body of its own, at first a copy of the policy's: as many parameters again."""

    def __init__(self, policy: Policy):
        body = body_of(policy)
        super().__init__("separate", body.config.hidden_size, policy.device)
        self.body = copy.deepcopy(body)

    def states(self, rows: Rows, hidden: Tensor | None) -> Tensor:
        return body_states(self.body, rows)


class SharedCritic(Critic):
    """A head on the policy's own states: hidden_size + 1 parameters, and its error also moves the policy."""

    def __init__(self, policy: Policy):
        super().__init__("shared", body_of(policy).config.hidden_size, policy.device)
        self.policy = (policy,)  # in a tuple, so that its parameters are not counted as the critic's

    def states(self, rows: Rows, hidden: Tensor | None) -> Tensor:
        return states(self.policy[0], rows) if hidden is None else hidden


class NoCritic(nn.Module):
    """Expects 0 everywhere and learns nothing: what is left of PPO without its critic."""

    kind = "none"

    def forward(self, rows: Rows, hidden: Tensor | None = None) -> Tensor:
        return torch.zeros_like(rows.mask)


def make_critic(policy: Policy, kind: str) -> nn.Module:
    """A critic that says 0 everywhere before its first update: critic(rows) -> values (B, T).

    kind: "separate" (a copy of the policy's body and a head), "shared" (a head on the policy's own states) or "none"
    (0 for ever: the control that shows what the critic adds). ValueError for another kind or an unknown architecture.
    """
    kinds = {"separate": SeparateCritic, "shared": SharedCritic, "none": lambda policy: NoCritic()}
    if kind not in kinds:
        raise ValueError(f"critic is {kind!r}; choose one of {', '.join(kinds)}")
    if not packable(policy):
        raise ValueError(f"PPO here knows Qwen2, Llama and Mistral models run by transformers; got {policy.name!r}")
    return kinds[kind](policy)


def causal_lm(policy: Policy) -> nn.Module:
    return policy.model.get_base_model() if hasattr(policy.model, "get_base_model") else policy.model


def body_of(policy: Policy) -> nn.Module:
    """The decoder stack: token ids in, hidden states out."""
    return causal_lm(policy).model


def states(policy: Policy, rows: Rows) -> Tensor:
    """(N, H): the policy's last hidden state before each kept token, row by row."""
    return body_states(body_of(policy), rows)


def body_states(body: nn.Module, rows: Rows) -> Tensor:
    kept = rows.mask.bool()
    layout = Layout.of(rows.prompt_mask.bool(), torch.arange(len(kept), device=kept.device), kept)
    fed = rows.completion_ids[:, : layout.fed.shape[1]][layout.fed]
    tokens = torch.cat([rows.prompt_ids[rows.prompt_mask.bool()], fed])
    return hidden_states(body, tokens, layout).index_select(0, layout.sources[kept])


def log_probabilities(policy: Policy, hidden: Tensor, rows: Rows, temperature: float = 1.0) -> Tensor:
    """log pi of each kept token, (B, T), from the policy's states (N, H)."""
    targets = rows.completion_ids[rows.mask.bool()]
    logp, _, _ = score_hidden(output_head(causal_lm(policy)), hidden, targets, temperature=temperature, chunk=256)
    return spread(logp, rows.mask)


def spread(values: Tensor, mask: Tensor) -> Tensor:
    """(N,) values of the kept tokens -> (B, T), 0 elsewhere."""
    zeros = torch.zeros(mask.shape, dtype=torch.float32, device=values.device)
    return zeros.index_put((mask.bool(),), values)
