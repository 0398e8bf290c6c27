import copy
import random
from dataclasses import replace

import pytest
import torch

from grpo_lessons.config import TrainConfig
from grpo_lessons.environments import Tools
from grpo_lessons.evaluation import evaluate
from grpo_lessons.logprobs import token_logprobs
from grpo_lessons.losses import grpo_loss
from grpo_lessons.nano import make_nano
from grpo_lessons.policies import Policy
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.tasks import Problem
from grpo_lessons.tasks.lookup_tools import calculate
from grpo_lessons.tool_rollouts import sample_tool_groups
from grpo_lessons.trainer import train
from grpo_lessons.verifiers import verify_integer

WORDS = ("<call>", "</call>", "<result>", "</result>")
TOOLS = Tools({"add": calculate}, max_calls=2)


def ask(text):
    return Problem([{"role": "user", "content": text}], text, {})


def scripted(*lines):
    """A policy that has learned by heart to go on with `after` when it has read `before` in answer to a prompt."""

    def homework(rng: random.Random):
        prompt, before, after = rng.choice(lines)
        begun = [{"role": "assistant", "content": before}] if before else []
        return [{"role": "user", "content": prompt}, *begun], after

    size = {"hidden": 32, "layers": 1, "batch_size": 12, "learning_rate": 1e-2}
    model, tokenizer = make_nano(homework, steps=120, words=WORDS, **size)
    return Policy(model, tokenizer, torch.device("cpu"), "scripted")


@pytest.fixture(scope="module")
def policy():
    """Asks a calculator and answers (prompt a), answers at once (b), asks the same for ever (c), errs (d)."""
    asked, told = "<call>add: 2+3</call>", "<result>5</result>"
    again = "<result>error: the same call as before</result>"
    return scripted(
        ("a", "", asked),
        ("a", asked + told, "<answer>5</answer>"),
        ("b", "", "<answer>7</answer>"),
        ("c", "", "<call>add: 1</call>"),
        ("c", "<call>add: 1</call><result>1</result>", "<call>add: 1</call>"),
        ("c", "<call>add: 1</call><result>1</result><call>add: 1</call>" + again, "<call>add: 1</call>"),
        ("d", "", "<call>what</call>"),
        ("d", "<call>what</call><result>error: write a call as tool: argument</result>", "<answer>1</answer>"),
    )


def sample(policy, *prompts, group_size=2, temperature=0.0, max_new_tokens=120, environment=TOOLS):
    return sample_tool_groups(
        policy,
        [ask(p) for p in prompts],
        group_size,
        environment,
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        seed=0,
    )


def test_generation_stops_at_a_call_and_goes_on_after_the_answer(policy):
    rollouts = sample(policy, "a", "b")
    assert (
        rollouts.texts == ["<call>add: 2+3</call><result>5</result><answer>5</answer>"] * 2 + ["<answer>7</answer>"] * 2
    )
    assert rollouts.finished.all()
    assert [e.statuses for e in rollouts.episodes] == [["ok"], ["ok"], [], []]


def test_the_mask_keeps_the_policys_tokens_and_leaves_out_the_results(policy):
    rollouts = sample(policy, "a", "b", group_size=1)
    decode = policy.tokenizer.decode
    kept = [decode(ids[mask.bool()]) for ids, mask in zip(rollouts.completion_ids, rollouts.mask, strict=True)]
    assert kept == ["<call>add: 2+3</call><answer>5</answer><|im_end|>", "<answer>7</answer><|im_end|>"]
    read = [decode(ids[mask.bool()]) for ids, mask in zip(rollouts.completion_ids, rollouts.read_mask, strict=True)]
    assert read == ["<result>5</result>", ""]
    assert not (rollouts.mask * rollouts.read_mask).any()
    assert (rollouts.logp[rollouts.mask == 0] == 0).all()


def test_a_loop_of_calls_ends_at_the_limit_and_is_counted(policy):
    rollouts = sample(policy, "c", group_size=1)
    (episode,) = rollouts.episodes
    assert (episode.ended, episode.statuses) == ("calls", ["ok", "repeated"])
    assert not rollouts.finished.any()
    assert rollouts.counts() == {"calls": 2.0, "ended_calls": 1.0, "call_ok": 0.5, "call_repeated": 0.5}


def test_a_malformed_call_is_answered_with_an_error_and_the_policy_goes_on(policy):
    rollouts = sample(policy, "d", group_size=1)
    assert rollouts.episodes[0].statuses == ["malformed"]
    assert rollouts.texts[0].endswith("<answer>1</answer>")


@pytest.mark.parametrize("limit", [5, 16, 30])
def test_the_token_limit_counts_results_too(policy, limit):
    """A call takes 10 tokens of its own (two tags, eight characters), its result 3."""
    rollouts = sample(policy, "c", group_size=1, max_new_tokens=limit)
    assert rollouts.completion_ids.shape[1] <= limit
    assert rollouts.episodes[0].ended == "tokens"


def test_sampled_log_probabilities_are_those_of_the_training_forward(policy):
    rollouts = sample(policy, "a", "c", "d", "b", group_size=3, temperature=1.5)
    ids = torch.cat([rollouts.prompt_ids, rollouts.completion_ids], 1)
    attention = torch.cat([rollouts.prompt_mask, torch.ones_like(rollouts.completion_ids)], 1)
    T = rollouts.completion_ids.shape[1]
    with torch.no_grad():
        scores = token_logprobs(policy.model, ids, attention, T, mask=rollouts.mask, temperature=1.5)
    assert torch.allclose(scores.logp, rollouts.logp, atol=1e-4)


def test_without_calls_it_samples_what_sample_groups_samples(policy):
    for temperature in (0.0, 1.0):
        options = {"max_new_tokens": 20, "temperature": temperature, "seed": 3}
        plain = sample_groups(policy, [ask("b")], 4, **options)
        tools = sample_tool_groups(policy, [ask("b")], 4, TOOLS, **options)
        if "</call>" not in "".join(plain.texts):
            assert tools.texts == plain.texts
            assert torch.allclose(tools.logp, plain.logp, atol=1e-5)


def gradient(policy, rollouts, logp_old, mask):
    """The gradient of GRPO's loss at advantages 1, -1, 1, ..."""
    ids = torch.cat([rollouts.prompt_ids, rollouts.completion_ids], 1)
    attention = torch.cat([rollouts.prompt_mask, torch.ones_like(rollouts.completion_ids)], 1)
    scores = token_logprobs(policy.model, ids, attention, rollouts.completion_ids.shape[1], mask=mask)
    advantages = torch.tensor([1.0, -1.0] * (len(ids) // 2))
    policy.model.zero_grad()
    grpo_loss(scores.logp, logp_old, advantages, mask).loss.backward()
    return torch.cat([p.grad.flatten() for p in policy.model.parameters()])


def test_gradients_do_not_depend_on_the_log_probabilities_of_results(policy):
    rollouts = sample(policy, "a", "d", group_size=2, temperature=1.2)
    assert rollouts.read_mask.any()
    plain = gradient(policy, rollouts, rollouts.logp, rollouts.mask)
    moved = torch.where(rollouts.read_mask.bool(), torch.tensor(-7.0), rollouts.logp)
    assert torch.equal(gradient(policy, rollouts, moved, rollouts.mask), plain)
    everything = rollouts.mask + rollouts.read_mask  # what a forgotten mask would do
    assert not torch.allclose(gradient(policy, rollouts, moved, everything), plain)


class Sums:
    """The smallest task with tools."""

    name, max_new_tokens = "sums", 40

    def problems(self, split, n, seed):
        return [replace(ask("ab"[i % 2]), answer=5) for i in range(n)]

    def verify(self, completion, problem):
        return verify_integer(completion, problem.answer)

    def rollout(self, policy, problems, group_size, **options):
        return sample_tool_groups(policy, problems, group_size, TOOLS, **options)


def test_evaluation_and_training_use_the_tasks_own_rollout(policy):
    report = evaluate(policy, Sums(), n=4, temperature=0.0)
    assert report.correct[:, 0].tolist() == [True, False, True, False]
    assert "<result>5</result>" in report.texts[0]
    learner = replace(policy, model=copy.deepcopy(policy.model))
    config = TrainConfig(steps=1, prompts_per_step=2, group_size=4, minibatches=2)
    log = train(learner, Sums(), config, reward=lambda prompts, completions, **_: [0, 1] * 4)
    row = log.lines["metrics"][-1]
    assert row["grad_norm"] > 0
    assert row["sampler_gap"] < 1e-3


@pytest.mark.parametrize("options", [{"group_size": 0}, {"max_new_tokens": 0}, {"temperature": -1.0}])
def test_impossible_requests_are_refused(policy, options):
    with pytest.raises(ValueError, match="at least one problem"):
        sample(policy, "a", **options)
    with pytest.raises(ValueError, match="got 0 problems"):
        sample(policy)
