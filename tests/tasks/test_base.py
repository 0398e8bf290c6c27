import pytest

from grpo_lessons.tasks import Problem, get_task, task_names, verify_all
from grpo_lessons.verifiers import Verdict

PROBLEMS = [Problem([{"role": "user", "content": "?"}], answer) for answer in (1, 2, 3)]


class OneByOne:
    def verify(self, completion, problem):
        return Verdict(float(completion == str(problem.answer)), "seen alone")


class AtOnce(OneByOne):
    def verify_batch(self, completions, problems):
        return [Verdict(1.0, f"row {i} of {len(problems)}") for i, _ in enumerate(completions)]


def test_verdicts_come_one_by_one_where_there_is_no_batch():
    assert [v.reward for v in verify_all(OneByOne(), ["1", "0", "3"], PROBLEMS)] == [1.0, 0.0, 1.0]


def test_a_task_with_a_batch_is_asked_once():
    assert [v.reason for v in verify_all(AtOnce(), ["1", "0", "3"], PROBLEMS)] == [
        "row 0 of 3",
        "row 1 of 3",
        "row 2 of 3",
    ]


def test_each_completion_needs_its_problem():
    with pytest.raises(ValueError):
        verify_all(OneByOne(), ["1"], PROBLEMS)


@pytest.mark.parametrize("name", sorted(set(task_names()) - {"gsm8k"}))  # whose problems are on the hub
def test_every_registered_task_draws_problems_and_survives_nonsense(name):
    task = get_task(name)
    (problem,) = task.problems("train", 1, seed=0)
    assert problem.prompt[-1]["role"] == "user"
    for nonsense in ("", "<answer>", "<answer>\x00</answer>", "</answer><answer>"):
        assert task.verify(nonsense, problem).reward == 0.0


def test_an_unknown_task_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown task 'chess'; known tasks: addition, countdown"):
        get_task("chess")


OWN = """
from grpo_lessons.tasks.addition import Addition


class Mine(Addition):
    def __init__(self, digits=1):
        super().__init__(digits)
"""


def test_a_task_of_ones_own_is_given_by_file_or_module(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    assert get_task(f"{tmp_path / 'mine.py'}:Mine").digits == 1
    assert get_task(f"{tmp_path / 'mine.py'}:Mine", digits=3).digits == 3
    assert get_task("grpo_lessons.tasks.small_sums:SmallSums").name == "small_sums"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("missing.py:Mine", "missing.py cannot be read"),
        ("no_such_module:Mine", "no_such_module cannot be read"),
        ("grpo_lessons.tasks.addition:Mine", "holds no 'Mine'"),
    ],
)
def test_a_task_of_ones_own_that_is_not_there_is_named(name, fault):
    with pytest.raises(ValueError, match=fault):
        get_task(name)
