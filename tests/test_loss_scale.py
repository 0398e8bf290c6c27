"""float16 trains: its scaled gradients are those of float32."""

import pytest
import torch
from tiny import stir_adapters, tiny_policy

from grpo_lessons.config import TrainConfig
from grpo_lessons.loss_scale import FLOAT16_FACTOR, loss_scale, unscale
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.tasks import get_task
from grpo_lessons.update import Updater


def test_only_float16_is_scaled():
    assert loss_scale(torch.float16) == FLOAT16_FACTOR
    assert loss_scale(torch.bfloat16) == loss_scale(torch.float32) == 1.0


def test_unscale_divides_what_backward_left():
    parameters = [torch.nn.Parameter(torch.ones(2)) for _ in range(2)]
    parameters[0].grad = torch.tensor([8.0, -4.0])
    unscale(parameters, 4.0)
    assert parameters[0].grad.tolist() == [2.0, -1.0] and parameters[1].grad is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_an_update_in_sixteen_bits_moves_the_adapters_as_in_float32(dtype):
    """AdamW's first step is the sign of the gradient: where it is not tiny, 16 bits must agree on it."""
    problems = get_task("addition").problems("train", 2, 0)
    moved, rollouts = {}, None
    for number in (torch.float32, dtype):
        policy = tiny_policy(lora=4, dtype=number)
        stir_adapters(policy)
        if rollouts is None:
            rollouts = sample_groups(policy, problems, 4, max_new_tokens=12, seed=0)
        before = {n: p.detach().clone() for n, p in policy.model.named_parameters() if p.requires_grad}
        config = TrainConfig(prompts_per_step=2, group_size=4, minibatches=1, learning_rate=1e-3, max_grad_norm=1e6)
        rewards = torch.tensor([[1.0, 0.0, 0.0, 1.0]] * 2)
        updater = Updater(policy, config, 12)
        row = updater.update(rollouts, rewards, updater.method.advantages(rewards), 1)
        after = dict(policy.model.named_parameters())
        moved[number] = torch.cat([(after[n] - b).flatten() for n, b in before.items()]), row["grad_norm"]
    (full, norm), (half, half_norm) = moved[torch.float32], moved[dtype]
    assert half_norm == pytest.approx(norm, rel=0.05)
    assert ((full.sign() == half.sign()).float().mean()) > 0.95
