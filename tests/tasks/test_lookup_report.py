from types import SimpleNamespace

import pandas as pd
import pytest

from grpo_lessons.tasks import Problem
from grpo_lessons.tasks.lookup_qa import LookupQA
from grpo_lessons.tasks.lookup_report import by_kind, faults, observe, search_shares
from grpo_lessons.tool_rollouts import Episode

SEARCHED = "<call>search: Merk</call><result>Its mayor is Fand.</result><answer>Fand</answer>"


def episode(text, calls=(), statuses=(), ended="answer"):
    return text, Episode([1], ids=[1, 2, 3], mask=[1, 0, 1], calls=list(calls), statuses=list(statuses), ended=ended)


class Scripted(LookupQA):
    """Four questions with hand-made completions."""

    def problems(self, split, n, seed):
        kinds = [(True, 1), (True, 1), (False, 1), (False, 2)][:n]
        return [
            Problem([{"role": "user", "content": "mayor of Merk?"}], "Fand", {"note": note, "hops": hops})
            for note, hops in kinds
        ]

    def rollout(self, policy, problems, group_size, **options):
        done = [
            episode("<answer>Fand</answer>"),
            episode("<answer>Dean</answer>"),
            episode(SEARCHED, ["search: Merk"], ["ok"]),
            episode("<call>Merk</call>", ["Merk", "Merk"], ["malformed", "malformed"], "calls"),
        ]
        texts, episodes = zip(*done, strict=True)
        return SimpleNamespace(texts=list(texts), episodes=list(episodes))


@pytest.fixture(scope="module")
def rows():
    return observe(None, Scripted("compact"), n=4)


def test_each_question_is_one_row_with_what_came_of_it(rows):
    assert rows["correct"].tolist() == [True, False, True, False]
    assert rows["calls"].tolist() == [0, 0, 1, 2]
    assert rows["reason"].tolist() == ["correct", "wrong", "correct", "no_answer"]
    assert rows["kind"].tolist() == ["one hop"] * 3 + ["two hops"]
    assert rows["f1"].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert rows["own_tokens"].tolist() == [2] * 4


def test_shares_by_kind_carry_their_intervals(rows):
    shares = by_kind(rows, "searched")
    assert {name: share for name, (share, _) in shares.items()} == {
        "one hop, no note": 1.0,
        "one hop, note": 0.0,
        "two hops, no note": 1.0,
    }
    assert shares["one hop, note"][1] == pytest.approx((0.0, 0.6576), abs=1e-4)  # Wilson, 0 of 2


def test_faults_are_counted_for_100_completions(rows):
    found = faults(rows)
    assert (found["ok"], found["malformed"], found["unknown_tool"]) == (25.0, 50.0, 0.0)
    assert (found["ended: answer"], found["ended: calls"]) == (75.0, 25.0)


def test_search_shares_compare_within_a_kind_of_question():
    table = pd.DataFrame(
        {
            "step": [1, 2],
            "strategy_note, 0 calls": [0.3, 0.5],
            "strategy_note, 1 call": [0.1, None],
            "strategy_no note, 1 call": [0.4, 0.5],
            "strategy_no note, 2 or more calls": [0.2, None],
        }
    )
    shares = search_shares(table)
    assert shares["note"].tolist() == pytest.approx([0.25, 0.0])
    assert shares["no note"].tolist() == [1.0, 1.0]
