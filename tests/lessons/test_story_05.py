"""What lesson 05 reads from the recorded study of lengths."""

from grpo_lessons.studies import load_recorded


def test_grpo_leaves_the_short_guess_later_than_dr_grpo():
    """The bandit of section 3 predicts shorter right answers under GRPO; steps 1 to 20, paired by seed."""
    curves = load_recorded("lengths").curves
    early = curves[curves["step"] <= 20].groupby(["label", "seed"])["length_right"].mean()
    difference = early["grpo"] - early["dr_grpo"]
    assert len(difference) == 5
    assert difference.mean() + 2.776 * difference.std() / 5**0.5 < 0
