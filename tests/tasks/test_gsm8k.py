"""GSM8K from a local folder, and one sentence where it is not to be had."""

import json

import pytest

from grpo_lessons.tasks import get_task
from grpo_lessons.tasks.gsm8k import tenth


@pytest.fixture
def folder(tmp_path):
    rows = [
        {"question": f"What is {i} + {i}?", "answer": f"{i}+{i}=<<{i}+{i}={2 * i}>>{2 * i}\n#### {2 * i}"}
        for i in range(60)
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows[:50])) + "\n\n")
    rows[59]["answer"] = "a long way\n#### 1,234"
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, rows[50:])))
    return tmp_path


def test_the_answer_is_what_follows_the_hashes_without_thousands_separators(folder):
    task = get_task("gsm8k", folder=folder)
    answers = {p.prompt[-1]["content"]: p.answer for p in task.problems("held_out", 10, 0)}
    assert answers["What is 52 + 52?"] == "104"
    assert answers["What is 59 + 59?"] == "1234"


def test_held_out_is_the_test_file_and_dev_a_part_of_the_training_file(folder):
    task = get_task("gsm8k", folder=folder)
    dev = [f"What is {i} + {i}?" for i in range(50) if tenth(f"What is {i} + {i}?") == 0]
    assert 0 < len(dev) < 50
    assert {p.prompt[-1]["content"] for p in task.problems("dev", len(dev), 0)} == set(dev)
    train = task.problems("train", 50 - len(dev), 0)
    assert not {p.prompt[-1]["content"] for p in train} & set(dev)
    with pytest.raises(ValueError, match=r"which has 10; ask for 0 to 10"):
        task.problems("held_out", 11, 0)


def test_order_follows_the_seed(folder):
    task = get_task("gsm8k", folder=folder)
    assert task.problems("held_out", 5, 0) == task.problems("held_out", 5, 0) != task.problems("held_out", 5, 1)


def test_verdict_on_the_number_in_the_block(folder):
    task = get_task("gsm8k", folder=folder)
    problem = next(p for p in task.problems("held_out", 10, 0) if p.answer == "1234")
    assert task.verify("steps\n<answer>$1,234.00</answer>", problem).reason == "correct"
    assert task.verify("#### 1234", problem).reason == "no_answer"
    assert problem.prompt[0]["role"] == "system"


def test_a_solution_without_hashes_is_an_error_that_shows_it(tmp_path):
    for part in ("train", "test"):
        (tmp_path / f"{part}.jsonl").write_text(json.dumps({"question": "?", "answer": "just words"}))
    with pytest.raises(ValueError, match="must end in '#### answer'; this one does not: 'just words'"):
        get_task("gsm8k", folder=tmp_path).problems("train", 1, 0)


def test_a_folder_without_the_files_says_what_belongs_there(tmp_path):
    with pytest.raises(OSError, match=r"no .*test\.jsonl; put train\.jsonl and test\.jsonl there"):
        get_task("gsm8k", folder=tmp_path).problems("train", 1, 0)


def test_without_network_and_cache_it_is_one_sentence(monkeypatch, tmp_path):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    with pytest.raises(OSError) as error:
        get_task("gsm8k").problems("train", 1, 0)
    assert str(error.value).startswith("task 'gsm8k' is neither in the local cache nor within reach: fetch it once")
    assert "\n" not in str(error.value)
