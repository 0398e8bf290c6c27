"""The registry: a name -> advantage rule, loss, defaults, citation. The trainer goes by name only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from . import losses
from .advantages import group_advantages
from .weights import (
    high_entropy_mask,
    low_probability_split,
    normalize_weights,
    sharpness_weights,
)


@dataclass(frozen=True)
class Method:
    """One way to turn scored completions into an update. In the trainer, with every tensor (B, T) of a
    minibatch:

        advantages = method.advantages(rewards).flatten()               # (P, G) -> (B,)
        for parts in method.prepare(mask, logp_old, score):             # one optimizer step each
            n_sequences, n_tokens = method.counts(parts["mask"])        # over the whole minibatch
            for rows in micro_batches:
                ... new log-probabilities of these rows, with gradient ...
                method.loss(logp_new, logp_old[rows], advantages[rows],
                            **{key: tensor[rows] for key, tensor in parts.items()},
                            **needed, **method.options, n_sequences=n_sequences, n_tokens=n_tokens)
            optimizer.step()

    needs: what the loss takes by keyword besides: "chosen_logits" (B, T) of this forward, before the
        temperature; "prob_old" (B, T) = exp(logp_old); "max_length", the token budget of a completion.
    options: keywords of the loss. batch_options: settings of `plan`. `get_method` changes either by name.
    plan: what must see the whole minibatch before its micro-batches (see `prepare`). updates: optimizer steps
        per minibatch.
    """

    name: str
    title: str
    paper: str
    loss: Callable[..., losses.PolicyLoss]
    advantage_std: str = "sample"
    needs: frozenset[str] = frozenset()
    options: Mapping[str, float | bool] = field(default_factory=dict)
    batch_options: Mapping[str, float | bool] = field(default_factory=dict)
    plan: Callable[..., list[dict[str, Tensor]]] | None = None
    updates: int = 1

    def advantages(self, rewards) -> Tensor:
        """(P, G) rewards -> (P, G) advantages, with this method's standard deviation."""
        return group_advantages(rewards, std=self.advantage_std)

    @torch.no_grad()
    def prepare(self, mask: Tensor, logp_old: Tensor, score: Callable) -> list[dict[str, Tensor]]:
        """One dict per optimizer step, of (B, T) tensors to slice by rows and hand to `loss` by keyword.

        Each holds the "mask" of that step, and "token_weights" if they depend on the whole minibatch.
        score: called without arguments, and only if this method needs it; returns the minibatch's
            `TokenScores` (logp, chosen_logit, entropy), computed without gradient.
        """
        if self.plan is None:
            return [{"mask": mask}]
        return self.plan(mask, logp_old, score, {**self.options, **self.batch_options})

    def counts(self, mask: Tensor) -> tuple[int, int]:
        """n_sequences (rows that keep a token; Dr. GRPO: all rows) and n_tokens of a whole minibatch."""
        rows = len(mask) if self.loss is losses.dr_grpo_loss else int(mask.bool().any(1).sum())
        return rows, int(mask.bool().sum())


def sharpness_plan(mask, logp_old, score, options) -> list[dict[str, Tensor]]:
    """GRPO-SG with normalize=True: the mean of the weights is that of the whole minibatch."""
    if not options["normalize"]:
        return [{"mask": mask}]
    constants = {key: options[key] for key in ("alpha", "tau", "mu", "low", "high")}
    weights = sharpness_weights(score().chosen_logit, **constants)
    return [{"mask": mask, "token_weights": normalize_weights(weights, mask)}]


def high_entropy_plan(mask, logp_old, score, options) -> list[dict[str, Tensor]]:
    return [{"mask": high_entropy_mask(score().entropy, mask, top=options["top"])}]


def lopti_plan(mask, logp_old, score, options) -> list[dict[str, Tensor]]:
    unlikely, rest = low_probability_split(logp_old.exp(), mask, eta=options["eta"])
    return [{"mask": unlikely}, {"mask": rest}]


CLIP = {"clip_low": 0.2, "clip_high": 0.2}
SHARPNESS = {"alpha": 2.0, "tau": 9.0, "mu": 0.25, "low": 1.0, "high": 1.4, "normalize": False}
GMPO_PAPER, AR_PAPER = "arXiv 2507.20673", "arXiv 2505.12929"


def gmpo_ablation(name: str, title: str, clip: float) -> Method:
    return Method(name, title, GMPO_PAPER, losses.gmpo_loss, options={"clip_low": clip, "clip_high": clip})


ALL = [
    Method("grpo", "GRPO", "arXiv 2402.03300", losses.grpo_loss, options=CLIP),
    Method(
        "dr_grpo",
        "Dr. GRPO",
        "arXiv 2503.20783",
        losses.dr_grpo_loss,
        advantage_std="none",
        needs=frozenset({"max_length"}),
        options=CLIP,
    ),
    Method("dapo", "DAPO", "arXiv 2503.14476", losses.dapo_loss, options={"clip_low": 0.2, "clip_high": 0.28}),
    Method("gspo", "GSPO", "arXiv 2507.18071", losses.gspo_loss, options={"clip_low": 3e-4, "clip_high": 4e-4}),
    gmpo_ablation("gmpo", "GMPO", 0.4),
    Method(
        "grpo_sg",
        "GRPO-SG",
        "arXiv 2511.00066",
        losses.grpo_sg_loss,
        needs=frozenset({"chosen_logits"}),
        options={**SHARPNESS, **CLIP},
        plan=sharpness_plan,
    ),
    Method(
        "ar",
        "GRPO + advantage reweighting",
        AR_PAPER,
        losses.ar_loss,
        needs=frozenset({"prob_old"}),
        options={"alpha": 0.2, **CLIP},
    ),
    Method(
        "lopti",
        "GRPO + Lopti",
        AR_PAPER,
        losses.grpo_loss,
        options=CLIP,
        batch_options={"eta": 0.4},
        plan=lopti_plan,
        updates=2,
    ),
    Method(
        "ar_lopti",
        "GRPO + AR + Lopti",
        AR_PAPER,
        losses.ar_loss,
        needs=frozenset({"prob_old"}),
        options={"alpha": 0.3, **CLIP},
        batch_options={"eta": 0.5},
        plan=lopti_plan,
        updates=2,
    ),
    Method(
        "high_entropy",
        "80/20 (DAPO on uncertain tokens)",
        "arXiv 2506.01939",
        losses.dapo_loss,
        options={"clip_low": 0.2, "clip_high": 0.28},
        batch_options={"top": 0.2},
        plan=high_entropy_plan,
    ),
    gmpo_ablation("gmpo_no_clip", "GMPO without clipping", float("inf")),
    gmpo_ablation("gmpo_narrow", "GMPO, clip e^-0.2 to e^0.2", 0.2),
    gmpo_ablation("gmpo_wide", "GMPO, clip e^-0.8 to e^0.8", 0.8),
    # Clipping the geometric mean in place of each token is GSPO with GMPO's range:
    # e^-0.4 = 1 - 0.3297, e^0.4 = 1.4918.
    Method(
        "gmpo_sequence_clip",
        "GMPO, the sequence clipped",
        GMPO_PAPER,
        losses.gspo_loss,
        options={"clip_low": 0.32967995, "clip_high": 0.49182470},
    ),
]
METHODS: dict[str, Method] = {method.name: method for method in ALL}


def get_method(name: str, **options) -> Method:
    """The method of that name, some options changed. An unknown name: ValueError that lists the known ones."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; known: {', '.join(METHODS)}")
    method = METHODS[name]
    known = {**method.options, **method.batch_options}
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"method {name} has no option {', '.join(unknown)}; it has: {', '.join(known)}")
    return replace(
        method,
        options={key: options.get(key, value) for key, value in method.options.items()},
        batch_options={key: options.get(key, value) for key, value in method.batch_options.items()},
    )
