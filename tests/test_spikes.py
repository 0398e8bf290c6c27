import pytest
from recorded import made_up_study

from grpo_lessons.spikes import spike_counts, spikes


def test_a_spike_is_above_twice_the_median_of_what_was_before():
    assert spikes([1, 1, 1, 2.1, 1, 2.0], window=3).tolist() == [False, False, False, True, False, False]


def test_one_spike_in_the_past_does_not_hide_the_next():
    """The median of 1, 9, 1 is 1, their mean 3.7."""
    assert spikes([1, 9, 1, 5], window=3).tolist() == [False, False, False, True]


def test_a_step_is_not_compared_with_its_future():
    assert spikes([1, 1, 3, 9, 9, 9], window=2).tolist() == [False, False, True, True, False, False]


def test_scaling_the_gradients_changes_no_spike():
    norms = [1, 2, 1, 4, 1, 7, 2, 2]
    assert spikes(norms, window=3).tolist() == spikes([10 * n for n in norms], window=3).tolist()


@pytest.mark.parametrize("rule", [{"factor": 1.0}, {"window": 0}])
def test_a_rule_that_calls_everything_a_spike_is_refused(rule):
    with pytest.raises(ValueError, match="factor > 1 and window >= 1"):
        spikes([1, 2, 3], **rule)


def test_counts_per_run_and_large_gradients_alone_are_no_spikes():
    table = spike_counts(made_up_study().curves).set_index(["label", "setting", "seed"])
    assert table.loc[("grpo", "1e-03", 0), ["spikes", "steps", "median", "largest"]].tolist() == [1, 4, 1.0, 5.0]
    assert table.loc[("gmpo", "1e-03", 0), "spikes"] == 0
