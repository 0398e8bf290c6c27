import subprocess
import sys
from itertools import combinations

import pytest

from grpo_lessons.tasks import Problem
from grpo_lessons.tasks.base import SPLITS
from grpo_lessons.tasks.finite import FiniteTask, split_of_key
from grpo_lessons.verifiers import verify_integer


class Products(FiniteTask):
    """x*y for 0 to 29 in both orders, which are one problem."""

    name, max_new_tokens = "products", 16

    def items(self):
        return [(x, y) for x in range(30) for y in range(30)]

    def key(self, item):
        return tuple(sorted(item))

    def problem(self, item):
        return Problem([{"role": "user", "content": f"{item[0]}*{item[1]}="}], item[0] * item[1])

    def verify(self, completion, problem):
        return verify_integer(completion, problem.answer)


class OrderedProducts(Products):
    def key(self, item):
        return item


def test_items_with_one_key_stand_on_one_side():
    task = Products()
    keys = [{task.key(item) for item in task.pool(split)} for split in SPLITS]
    assert not any(one & other for one, other in combinations(keys, 2))
    assert len(set().union(*keys)) == 465  # 30 * 31 / 2 unordered pairs


def test_without_a_key_of_its_own_an_item_leaks_in_its_other_order():
    train, held_out = (set(OrderedProducts().pool(split)) for split in ("train", "held_out"))
    assert any((y, x) in train for x, y in held_out)


def test_every_item_is_in_one_split_and_about_70_10_and_20_percent_of_them():
    sizes = [len(Products().pool(split)) for split in SPLITS]
    assert sum(sizes) == 900
    assert [round(size / 900, 1) for size in sizes] == [0.7, 0.1, 0.2]


def test_a_key_stays_on_its_side_when_items_are_added():
    class More(Products):
        def items(self):
            return [(x, y) for x in range(60) for y in range(60)]

    for split in SPLITS:
        assert set(Products().pool(split)) <= set(More().pool(split))


def test_a_key_is_on_the_same_side_in_another_process():
    code = "from grpo_lessons.tasks.finite import split_of_key as s; print([s(k) for k in ('a', 7, ('Feb', 27))])"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert other.strip() == str([split_of_key(k) for k in ("a", 7, ("Feb", 27))])


@pytest.mark.parametrize("key", [{1, 2}, object(), [1], (1, {2})])
def test_a_key_that_has_another_text_in_another_process_is_refused(key):
    with pytest.raises(TypeError, match="it must be a number, a text or a tuple of those"):
        split_of_key(key)


def test_problems_are_drawn_without_repetition_and_the_same_for_a_seed():
    task = Products()
    drawn = [p.prompt[0]["content"] for p in task.problems("dev", 50, seed=3)]
    assert len(set(drawn)) == 50
    assert drawn == [p.prompt[0]["content"] for p in Products().problems("dev", 50, seed=3)]
    assert drawn != [p.prompt[0]["content"] for p in task.problems("dev", 50, seed=4)]


def test_more_problems_than_there_are_is_an_error_that_says_how_many():
    size = len(Products().pool("dev"))
    with pytest.raises(ValueError, match=f"{size + 1} problems asked of 'dev', which has {size}"):
        Products().problems("dev", size + 1, seed=0)


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="unknown split 'test'; splits: train, dev, held_out"):
        Products().problems("test", 1, seed=0)
