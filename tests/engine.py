"""What the tests of the engine share: the nano policy, a handful of sums, small settings."""

import copy
from functools import cache

import torch

from grpo_lessons.config import TrainConfig
from grpo_lessons.policies import load_policy
from grpo_lessons.tasks.addition import Addition

SMALL = {"steps": 2, "prompts_per_step": 4, "group_size": 4, "minibatches": 2}


@cache
def _loaded(lora):
    return load_policy("nano", device="cpu", lora=lora)


def nano(lora=None):
    """A fresh copy of the nano policy, with adapters if lora says so."""
    return copy.deepcopy(_loaded(lora))


def sums(*pairs):
    return [Addition.problem(a, b) for a, b in pairs]


def config(**changes):
    return TrainConfig(**{**SMALL, **changes})


def weights(policy):
    """All weights as one vector, a copy."""
    return torch.cat([p.detach().flatten() for p in policy.model.parameters()]).clone()


def parity(prompts, completions, **columns):
    """A reward that any policy earns about half of the time: 1 for an even number of characters."""
    return [float(len(text) % 2 == 0) for text in completions]


def alternating(prompts, completions, **columns):
    """1, 0, 1, 0, ...: no group is ever dead, whatever the policy writes."""
    return [float(row % 2 == 0) for row in range(len(completions))]
