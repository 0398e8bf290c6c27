"""The settings of one training run, checked before anything is loaded."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from .methods import get_method


@dataclass(frozen=True)
class TrainConfig:
    """Settings of `train`; one step is one rollout of prompts_per_step x group_size completions.

    The rollout is split at random into `minibatches`, each of which moves the weights once, `epochs` times over.
    learning_rate rises over warmup_steps and falls linearly to decay_to of itself at the last step (1: constant).
    micro_batch: most sequences in one forward (None: the minibatch); any value gives the same gradient.
    kl_beta: weight of the KL penalty to the initial policy, estimated by kl_estimator (k2 or k3).
    mask_truncated: leave out completions that hit max_new_tokens. train_problems: only the first N of the split.
    old_logp: "sampler" takes the sampling log-probabilities as logp_old, "recompute" the training forward's, "auto"
    recomputes unless the model is float32, where both agree to rounding (the log's `sampler_gap` says how closely).
    eval_every: steps between evaluations of eval_n problems of each of eval_splits, also before and after (0: never).
    checkpoint_every: steps between checkpoints of a run directory (0: only at the end); the newest keep_checkpoints
    and the best on dev stay.
    """

    method: str = "grpo"
    steps: int = 60
    prompts_per_step: int = 32
    group_size: int = 8
    minibatches: int = 4
    epochs: int = 1
    learning_rate: float = 2e-4
    warmup_steps: int = 0
    decay_to: float = 1.0
    max_grad_norm: float = 1.0
    kl_beta: float = 0.0
    kl_estimator: str = "k3"
    temperature: float = 1.0
    max_new_tokens: int | None = None
    micro_batch: int | None = None
    mask_truncated: bool = False
    method_options: dict[str, Any] = field(default_factory=dict)
    train_problems: int | None = None
    old_logp: str = "auto"
    gradient_checkpointing: bool = False
    eval_every: int = 0
    eval_n: int = 200
    eval_splits: tuple[str, ...] = ("dev",)
    checkpoint_every: int = 10
    keep_checkpoints: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        get_method(self.method, **self.method_options)
        if self.group_size < 2:
            raise ValueError(
                f"group_size is {self.group_size}; a group-relative method needs G >= 2, or nothing can be compared"
            )
        for name in ("steps", "prompts_per_step", "minibatches", "epochs", "keep_checkpoints"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        rows = self.prompts_per_step * self.group_size
        if rows % self.minibatches:
            valid = [m for m in range(1, min(rows, 64) + 1) if rows % m == 0]
            raise ValueError(
                f"{self.prompts_per_step} prompts x {self.group_size} completions = {rows} cannot be split into "
                f"{self.minibatches} equal minibatches; valid numbers of minibatches: {', '.join(map(str, valid))}"
            )
        if self.temperature <= 0:
            raise ValueError(f"temperature is {self.temperature}; sampling for training needs a temperature above 0")
        if self.learning_rate <= 0 or self.kl_beta < 0 or self.max_grad_norm <= 0:
            raise ValueError(
                "learning_rate and max_grad_norm must be above 0 and kl_beta at least 0; got "
                f"{self.learning_rate}, {self.max_grad_norm} and {self.kl_beta}"
            )
        if not 0 <= self.decay_to <= 1:
            raise ValueError(f"decay_to is {self.decay_to}; it is the share of the learning rate left, 0 to 1")
        if self.kl_estimator not in ("k2", "k3"):
            raise ValueError(f"kl_estimator is {self.kl_estimator!r}; as a loss only k2 and k3 have a KL gradient")
        if self.old_logp not in ("auto", "sampler", "recompute"):
            raise ValueError(f"old_logp is {self.old_logp!r}; choose auto, sampler or recompute")

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 1."""
        warmup = min(1.0, step / max(1, self.warmup_steps))
        done = (step - 1) / max(1, self.steps - 1)
        return self.learning_rate * warmup * (1.0 - (1.0 - self.decay_to) * done)

    @classmethod
    def from_batch(cls, batch: int, group_size: int, **settings) -> TrainConfig:
        """Settings from TRL's way of counting: a batch of completions that holds whole groups.

        Raises ValueError that names the valid group sizes if the batch cannot be split into groups.
        """
        if group_size < 2 or batch % group_size:
            valid = [g for g in range(2, batch + 1) if batch % g == 0]
            raise ValueError(
                f"a batch of {batch} completions cannot be split into groups of {group_size}; a group needs G >= 2 "
                f"and G must divide the batch: {', '.join(map(str, valid))}"
            )
        return cls(prompts_per_step=batch // group_size, group_size=group_size, **settings)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as written to run.json."""
        return {**asdict(self), "eval_splits": list(self.eval_splits)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """The inverse of `to_dict`; ValueError names unknown keys."""
        unknown = set(values) - {f.name for f in fields(cls)}
        if unknown:
            raise ValueError(f"unknown settings: {', '.join(sorted(unknown))}")
        return cls(**{**values, "eval_splits": tuple(values.get("eval_splits", ("dev",)))})
