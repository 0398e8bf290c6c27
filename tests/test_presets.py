"""One name decides the rest: presets of policies and cards."""

import pytest
import torch

from grpo_lessons import presets
from grpo_lessons.presets import CARDS, choose


@pytest.fixture
def without_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("GRPO_LESSONS_POLICY", raising=False)


@pytest.fixture
def with_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.delenv("GRPO_LESSONS_POLICY", raising=False)


@pytest.mark.parametrize("gib", CARDS)
def test_each_card_holds_its_preset_with_a_tenth_to_spare(gib):
    estimate = CARDS[gib].estimate("qwen2.5-1.5b", group_size=16)
    assert estimate.fits(0.9 * gib)
    assert estimate.longest_completion(gib) >= CARDS[gib].completion_tokens


def test_without_a_gpu_nano_stands_in_and_no_card_is_spoken_of(without_gpu):
    setup = choose(card_gib=24)
    assert (setup.policy, setup.card) == ("nano", None)


def test_with_a_gpu_it_is_qwen_with_the_settings_of_the_card(with_gpu):
    setup = choose(card_gib=12)
    assert (setup.policy, setup.card, setup.batch) == ("qwen2.5-1.5b", CARDS[12], 64)
    config = setup.training("2 steps", 16)
    assert (config.group_size, config.prompts_per_step, config.micro_batch, config.max_new_tokens) == (16, 4, 2, 256)


def test_the_environment_names_the_policy_and_an_argument_wins(without_gpu, monkeypatch):
    monkeypatch.setenv("GRPO_LESSONS_POLICY", "smollm2")
    assert choose().policy == "smollm2"
    assert choose("nano").policy == "nano"


def test_task_and_steps_replace_what_the_policy_brings(without_gpu):
    setup = choose("smollm2", task="countdown", steps=3)
    assert list(setup.levels) == ["countdown"] and setup.reward is None and setup.config.steps == 3


def test_an_unknown_card_is_one_sentence():
    with pytest.raises(ValueError, match="no preset for a card of 10 GiB; there are 8, 12, 16, 24"):
        choose(card_gib=10)


def test_the_completions_of_a_step_stay_when_the_groups_grow(without_gpu):
    setup = choose("nano")
    for size in (4, 8, 16):
        config = setup.training("2 digits", size)
        assert config.prompts_per_step * size == 256


def test_the_first_line_says_what_runs_and_that_it_stands_in(without_gpu):
    setup = choose("nano")
    policy = presets.replace(setup, lora=presets.LoraSpec(rank=1)).load()
    line = setup.line(policy)
    assert line.startswith(f"Here runs nano through {policy.backend} on the CPU.")
    assert "stands in for qwen2.5-1.5b: no number below says anything about that model" in line
