import pytest
from recorded import made_up_study

from grpo_lessons.pooled import differences, pooled, trials


def test_mean_worst_and_best_are_over_the_seeds():
    row = pooled(made_up_study()).set_index(["label", "setting"]).loc[("grpo", "1e-03")]
    assert (row["seeds"], row["worst"], row["best"]) == (2, 0.2, 0.4)
    assert row["mean"] == pytest.approx(0.3)


def test_the_interval_holds_the_spread_of_the_seeds_and_not_only_that_of_the_answers():
    """One seed in four draws (0, 0) or (1, 1), so both seeds' accuracies lie inside; 200 answers alone give ±0.064."""
    row = pooled(made_up_study()).iloc[0]
    assert row["low"] < 0.2 and row["high"] > 0.4


def test_settings_keep_the_order_of_the_study():
    assert list(pooled(made_up_study())["setting"][:2]) == ["5e-04", "1e-03"]


def test_a_difference_pairs_the_runs_of_a_seed():
    """Both seeds differ by 0.4, so only the answers are left to vary: about 1.96 sqrt(2 * 0.2 / 200) = 0.088."""
    row = differences(made_up_study(), "gmpo", "grpo").iloc[0]
    assert row["difference"] == pytest.approx(0.4)
    assert row["high"] - row["low"] == pytest.approx(2 * 0.088, abs=0.04)
    assert (row["ahead"], row["verdict"]) == ("2 of 2", "higher")


def test_equal_labels_are_not_told_apart():
    study = made_up_study()
    study.results["accuracy"] = 0.5
    assert set(differences(study, "gmpo", "grpo")["verdict"]) == {"not told apart"}


def test_the_verdict_turns_with_the_order():
    assert set(differences(made_up_study(), "grpo", "gmpo")["verdict"]) == {"lower"}


def test_a_label_that_is_not_there_names_those_that_are():
    with pytest.raises(ValueError, match="'dapo' and 'grpo'; labels: grpo, gmpo"):
        differences(made_up_study(), "dapo", "grpo")


@pytest.mark.parametrize(
    ("column", "expected"), [("accuracy", [100, 100]), ("train", [16, 100]), ("three_digits", [200, 200])]
)
def test_problems_behind_a_share(column, expected):
    """16 training sums are evaluated as 16 problems, however many held-out ones there are."""
    assert trials(made_up_study(), column).iloc[[0, 2]].tolist() == expected
