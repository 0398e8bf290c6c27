"""Dashboards get every number once; the libraries' own files hold them where the library is installed."""

import sys

import pytest

from grpo_lessons.integrations.dashboards import Dashboard, tensorboard, trackio, wandb
from grpo_lessons.runlog import RunLog


@pytest.fixture
def log():
    log = RunLog({})
    log.add("evals", {"step": 0, "split": "dev", "n": 8, "accuracy": 0.5, "low": 0.2, "high": 0.8})
    log.add("metrics", {"step": 1, "reward_mean": 0.25, "length_finished": None})
    return log


def test_each_row_is_sent_once_and_missing_numbers_are_left_out(log):
    sent = []
    dashboard = Dashboard(lambda step, numbers: sent.append((step, numbers)), lambda: None)
    dashboard(log)
    dashboard(log)
    log.add("metrics", {"step": 2, "reward_mean": 0.5, "length_finished": 9.0})
    dashboard(log)
    assert sent == [
        (0, {"eval/dev": 0.5}),
        (1, {"train/reward_mean": 0.25}),
        (2, {"train/reward_mean": 0.5, "train/length_finished": 9.0}),
    ]


@pytest.mark.parametrize(
    ("module", "make"),
    [
        ("torch.utils.tensorboard", lambda: tensorboard("x")),
        ("trackio", lambda: trackio("x")),
        ("wandb", lambda: wandb("x")),
    ],
)
def test_a_library_that_is_absent_is_named_with_its_install_command(monkeypatch, module, make):
    monkeypatch.setitem(sys.modules, module, None)
    package = module.split(".")[-1]
    with pytest.raises(ImportError, match=f"needs {package}: pip install {package}"):
        make()


def test_tensorboard_files_hold_the_numbers(log, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    dashboard = tensorboard(tmp_path)
    dashboard(log)
    dashboard.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    assert sorted(events.Tags()["scalars"]) == ["eval/dev", "train/reward_mean"]
    assert [(e.step, e.value) for e in events.Scalars("train/reward_mean")] == [(1, 0.25)]


def test_wandb_offline_run_takes_the_rows(log, tmp_path):
    pytest.importorskip("wandb")
    dashboard = wandb("lessons", mode="offline", dir=str(tmp_path))
    dashboard(log)
    dashboard.close()
    assert list(tmp_path.rglob("*.wandb"))


def test_trackio_stores_the_rows(log, tmp_path, monkeypatch):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    pytest.importorskip("trackio")
    dashboard = trackio("lessons", name="run")
    dashboard(log)
    dashboard.close()
    assert any(path.stat().st_size for path in tmp_path.rglob("lessons*"))
