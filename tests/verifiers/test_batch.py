import os
import subprocess
import sys

import pytest

from grpo_lessons.verifiers import reward_function, score_batch, verify_integer

sys.path.insert(0, os.path.dirname(__file__))
import rewards_for_batches as rewards

TEXTS = [str(n) for n in range(200)]


def test_the_order_is_kept_by_several_processes_of_different_speed():
    assert score_batch(rewards.by_sleeping, None, TEXTS, processes=3) == [float(n) for n in range(200)]


def test_one_process_and_two_agree_on_a_verifier():
    reward = reward_function(verify_integer, expected="gold")
    texts = [f"<answer>{n % 7}</answer>" for n in range(100)]
    gold = [n % 5 for n in range(100)]
    alone = score_batch(reward, TEXTS[:100], texts, gold=gold)
    assert alone == [float(n % 7 == n % 5) for n in range(100)]
    assert score_batch(reward, TEXTS[:100], texts, gold=gold, processes=2) == alone


def test_several_processes_take_part_and_none_is_this_one():
    ids = set(score_batch(rewards.process_id, None, TEXTS[:64], processes=2))
    assert len(ids) == 2
    assert os.getpid() not in ids


def test_a_process_that_dies_is_replaced(tmp_path):
    marker = [str(tmp_path / "died")] * 40
    assert score_batch(rewards.dies_once, None, TEXTS[:40], processes=2, marker=marker) == [1.0] * 40


def test_rows_that_kill_their_process_twice_are_named():
    with pytest.raises(RuntimeError, match="died twice on these completions: \\['0', '1'"):
        score_batch(rewards.always_dies, None, TEXTS[:2], processes=2)


@pytest.mark.parametrize("processes", [1, 2])
def test_what_the_reward_raises_is_raised(processes):
    with pytest.raises((KeyError, RuntimeError), match="a fault of the reward"):
        score_batch(rewards.raises, None, TEXTS[:2], processes=processes)


def test_a_reward_that_no_other_process_can_import_is_refused():
    with pytest.raises(ValueError, match="define it in a module"):
        score_batch(lambda **columns: [], None, TEXTS, processes=2)


def test_a_module_that_the_process_cannot_import_is_named(monkeypatch):
    function = rewards.by_sleeping
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != os.path.dirname(__file__)])
    with pytest.raises(ModuleNotFoundError, match="No module named 'rewards_for_batches'"):
        score_batch(function, None, TEXTS[:4], processes=2)


def test_a_bar_is_shown_when_asked_for(capsys):
    score_batch(rewards.process_id, None, TEXTS[:20], progress=True)
    assert "20/20" in capsys.readouterr().err


def test_a_column_of_another_length_is_named():
    with pytest.raises(ValueError, match="columns of another length: gold"):
        score_batch(rewards.by_sleeping, None, TEXTS, gold=[1])


def test_no_completions_are_no_rewards():
    assert score_batch(rewards.by_sleeping, [], [], processes=2) == []


def test_a_script_without_a_main_guard_runs_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from grpo_lessons.verifiers import reward_function, score_batch, verify_integer\n"
        "print('started')\n"
        "reward = reward_function(verify_integer, expected='gold')\n"
        "print(score_batch(reward, None, ['<answer>1</answer>'] * 3, gold=[1, 2, 1], processes=2))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "started\n[1.0, 0.0, 1.0]\n"
