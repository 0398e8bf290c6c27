from types import SimpleNamespace

import torch

from grpo_lessons.step_record import step_metrics


def metrics(verdicts, lengths=(2.0, 5.0, 3.0, 10.0)):
    """One group of four; the last is cut off by the token limit."""
    lengths = torch.tensor(lengths)
    rollouts = SimpleNamespace(
        lengths=lengths,
        finished=torch.tensor([True, True, True, False]),
        entropy=torch.zeros(4, 10),
        mask=(torch.arange(10) < lengths[:, None]).float(),
    )
    rewards = torch.tensor([[1.0, 1.0, 0.0, 0.0]])
    scores = SimpleNamespace(rewards=rewards, accuracy=0.5, reasons={}, strategies={}, verdicts=verdicts)
    return step_metrics(rollouts, scores, rewards - 0.5, {}, 1)


def test_length_of_right_and_of_wrong_answers_go_by_the_verifier():
    line = metrics(["correct", "wrong", "correct", "no_answer"])
    assert (line["length_mean"], line["length_right"], line["length_wrong"]) == (5.0, 2.5, 7.5)


def test_length_of_finished_answers_leaves_the_truncated_one_out():
    assert round(metrics(["correct"] * 4)["length_finished"], 4) == 3.3333


def test_no_wrong_answer_has_no_length():
    assert metrics(["correct"] * 4)["length_wrong"] is None
