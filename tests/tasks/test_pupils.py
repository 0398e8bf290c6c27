import random
from collections import Counter

import pytest

from grpo_lessons.tasks import get_task
from grpo_lessons.tasks.pupils import PUPILS, of_like_length


def test_sorting_by_length_changes_the_order_of_the_lines_and_nothing_else():
    def homework(rng):
        return [{"role": "user", "content": "x" * rng.randint(1, 50)}], "y"

    drawn = of_like_length(homework, batch_size=4, batches=5)
    rng = random.Random(0)
    lines = [len(drawn(rng)[0][0]["content"]) for _ in range(20)]
    plain = random.Random(0)
    assert Counter(lines) == Counter(len(homework(plain)[0][0]["content"]) for _ in range(20))
    batches = [sorted(lines[i : i + 4]) for i in range(0, 20, 4)]
    assert sorted(lines) == [length for batch in sorted(batches) for length in batch]


@pytest.mark.parametrize("name", PUPILS)
def test_the_tasks_of_a_pupil_exist(name):
    for task, options in PUPILS[name].tasks.values():
        assert get_task(task, **options).problems("dev", 1, seed=0)
