"""Rewards: the task's verdicts, foreign reward functions, and what they may not do."""

import math
from types import SimpleNamespace

import pytest
import torch
from engine import sums

from grpo_lessons.scoring import RewardError, score, warn_unscored
from grpo_lessons.tasks.addition import Addition

TEXTS = ["<answer>23</answer>", "<answer>24</answer>", "23", "<answer>170</answer>"]


def rollouts(texts=TEXTS, group_size=2):
    problems = sums((11, 12), (80, 90))
    rows = [p for p in problems for _ in range(group_size)]
    tokens = {
        "completion_ids": torch.tensor([[5, 6, 2], [7, 2, 0], [2, 0, 0], [8, 9, 4]]),
        "mask": torch.tensor([[1.0, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 1]]),  # the last row read a tool's token
    }
    return SimpleNamespace(texts=list(texts), group_size=group_size, problems=problems, row_problems=rows, **tokens)


def test_the_tasks_verdicts_are_rewards_accuracy_and_reasons():
    scores = score(rollouts(), Addition())
    assert scores.rewards.tolist() == [[1, 0], [0, 1]]
    assert scores.accuracy == 0.5
    assert scores.verdicts == ["correct", "wrong", "no_answer", "correct"]
    assert scores.reasons == {"correct": 0.5, "no_answer": 0.25, "wrong": 0.25}


def test_a_reward_function_is_called_as_trl_calls_it_and_accuracy_stays_the_tasks():
    seen = {}

    def length(prompts, completions, **columns):
        seen.update(columns, prompts=prompts, completions=completions)
        return [len(text) for text in completions]

    scores = score(rollouts(), Addition(), length)
    assert scores.rewards.tolist() == [[19, 19], [2, 20]]
    assert scores.accuracy == 0.5
    assert seen["answer"] == [23, 23, 170, 170]
    assert (seen["a"], seen["b"]) == ([11, 11, 80, 80], [12, 12, 90, 90])
    assert seen["prompts"][2] == [{"role": "user", "content": "80+90="}]
    assert seen["completions"] == TEXTS
    assert seen["completion_ids"] == [[5, 6, 2], [7, 2], [2], [8, 9, 4]]


def test_none_and_nan_mean_not_scored():
    scores = score(rollouts(), Addition(), lambda **kw: [None, 1, math.nan, True])
    assert scores.rewards.isnan().tolist() == [[True, False], [True, False]]
    with pytest.warns(UserWarning, match="2 of 4 completions got no reward"):
        assert warn_unscored(scores.rewards) == 2


@pytest.mark.filterwarnings("error")
def test_no_warning_when_all_are_scored():
    assert warn_unscored(torch.tensor([[1.0, 0.0]])) == 0


def test_tensors_and_arrays_of_rewards_are_welcome():
    assert score(rollouts(), Addition(), lambda **kw: torch.tensor([1.0, 0, 0, 1])).rewards.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], r"made returned 2 values for 4 completions; return one number \(or None"),
        (0.5, "made returned 1 values for 4 completions"),
        ([1, 2, 3, -math.inf], "made returned -inf for completion 3: '<answer>170</answer>'"),
        ([1, 2, "x", 4], "made returned 'x' for completion 2, not a number"),
    ],
)
def test_a_broken_contract_names_function_completion_and_value(values, message):
    def made(prompts, completions, **columns):
        return values

    with pytest.raises(RewardError, match=message):
        score(rollouts(), Addition(), made)


def test_an_exception_of_the_reward_function_is_named_and_kept_as_the_cause():
    class Judge:
        def __call__(self, prompts, completions, **columns):
            raise KeyError("gold")

    with pytest.raises(RewardError, match="the reward function Judge raised KeyError: 'gold'") as error:
        score(rollouts(), Addition(), Judge())
    assert isinstance(error.value.__cause__, KeyError)
