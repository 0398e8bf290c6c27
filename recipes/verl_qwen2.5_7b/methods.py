"""What verl imports: the losses (external_lib) and the reward (custom_reward_function)."""

from grpo_lessons.integrations.verl import compute_score, register

__all__ = ["compute_score"]

# GRPO-SG's constants belong to a model: take them from the quantiles of its own logits
# (grpo_lessons.weights.constants_from_quantiles). Those of the library are second-hand.
register(grpo_sg={"alpha": 2.0, "tau": 9.0, "mu": 0.25})
