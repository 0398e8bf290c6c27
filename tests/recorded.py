"""A made-up recorded study with simple numbers, for tests of what is computed and drawn from studies."""

import pandas as pd

from grpo_lessons.studies import Recorded


def made_up_study(steps=14):
    """grpo and gmpo at two learning rates, seeds 0 and 1; accuracies 0.2 and 0.4 against 0.6 and 0.8, n = 100.

    At 1e-03 grpo's gradient norm is 1 but for 5 at step 12; gmpo's is 10 throughout.
    """
    accuracy = {"grpo": (0.2, 0.4), "gmpo": (0.6, 0.8)}
    results, curves, runs = [], [], {}
    for label, shares in accuracy.items():
        for setting in ("5e-04", "1e-03"):
            for seed in (0, 1):
                run = f"{label}|{setting}|{seed}"
                keys = {"run": run, "label": label, "setting": setting, "seed": seed}
                results.append({**keys, "n": 100, "accuracy": shares[seed], "train": 0.9, "three_digits": 0.5})
                runs[run] = {"train_problems": 16 if setting == "5e-04" else None}
                curves += [{**keys, "step": step, **_row(label, setting, step)} for step in range(1, steps + 1)]
    return Recorded({"runs": runs, "seeds": [0, 1]}, pd.DataFrame(curves), pd.DataFrame(results))


def _row(label, setting, step):
    spike = label == "grpo" and setting == "1e-03" and step == 12
    norm = 5.0 if spike else 1.0 if label == "grpo" else 10.0
    width = 2.0 if label == "grpo" else 1.0
    return {
        "grad_norm": norm / 2,
        "grad_norm_max": norm,
        "entropy": 1 / step,
        "log_ratio_min": -width,
        "log_ratio_max": width,
        "log_ratio_q01": -0.1 * width,
        "log_ratio_q99": 0.1 * width,
    }
