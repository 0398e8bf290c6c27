import inspect
import pickle
from functools import partial

import numpy as np
import pytest

from grpo_lessons.verifiers import (
    extract_last_answer,
    has_format,
    length_penalty,
    overlong_penalty,
    reward_function,
    verify_integer,
    verify_knights,
    verify_number,
    weighted_sum,
)

FOUR = "<answer>4</answer>"
correct = reward_function(verify_integer, expected="answer")


def chat(*contents, role="assistant"):
    return [{"role": role, "content": content} for content in contents]


@pytest.mark.parametrize("completions", [[FOUR], [chat(FOUR)]])
def test_strings_and_chat_messages_score_the_same_with_columns_that_nobody_reads(completions):  # T22
    rewards = correct(
        prompts=["2+2="], completions=completions, answer=[4], completion_ids=[[1, 2]], trainer_state=object()
    )
    assert rewards == [1.0]
    assert type(rewards[0]) is float


def test_one_reward_for_each_completion_in_order():
    texts = [FOUR, "<answer>5</answer>", "4", None]
    assert correct(["q"] * 4, texts, answer=[4, 4, 4, 4]) == [1.0, 0.0, 0.0, 0.0]
    assert correct(["q"] * 2, [FOUR, FOUR], answer=np.array([4, 5])) == [1.0, 0.0]
    assert correct([], [], answer=[]) == []


def test_of_chat_messages_the_last_one_of_the_assistant_is_graded():
    assert correct(completions=[chat("<answer>5</answer>", FOUR)], answer=[4]) == [1.0]
    after_a_tool = [*chat(None), {"role": "tool", "content": "4"}, *chat(FOUR)]
    before_the_end = [*chat(FOUR), {"role": "tool", "content": FOUR}]
    parts = [
        {"role": "assistant", "content": [{"type": "text", "text": "<answer>4"}, {"type": "text", "text": "</answer>"}]}
    ]
    rewards = correct(completions=[after_a_tool, before_the_end, parts, [], chat(FOUR, role="user")], answer=[4] * 5)
    assert rewards == [1.0, 0.0, 1.0, 0.0, 0.0]


def test_a_row_without_an_expected_value_is_not_scored():
    assert correct(completions=[FOUR, FOUR], answer=[None, 4]) == [None, 1.0]


def test_a_missing_column_is_named_with_those_that_were_given():
    with pytest.raises(ValueError, match=r"'answer', which was not given; columns given: gold, task"):
        correct(completions=[FOUR], gold=[4], task=["sum"])


@pytest.mark.parametrize("answer", [[4], [4, 4, 4], "44", 4, {"a": 4, "b": 4}])
def test_a_column_of_another_length_is_refused(answer):
    with pytest.raises(ValueError, match=r"one value for each of the 2 completions"):
        correct(completions=[FOUR, FOUR], answer=answer)


def test_a_map_that_does_not_fit_the_verifier_is_refused_when_it_is_made():
    with pytest.raises(TypeError, match="verify_integer needs expected"):
        reward_function(verify_integer)
    with pytest.raises(TypeError, match="has no argument gold; its arguments: expected, extract"):
        reward_function(verify_integer, gold="answer")


def test_it_has_the_name_of_its_verifier_and_can_be_pickled():
    lenient = reward_function(partial(verify_integer, extract=extract_last_answer), expected="answer")
    assert (correct.__name__, lenient.__name__) == ("verify_integer", "verify_integer")
    assert lenient(completions=["<answer>5</answer> no <answer>4</answer>"], answer=[4]) == [1.0]
    assert pickle.loads(pickle.dumps(lenient))(completions=[FOUR], answer=[4]) == [1.0]
    assert list(inspect.signature(correct).parameters) == ["prompts", "completions", "columns"]


def test_two_arguments_come_from_two_columns():
    reward = reward_function(verify_number, expected="gold", rel_tol="tolerance")
    assert reward(completions=["<answer>101</answer>"] * 2, gold=[100, 100], tolerance=[0, 0.01]) == [0.0, 1.0]


def test_a_dict_column_filled_with_none_by_datasets_is_read():
    reward = reward_function(verify_knights, roles="roles")
    assert reward(completions=["<answer>Ann: knave</answer>"], roles=[{"Ann": "knave", "Bob": None}]) == [1.0]


def test_a_verifier_may_return_a_bool_a_number_or_none():
    assert reward_function(has_format)(completions=["<think>a</think><answer>b</answer>", "b"]) == [1.0, 0.0]
    assert reward_function(len)(completions=["abc"]) == [3.0]
    assert reward_function({"a": None, "b": 0.5}.get)(completions=["a", "b"]) == [None, 0.5]


def test_the_weighted_sum_adds_and_keeps_each_part():
    reward = weighted_sum(correct=(1.0, correct), form=(0.5, reward_function(has_format)))
    batch = {"completions": ["<think>a</think>" + FOUR, FOUR, "4"], "answer": [4, 4, 4]}
    assert reward(**batch) == [1.5, 1.0, 0.0]
    assert reward.parts(**batch) == {"correct": [1.0, 1.0, 0.0], "form": [1.0, 0.0, 0.0]}
    assert reward.__name__ == "correct_plus_form"


def test_the_parts_are_logged_apart_where_the_trainer_offers_it():
    logged = {}
    reward = weighted_sum(correct=(2.0, correct), brief=(1.0, length_penalty(10)))
    reward(completions=[FOUR, "4"], answer=[4, 4], completion_ids=[[0] * 5, [0]], log_metric=logged.__setitem__)
    assert logged == {"reward_parts/correct": 0.5, "reward_parts/brief": pytest.approx(-0.3)}


def test_a_row_that_no_part_scored_stays_unscored():
    reward = weighted_sum(a=(1.0, correct), b=(1.0, reward_function(verify_integer, expected="other")))
    assert reward(completions=[FOUR] * 3, answer=[None, 4, None], other=[None, None, 4]) == [None, 1.0, 1.0]


def test_the_length_penalty_is_a_straight_line():
    ids = [[], [0] * 5, [0] * 10, [0] * 20]
    assert length_penalty(10)(completions=["x"] * 4, completion_ids=ids) == [0.0, -0.5, -1.0, -1.0]
    assert length_penalty(4, unit="characters")(completions=["ab", chat("abcd"), None]) == [-0.5, -1.0, 0.0]


def test_the_overlong_penalty_begins_in_the_buffer():
    ids = [[0] * n for n in (0, 6, 7, 8, 10, 11)]
    rewards = overlong_penalty(10, 4)(completions=["x"] * 6, completion_ids=ids)
    assert rewards == [0.0, 0.0, -0.25, -0.5, -1.0, -1.0]
    assert overlong_penalty(10, 4).__name__ == "overlong_penalty"


def test_a_penalty_in_tokens_asks_for_the_ids():
    with pytest.raises(ValueError, match="completion_ids"):
        length_penalty(10)(completions=["x"])


@pytest.mark.parametrize("make", [lambda: overlong_penalty(10, 0), lambda: overlong_penalty(10, 11)])
def test_a_senseless_buffer_is_refused(make):
    with pytest.raises(ValueError, match="0 < buffer <= max_length"):
        make()
