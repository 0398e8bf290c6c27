"""Checkpoints: whole or absent, the newest whole one is loaded, the newest and the best are kept."""

import json

import pytest
import torch
from torch import nn

from grpo_lessons.checkpoints import list_checkpoints, load_latest, prune, save_checkpoint


def model_and_optimizer(seed):
    """Two layers, the first frozen, after two steps of AdamW."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    model[0].requires_grad_(False)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(2):
        model(torch.ones(1, 3)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def names(directory):
    return [path.name for path in list_checkpoints(directory)]


def test_loading_restores_weights_and_the_next_optimizer_step(tmp_path):
    model, optimizer = model_and_optimizer(0)
    save_checkpoint(tmp_path, 2, model, optimizer)
    other, other_optimizer = model_and_optimizer(1)
    other[0].load_state_dict(model[0].state_dict())  # the frozen part comes with the policy, not with the checkpoint
    assert load_latest(tmp_path, other, other_optimizer) == 2
    for m, o in ((model, optimizer), (other, other_optimizer)):
        m(torch.tensor([[1.0, -2.0, 0.5]])).square().sum().backward()
        o.step()
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)


def test_only_trainable_tensors_are_written(tmp_path):
    from safetensors.torch import load_file

    model, optimizer = model_and_optimizer(0)
    path = save_checkpoint(tmp_path, 1, model, optimizer)
    assert sorted(load_file(path / "weights.safetensors")) == ["1.bias", "1.weight"]
    assert sorted(load_file(path / "optimizer.safetensors")) == [
        f"{i}.{name}" for i in (0, 1) for name in ("exp_avg", "exp_avg_sq", "step")
    ]
    assert sorted(p.name for p in path.iterdir()) == ["optimizer.safetensors", "state.json", "weights.safetensors"]


def test_no_checkpoint_is_step_0(tmp_path):
    assert load_latest(tmp_path, *model_and_optimizer(0)) == 0


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


def flip_last_byte(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def other_step(path):
    path.write_text(path.read_text().replace('"step": 2', '"step": 3'))


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("weights.safetensors", cut),
        ("weights.safetensors", flip_last_byte),
        ("optimizer.safetensors", cut),
        ("optimizer.safetensors", flip_last_byte),
        ("optimizer.safetensors", lambda path: path.unlink()),
        ("state.json", cut),
        ("state.json", lambda path: path.write_text("[]")),
        ("state.json", lambda path: path.write_bytes(b"\xff\xfe\x00")),
        ("state.json", other_step),
    ],
)
def test_a_damaged_checkpoint_is_named_and_passed_over_for_the_one_before(tmp_path, file, damage):
    model, optimizer = model_and_optimizer(0)
    save_checkpoint(tmp_path, 1, model, optimizer)
    expected = [p.clone() for p in model.parameters()]
    with torch.no_grad():
        for p in model.parameters():
            p.add_(1.0)
    damage(save_checkpoint(tmp_path, 2, model, optimizer) / file)
    with pytest.warns(UserWarning, match="checkpoint step-000002 is damaged .*trying the one before"):
        assert load_latest(tmp_path, model, optimizer) == 1
    for found, wanted in zip(list(model.parameters())[2:], expected[2:], strict=True):
        assert torch.equal(found, wanted)


def test_when_every_checkpoint_is_damaged_nothing_is_loaded(tmp_path):
    model, optimizer = model_and_optimizer(0)
    cut(save_checkpoint(tmp_path, 1, model, optimizer) / "optimizer.safetensors")
    fresh, fresh_optimizer = model_and_optimizer(1)
    before = [p.clone() for p in fresh.parameters()]
    with pytest.warns(UserWarning, match="step-000001 is damaged"):
        assert load_latest(tmp_path, fresh, fresh_optimizer) == 0
    assert all(torch.equal(a, b) for a, b in zip(fresh.parameters(), before, strict=True))


def test_a_checkpoint_of_other_parameters_is_an_error(tmp_path):
    save_checkpoint(tmp_path, 1, *model_and_optimizer(0))
    other = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="holds other parameters than this policy"):
        load_latest(tmp_path, other, torch.optim.AdamW(other.parameters()))


def test_a_half_written_checkpoint_is_not_a_checkpoint_and_is_cleared_away(tmp_path):
    model, optimizer = model_and_optimizer(0)
    save_checkpoint(tmp_path, 1, model, optimizer)
    half = tmp_path / "checkpoints" / "writing-step-000002"
    half.mkdir()
    (half / "weights.safetensors").write_bytes(b"half")
    assert names(tmp_path) == ["step-000001"]
    assert load_latest(tmp_path, model, optimizer) == 1
    prune(tmp_path, keep=2)
    assert not half.exists()


def test_a_checkpoint_of_the_same_step_is_replaced(tmp_path):
    model, optimizer = model_and_optimizer(0)
    save_checkpoint(tmp_path, 1, model, optimizer, dev_accuracy=0.1)
    path = save_checkpoint(tmp_path, 1, model, optimizer, dev_accuracy=0.2)
    assert json.loads((path / "state.json").read_text())["dev_accuracy"] == 0.2
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["step-000001"]


def test_the_newest_and_the_best_on_dev_are_kept(tmp_path):
    model, optimizer = model_and_optimizer(0)
    for step, dev in ((1, 0.5), (2, 0.9), (3, None), (4, 0.7), (5, 0.9)):
        save_checkpoint(tmp_path, step, model, optimizer, dev_accuracy=dev)
    prune(tmp_path, keep=2)
    assert names(tmp_path) == ["step-000002", "step-000004", "step-000005"]


def test_without_dev_scores_the_newest_are_kept(tmp_path):
    for step in (9, 10, 11):
        save_checkpoint(tmp_path, step, *model_and_optimizer(0))
    prune(tmp_path, keep=1)
    assert names(tmp_path) == ["step-000011"]
