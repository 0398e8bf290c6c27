"""The adapter to reasoning-gym, against a stand-in of its interface and, where installed, the library itself."""

import sys
from types import ModuleType

import pytest

from grpo_lessons.tasks import get_task

SPLITS = ("train", "dev", "held_out")


class Sums:
    """A generator in reasoning-gym's manner: entry i depends on seed + i."""

    def __init__(self, size, seed, largest=10_000):
        self.seed, self.largest = seed, largest

    def __getitem__(self, index):
        a = (self.seed + index) * 7919 % self.largest
        return {"question": f"{a} + 1 = ?", "answer": str(a + 1), "metadata": {"a": a}}

    def score_answer(self, answer, entry):
        if answer == "crash":
            raise RuntimeError("a scorer that stumbles")
        return 1.0 if answer == entry["answer"] else 0.01


@pytest.fixture
def library(monkeypatch):
    module = ModuleType("reasoning_gym")

    def create_dataset(name, size, seed, **settings):
        if name != "sums":
            raise ValueError(f"Dataset '{name}' not registered")
        return Sums(size, seed, **settings)

    module.create_dataset = create_dataset
    monkeypatch.setitem(sys.modules, "reasoning_gym", module)


def questions(task, split, n=60, seed=0):
    return {p.prompt[-1]["content"] for p in task.problems(split, n, seed)}


def test_splits_share_no_question_whatever_the_seeds(library):
    task = get_task("reasoning_gym:sums", largest=500)
    drawn = {s: questions(task, s, 30, 0) | questions(task, s, 30, 1) for s in SPLITS}
    assert (
        drawn["train"] & drawn["held_out"] == drawn["train"] & drawn["dev"] == drawn["dev"] & drawn["held_out"] == set()
    )


def test_problems_are_different_and_follow_the_seed(library):
    task = get_task("reasoning_gym:sums")
    assert len(questions(task, "train")) == 60
    assert task.problems("train", 5, 3) == task.problems("train", 5, 3) != task.problems("train", 5, 4)


def test_verdicts_are_the_librarys_scores_of_the_block(library):
    task = get_task("reasoning_gym:sums")
    (problem,) = task.problems("train", 1, 0)
    right = task.verify(f"so <answer>{problem.answer}</answer>", problem)
    assert (right.reward, right.reason) == (1.0, "correct")
    wrong = task.verify("<answer>-5</answer>", problem)
    assert (wrong.reward, wrong.reason) == (0.01, "wrong")
    assert task.verify(problem.answer, problem).reason == "no_answer"
    assert task.verify("<answer>crash</answer>", problem).reason == "unreadable"


def test_a_generator_that_repeats_itself_ends_in_a_sentence(library):
    with pytest.raises(ValueError, match=r"reasoning_gym:sums gave only \d different ones"):
        get_task("reasoning_gym:sums", largest=8).problems("train", 20, 0)


def test_unknown_data_set_and_missing_library_are_one_sentence(library, monkeypatch):
    with pytest.raises(ValueError, match="reasoning-gym has no data set 'nothing'"):
        get_task("reasoning_gym:nothing")
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(
        ImportError, match=r"^task 'reasoning_gym:sums' needs reasoning-gym: pip install reasoning-gym$"
    ):
        get_task("reasoning_gym:sums")


def test_the_family_is_listed_with_the_tasks():
    with pytest.raises(ValueError, match=r"known tasks: .*word_problems.*reasoning_gym:NAME"):
        get_task("reasoning_gym:")


def test_the_real_library():
    pytest.importorskip("reasoning_gym")
    task = get_task("reasoning_gym:leg_counting")
    (problem,) = task.problems("held_out", 1, 0)
    assert task.verify(f"<answer>{problem.answer}</answer>", problem).reason == "correct"
