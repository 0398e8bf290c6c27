"""The set-up cell of the lessons on real models: two commands on Colab and Kaggle, nothing anywhere else."""

import subprocess
import sys

import nbformat
import pytest
from ours import FOLDER

NAMES = ["12_qwen_grpo.ipynb", "13_qwen_three_methods.ipynb"]


@pytest.fixture
def commands(monkeypatch):
    """What the cell would run."""
    done = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: done.append(command))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("KAGGLE_KERNEL_RUN_TYPE", raising=False)
    return done


def source(name):
    return next(c.source for c in nbformat.read(FOLDER / name, as_version=4).cells if c.cell_type == "code")


@pytest.mark.parametrize("name", NAMES)
def test_it_does_nothing_on_a_machine_of_your_own(name, commands):
    exec(source(name), {})
    assert commands == [] and "grpo-lessons" not in sys.path


@pytest.mark.parametrize("name", NAMES)
def test_on_kaggle_it_fetches_the_course_and_installs_it_under_the_pins(name, commands, monkeypatch, tmp_path):
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    monkeypatch.chdir(tmp_path)
    exec(source(name), {})
    clone, install = commands
    assert clone[:2] == ["git", "clone"]
    assert install[1:4] == ["-m", "pip", "install"] and "grpo-lessons/constraints-unsloth.txt" in install
    assert install[-1] == "grpo-lessons[lab,qlora,unsloth]" and sys.path[0] == "grpo-lessons"


def test_both_lessons_have_the_same_cell():
    first, second = map(source, NAMES)
    assert first == second
