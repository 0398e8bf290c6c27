"""Settings: refused before anything is loaded, with the rule and a way out."""

import pytest

from grpo_lessons.config import TrainConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"group_size": 1}, "group_size is 1; .* needs G >= 2"),
        (
            {"prompts_per_step": 3, "group_size": 2, "minibatches": 4},
            "= 6 .* valid numbers of minibatches: 1, 2, 3, 6$",
        ),
        ({"steps": 0}, "steps is 0; it must be at least 1"),
        ({"temperature": 0.0}, "temperature is 0.0"),
        ({"learning_rate": 0.0}, "must be above 0"),
        ({"kl_beta": -0.1}, "kl_beta at least 0"),
        ({"kl_estimator": "k1"}, "only k2 and k3 have a KL gradient"),
        ({"old_logp": "yes"}, "choose auto, sampler or recompute"),
        ({"method": "ppo2"}, "unknown method 'ppo2'; known: grpo"),
        ({"method": "gmpo", "method_options": {"clip": 1}}, "method gmpo has no option clip; it has: clip_low"),
    ],
)
def test_impossible_settings_name_the_rule(changes, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**changes)


def test_a_batch_that_is_not_whole_groups_names_the_valid_sizes():
    with pytest.raises(ValueError, match=r"batch of 6 .* groups of 4; .* divide the batch: 2, 3, 6$"):
        TrainConfig.from_batch(6, 4)
    with pytest.raises(ValueError, match="needs G >= 2"):
        TrainConfig.from_batch(8, 1)
    made = TrainConfig.from_batch(8, 4, minibatches=2)
    assert (made.prompts_per_step, made.group_size, made.minibatches) == (2, 4, 2)


def test_settings_survive_a_round_trip_through_json():
    import json

    settings = TrainConfig(method="gmpo", method_options={"clip_low": 0.3}, eval_splits=("dev", "held_out"), seed=3)
    assert TrainConfig.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


def test_unknown_settings_are_named():
    with pytest.raises(ValueError, match="unknown settings: lr, stepz"):
        TrainConfig.from_dict({"lr": 1e-4, "stepz": 3})


def test_the_learning_rate_warms_up_and_falls_linearly_to_its_share():
    config = TrainConfig(steps=5, learning_rate=1.0, warmup_steps=2, decay_to=0.2)
    assert [round(config.learning_rate_at(step), 6) for step in range(1, 6)] == [0.5, 0.8, 0.6, 0.4, 0.2]
    assert [TrainConfig(learning_rate=0.5).learning_rate_at(step) for step in (1, 30, 60)] == [0.5, 0.5, 0.5]
