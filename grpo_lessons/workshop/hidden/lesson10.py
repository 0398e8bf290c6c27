"""Hidden inputs of lesson 10: other groups, pass rates and courses; the same seven runs, in another order."""

import torch

from grpo_lessons.clinic import PATIENTS

INPUTS = {
    "10.dead_share": (
        (torch.tensor([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]),),
        (torch.tensor([[0.25, 0.25, 0.25, 0.25], [-1.0, -1.0, -1.0, -1.0], [0.0, 0.0, 0.0, 1.0]]),),
        (torch.tensor([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]),),
        (torch.tensor([[0.0, 0.0, 0.0, 0.0, 0.0]]),),
        (torch.tensor([[2.0, 1.0], [2.0, 1.0], [2.0, 2.0], [0.0, 0.0], [0.5, 1.0]]),),
    ),
    "10.group_size": ((0.4,), (0.2,), (0.8,), (0.01,), (0.985,), (0.06,)),
    "10.diagnosis": tuple((run,) for run in reversed(PATIENTS)),
    "10.second_opinion": (  # quarters and eighths are exact: a change of exactly `noise` is no change
        ((0.25, 0.75), (0.25, 0.875), 0.25),
        ((0.25, 0.75), (0.875, 0.5), 0.25),
        ((0.25, 0.75), (0.5, 0.75), 0.25),
        ((0.25, 0.75), (0.5, 0.25), 0.25),
        ((0.25, 0.5), (0.25, 0.75), 0.25),
        ((0.75, 0.25), (0.25, 0.875), 0.125),
        ((0.5, 0.5), (0.75, 0.25), 0.0),
        ((0.125, 0.25), (0.125, 0.25), 0.0),
        ((0.0, 0.875), (0.0, 0.25), 0.125),
    ),
}
