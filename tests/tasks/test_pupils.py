import json
import random
from collections import Counter

import pytest

from grpo_lessons.nano import sg_options
from grpo_lessons.nano_card import file_hash
from grpo_lessons.paths import data_dir
from grpo_lessons.policies import load_policy, trainable_parameters
from grpo_lessons.tasks import get_task
from grpo_lessons.tasks.pupils import PUPILS, of_like_length

SHIPPED = [name for name in PUPILS if (data_dir() / name).is_dir()]


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


@pytest.mark.parametrize("name", ["nano-knights", "nano-programs", "nano-lookup"])
def test_the_pupils_of_the_lessons_ship(name):
    assert name in SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_the_card_describes_the_weights_that_ship(name):
    card = json.loads((data_dir() / name / "card.json").read_text(encoding="utf-8"))
    assert card["weights_sha256"] == file_hash(data_dir() / name / "model.safetensors")
    assert card["parameters"] == trainable_parameters(load_policy(name, device="cpu").model)
    assert f"pupils {name} " in card["made"]["command"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_pupil_is_sometimes_right_and_mostly_not_so_that_training_has_something_to_do(name):
    card = json.loads((data_dir() / name / "card.json").read_text(encoding="utf-8"))
    first = next(iter(card["accuracy"].values()))  # of the first task, sampled
    assert 0.1 < first["accuracy"] < 0.6


@pytest.mark.parametrize("name", SHIPPED)
def test_the_card_has_all_constants_of_grpo_sg(name):
    options = sg_options(data_dir() / name)
    assert options["normalize"] is True
    assert set(options) == {"alpha", "tau", "mu", "low", "high", "normalize"}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_files_of_a_pupil_stay_below_4_mb(name):
    assert sum(path.stat().st_size for path in (data_dir() / name).iterdir()) < 4_000_000
