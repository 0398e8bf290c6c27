import pytest

from grpo_lessons.check.contract import task_faults
from grpo_lessons.check.tasks_of_others import Products
from grpo_lessons.tasks import get_task
from grpo_lessons.tasks.weeks_later import WeeksLater
from grpo_lessons.verifiers import Verdict


@pytest.mark.parametrize("name", ["addition", "small_sums", "countdown", "knights_knaves", "programs"])
def test_the_tasks_of_the_course_keep_it(name):
    assert task_faults(get_task(name)) == []


def test_the_worked_task_of_the_last_lesson_keeps_it():
    assert task_faults(WeeksLater()) == []


class Nameless(Products):
    name = None


class Small(Products):
    def items(self):
        return [(3, 4)]


class Endless(Products):
    def problems(self, split, n, seed):
        pool = super().problems(split, min(n, 20), seed)
        return pool * (n // len(pool) + 1)


class SaysYes(Products):
    def verify(self, completion, problem):
        return True


class Generous(Products):
    def verify(self, completion, problem):
        return Verdict(1.0, "correct")


class Stern(Products):
    def verify(self, completion, problem):
        return Verdict(0.0, "wrong")


class NoBlock(Products):
    def verify(self, completion, problem):
        text = str(completion).replace("<answer>", "").replace("</answer>", "")
        return Verdict(float(text == str(problem.answer)), "compared")


FAULTS = {
    Nameless: "the task has no name",
    Small: "is empty: give the task more items",
    Endless: "more problems than the pool holds",
    SaysYes: "verify() must return Verdict",
    Generous: "the verifier pays for nonsense",
    Stern: "the verifier rejects the task's own answer",
    NoBlock: "the verifier pays for an answer without a block",
}


@pytest.mark.parametrize("task", FAULTS)
def test_each_fault_is_named_and_no_other(task):
    (fault,) = task_faults(task())
    assert FAULTS[task] in fault


def test_a_function_that_is_no_task_gets_all_that_is_missing():
    assert len(task_faults(print)) == 4
