"""Verdicts follow from intervals, and the shipped table from the recorded runs."""

import pandas as pd
import pytest

from grpo_lessons import claims
from grpo_lessons.paths import data_dir
from grpo_lessons.studies import Recorded


@pytest.mark.parametrize(
    ("interval", "claimed", "expected"),
    [
        ((0.1, 0.3), 1, "reproduced"),
        ((-0.3, -0.1), 1, "contradicted"),
        ((-0.1, 0.3), 1, "not seen"),
        ((-0.3, -0.1), -1, "reproduced"),
        ((0.1, 0.3), -1, "contradicted"),
    ],
)
def test_a_verdict_needs_an_interval_beside_zero_on_the_claimed_side(interval, claimed, expected):
    assert claims.verdict(*interval, claimed) == expected


def test_the_shipped_table_is_what_the_recorded_runs_say():
    shipped = claims.load_claims()
    made = [tuple(vars(row).values()) for row in claims.rows()]
    assert list(shipped.itertuples(index=False, name=None)) == made
    assert (data_dir() / "claims.md").read_text(encoding="utf-8") == claims.page()


def test_every_claim_names_its_source_and_has_a_known_verdict():
    known = {"reproduced", "not seen", "contradicted", "exact", "cannot be tested here"}
    for row in claims.load_claims().itertuples():
        assert "arXiv" in row.source or "https://" in row.source
        assert row.verdict in known


def test_parity_is_judged_against_the_margin():
    results = pd.DataFrame(
        {"label": ["a", "b", "c"], "setting": "s", "seed": 0, "n": 10_000, "accuracy": [0.90, 0.92, 0.50]}
    )
    study = Recorded({}, None, results)
    assert claims.parity_claim(study, "a", "b", "s")[1] == "reproduced"  # 2 points below, 5 are allowed
    assert claims.parity_claim(study, "a", "b", "s", margin=0.0)[1] == "contradicted"
    assert claims.parity_claim(study, "c", "a", "s")[1] == "contradicted"


def test_a_curve_is_judged_by_students_t_over_the_seeds():
    curves = pd.DataFrame(
        {"label": ["a"] * 3 + ["b"] * 3, "setting": "s", "seed": [0, 1, 2] * 2, "x": [3.0, 4.0, 5.0, 1.0, 1.0, 1.0]}
    )
    text, verdict = claims.curve_claim(
        Recorded({}, curves, None), "a", "b", "s", lambda run: run["x"].mean(), "units", claimed=1
    )
    # gaps 2, 3, 4: mean 3, standard error 1 / sqrt(3), t = 4.303
    assert text == "s: +3.00 units [+0.52, +5.48], 3 seeds"
    assert verdict == "reproduced"
