import pytest

from grpo_lessons.tasks.small_sums import EXAMPLES, SmallSums

TASK = SmallSums()


def test_splits_share_no_unordered_pair_and_hold_no_example():
    pools = {s: {tuple(sorted(pair)) for pair in TASK.pool(s)} for s in ("train", "dev", "held_out")}
    assert len(pools["train"]) + len(pools["dev"]) + len(pools["held_out"]) == 208  # 210 pairs, two of them examples
    assert (
        pools["train"] & pools["held_out"] == pools["train"] & pools["dev"] == pools["dev"] & pools["held_out"] == set()
    )
    shown = {question for question, _ in EXAMPLES}
    assert not any(TASK.problem(a, b).prompt[0]["content"] in shown for s in pools for a, b in TASK.pool(s))


def test_question_and_verdict():
    problem = TASK.problem(7, 12)
    assert problem.prompt == [{"role": "user", "content": "What is 7 + 12?"}]
    assert TASK.verify("7 + 12 = <answer>19</answer>", problem).reason == "correct"
    assert TASK.verify("7 + 12 = 19", problem).reason == "no_answer"


def test_more_than_the_pool_is_refused():
    size = len(TASK.pool("dev"))
    assert len(TASK.problems("dev", size, 0)) == size
    with pytest.raises(ValueError, match=f"which has {size}; ask for 0 to {size}"):
        TASK.problems("dev", size + 1, 0)
