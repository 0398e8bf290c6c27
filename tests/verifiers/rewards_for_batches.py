"""Reward functions that another process can import."""

import os
import signal
import time
from pathlib import Path


def by_sleeping(prompts, completions, **columns):
    """The number in each completion; the first ones take longest, so that any reordering shows."""
    for text in completions:
        time.sleep(0.0002 * (200 - int(text)))
    print("noise on stdout")
    return [float(text) for text in completions]


def process_id(prompts, completions, **columns):
    time.sleep(0.05)
    return [float(os.getpid())] * len(completions)


def dies_once(prompts, completions, marker, **columns):
    """Kills its own process at the first call."""
    if not Path(marker[0]).exists():
        Path(marker[0]).write_text("x")
        os.kill(os.getpid(), signal.SIGKILL)
    return [1.0] * len(completions)


def always_dies(prompts, completions, **columns):
    os._exit(1)


def raises(prompts, completions, **columns):
    raise KeyError("a fault of the reward")
