"""What the benchmarks print of what they measured."""

import pytest

from benchmarks.engine_report import report
from benchmarks.scaling import Size, exponent, verdict


def result(loop, seed, cpu, correct):
    curve = [
        {"rollouts": 5, "cpu": cpu / 2, "correct": correct[0]},
        {"rollouts": 10, "cpu": cpu, "correct": correct[1]},
    ]
    phases = {"sample": 0.5 * cpu, "score": 0.0, "update": 0.25 * cpu}
    return {
        "loop": loop,
        "seed": seed,
        "cpu": cpu,
        "wall": 2 * cpu,
        "phases": phases,
        "curve": curve,
        "matmul_rate": 1e9,
    }


def record(**changes):
    machine = {"hardware": "a machine", "threads": "1", "torch": "2", "transformers": "5", "date": "today"}
    results = [result("ours", 0, 10.0, (60, 96)), result("trl", 0, 40.0, (58, 94))]
    results += [result("ours", 1, 14.0, (62, 96)), result("trl", 1, 40.0, (20, 97))]
    settings = {
        "work": "nano",
        "dtype": "float32",
        "steps": 10,
        "n": 100,
        "load": 1.0,
        "loops": ["ours", "trl"],
        "operations": 6e9,
    }
    return {"machine": machine, "results": results, **settings, **changes}


def test_times_ratios_shares_and_the_limit_by_hand():
    lines = report(record()).split("\n")
    ours = next(line for line in lines if line.startswith("| grpo-lessons | 12"))
    assert ours == "| grpo-lessons | 12.0 | 0.30 [0.25, 0.35] | 24 | 0.30 | 50% | 0% | 25% | 25% |"
    assert "| arithmetic of ours | 6.0 | 0.50 of ours | | | | | | |" in lines


def test_curves_pool_the_seeds_and_say_where_intervals_do_not_overlap():
    lines = report(record()).split("\n")
    first, last = (next(line for line in lines if line.startswith(f"| {n} |")) for n in (5, 10))
    assert "61.0%" in first and "39.0%" in first and first.endswith("| no |")  # 122 and 78 of 200
    assert "96.0%" in last and "95.5%" in last and last.endswith("| yes |")


def test_time_to_the_goal_by_seed_and_together():
    text = report(record())
    assert "- grpo-lessons: 10.0, 14.0; the seeds together 12.0" in text
    assert "- TRL 1.16.0: not within 10 rollouts, 40.0; the seeds together 40.0" in text
    assert "Ratio to TRL, the seeds together: 0.30." in text


def test_without_evaluations_there_are_times_only():
    assert "accuracy" not in report(record(n=0))


def test_the_exponent_of_a_power_is_that_power():
    assert exponent([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2.0)


def test_a_phase_that_grows_faster_than_its_limit_is_named():
    def points(power):
        return {
            "length": [
                Size({}, n, 0, {"sample": n, "update": n}, {"sample": n**power, "update": 0.1 * n}) for n in (1, 2, 4)
            ]
        }

    assert verdict(points(1.0), 1.0, 1.0) == "No phase grew faster than its limit."
    assert verdict(points(1.5), 1.0, 1.0) == "Faster than the limit grew: sample with length."
