"""Which token counts how much: the same four completions under each method.

The completions and their numbers are made for teaching; the colours are not. Each weight is the derivative of
the library's own loss by that token's log-probability, taken by autograd.
"""

import numpy as np
import torch
from matplotlib.colors import LinearSegmentedColormap

from grpo_lessons.logprobs import TokenScores
from grpo_lessons.methods import get_method
from grpo_lessons.plots.style import BLUE, INK, VERMILLION, new_grid, title

# Question: 27 + 35; the wrong ones forget the carry. One line a completion: reward, tokens, their log ratios.
# A token with a star is one the policy was not sure of.
COMPLETIONS = (
    (1.0, "<answer> 62* </answer> EOS", (0.0, -0.06, 0.01, 0.0)),
    (
        1.0,
        "7+5= 12* ; 2+3 +1* = 6* ; <answer> 62* </answer> EOS",
        (0.01, 0.15, 0.0, 0.02, 0.9, 0.0, 0.1, 0.0, 0.01, 0.12, 0.01, 0.0),
    ),
    (0.0, "<answer> 52* </answer> EOS", (0.0, -0.3, -0.01, 0.0)),
    (
        0.0,
        "7+5= 12* ; 2+3 =* 5* ; <answer> 52* </answer> EOS",
        (-0.01, 0.05, 0.0, 0.02, 0.45, -0.1, 0.0, 0.01, -0.15, 0.01, 0.0),
    ),
)
# log-probability, logit and entropy of a token that the policy was sure of, and of another
SURE, UNSURE = (-0.02, 24.0, 0.1), (-0.9, 9.0, 1.0)
SIX = ("grpo", "dapo", "dr_grpo", "gspo", "gmpo", "grpo_sg")
UP_DOWN = LinearSegmentedColormap.from_list("up_down", [VERMILLION, "white", BLUE])


def example(drift: float = 1.0) -> dict[str, torch.Tensor]:
    """The four completions as tensors: rewards (4,), the rest (4, 12); log ratios times `drift`."""
    width = max(len(log_ratios) for _, _, log_ratios in COMPLETIONS)
    table = torch.zeros(len(COMPLETIONS), width, 5)
    for row, (_, text, log_ratios) in enumerate(COMPLETIONS):
        for column, (token, log_ratio) in enumerate(zip(text.split(), log_ratios, strict=True)):
            kind = UNSURE if token.endswith("*") else SURE
            table[row, column] = torch.tensor([1.0, *kind, drift * log_ratio])
    mask, logp_old, logit, entropy, log_ratio = table.unbind(-1)
    return {
        "rewards": torch.tensor([reward for reward, _, _ in COMPLETIONS]),
        "mask": mask,
        "logp_old": logp_old,
        "logp_new": logp_old + log_ratio,
        "chosen_logits": logit,
        "entropy": entropy,
        "prob_old": logp_old.exp(),
        "max_length": width,
    }


def credit_weights(method: str, *, drift: float = 1.0) -> torch.Tensor:
    """How hard a method pushes each token of the example: -d loss / d logp_new, (4, 12), 0 after the end.

    drift: 0 is the first update on fresh samples (every ratio is 1); 1 takes the log ratios of the example.
    A method with two updates a batch (Lopti) gets their sum at these ratios.
    """
    rule, data = get_method(method), example(drift)
    scores = TokenScores(data["logp_new"], data["chosen_logits"], data["entropy"])
    logp_new = data["logp_new"].clone().requires_grad_()
    common = rule.options | {name: data[name] for name in rule.needs}
    loss = 0.0
    for parts in rule.prepare(data["mask"], data["logp_old"], lambda: scores):
        n_sequences, n_tokens = rule.counts(parts["mask"])
        counts = {"n_sequences": n_sequences, "n_tokens": n_tokens}
        advantages = rule.advantages(data["rewards"][None]).flatten()
        loss = loss + rule.loss(logp_new, data["logp_old"], advantages, **parts, **common, **counts).loss
    return -torch.autograd.grad(loss, logp_new)[0]


def token_credit(methods=SIX, *, drift: float = 1.0):
    """The same four completions under each method, tokens coloured by the push that they get.

    What to see: blue tokens are made more probable, orange ones less, white ones get nothing. The number is
    the token's share of the whole batch's push, in percent, so that methods with another scale compare; the
    colours have the same limits in all panels.

    methods: names from the registry. drift: see `credit_weights`. Returns a Figure.
    """
    methods = [methods] if isinstance(methods, str) else list(methods)
    fig, axes = new_grid(len(methods), 1, size=(9, 1.8 * len(methods)))
    for ax in axes.flat:
        ax.set_axis_off()
    shares = {name: _percent(credit_weights(name, drift=drift)) for name in methods}
    limit = max(float(share.abs().max()) for share in shares.values())
    for ax, (name, share) in zip(axes.flat, shares.items(), strict=True):
        _draw(ax, share.numpy(), limit)
        ax.set_title(title(name), loc="left", fontsize=11, fontweight="bold", color=INK)
    return fig


def _percent(weights: torch.Tensor) -> torch.Tensor:
    return 100 * weights / weights.abs().sum().clamp(min=1e-12)


def _draw(ax, share: np.ndarray, limit: float) -> None:
    ax.set(xlim=(-1.3, share.shape[1]), ylim=(len(COMPLETIONS) - 0.4, -0.55))
    for row, (reward, completion, _) in enumerate(COMPLETIONS):
        ax.text(-0.15, row, "right" if reward else "wrong", ha="right", va="center", fontsize=9, color=INK)
        for column, text in enumerate(completion.replace("*", "").split()):
            value = share[row, column]
            face = UP_DOWN(0.5 + 0.5 * value / limit)
            ax.fill_between([column + 0.03, column + 0.97], row - 0.42, row + 0.42, color=face, ec="#AAAAAA", lw=0.6)
            number = f"{value:+.1f}" if abs(value) >= 0.05 else "0"
            ink = "white" if abs(value) > 0.6 * limit else INK
            ax.text(column + 0.5, row - 0.15, text, ha="center", va="center", fontsize=8, color=ink)
            ax.text(column + 0.5, row + 0.2, number, ha="center", va="center", fontsize=8, color=ink)
