"""What the sources claim, what our recorded runs show, and the verdict: data/claims.csv.

    python -m grpo_lessons.claims        writes data/claims.csv and the page data/claims.md from data/recorded/

Verdicts: "reproduced" (our interval lies on the claimed side of 0, or of a stated margin), "not seen" (it does not),
"contradicted" (it lies on the other side, or the source contradicts itself), "exact" (arithmetic, no run needed),
"cannot be tested here" (another model, task or scale). Ours is one small policy on one task: a claim not seen here may
hold elsewhere.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields

import numpy as np

from .paths import data_dir
from .pooled import differences
from .runlog import replace_file
from .spikes import spike_counts
from .studies import Recorded, load_recorded

# 97.5 % quantile of Student's t with n - 1 degrees of freedom, for n = 2 to 5 seeds (any table of the distribution).
T_975 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}
ELSEWHERE = ("no run of ours", "cannot be tested here")


@dataclass(frozen=True)
class Row:
    """A line of claims.csv. lesson: where it is dealt with. ours: our measurement in words."""

    lesson: str
    claim: str
    source: str
    ours: str
    verdict: str


def verdict(low: float, high: float, claimed: int) -> str:
    """For the interval of a difference that was claimed to be above 0 (claimed=1) or below (claimed=-1)."""
    if low <= 0 <= high:
        return "not seen"
    return "reproduced" if (low > 0) == (claimed > 0) else "contradicted"


def accuracy_claim(study: Recorded, a: str, b: str, setting: str, column: str = "accuracy") -> tuple[str, str]:
    """Is label a above label b in a share of the results? In points, bootstrap over seeds and problems."""
    row = differences(study, a, b, column).set_index("setting").loc[setting]
    text = "{:+.1f} points [{:+.1f}, {:+.1f}]".format(*(100 * row[k] for k in ("difference", "low", "high")))
    return f"{setting}: {text}, ahead in {row['ahead']} seeds", verdict(row["low"], row["high"], claimed=1)


def parity_claim(study: Recorded, a: str, b: str, setting: str, margin: float = 0.05) -> tuple[str, str]:
    """Is label a no more than `margin` below label b in held-out accuracy? The interval is compared with -margin."""
    row = differences(study, a, b).set_index("setting").loc[setting]
    text = "{:+.1f} points [{:+.1f}, {:+.1f}]".format(*(100 * row[k] for k in ("difference", "low", "high")))
    return f"{setting}: {text}", verdict(row["low"] + margin, row["high"] + margin, claimed=1)


def curve_claim(
    study: Recorded, a: str, b: str, setting: str, value: Callable, unit: str, claimed: int
) -> tuple[str, str]:
    """The same for a number of each run's curve (value: DataFrame of one run -> float); Student's t over the seeds.

    A bootstrap of two or three seeds would only return their extremes.
    """
    runs = study.curves[study.curves["setting"] == setting].groupby(["label", "seed"])
    numbers = {key: value(run) for key, run in runs}
    seeds = sorted(seed for label, seed in numbers if label == a and (b, seed) in numbers)
    gaps = np.array([numbers[a, seed] - numbers[b, seed] for seed in seeds])
    half = T_975[len(gaps)] * gaps.std(ddof=1) / len(gaps) ** 0.5
    low, high = gaps.mean() - half, gaps.mean() + half
    text = f"{setting}: {gaps.mean():+.2f} {unit} [{low:+.2f}, {high:+.2f}], {len(gaps)} seeds"
    return text, verdict(low, high, claimed)


def rows() -> list[Row]:
    """All claims with the verdicts of the recorded runs."""
    from .task_claims import knights, lookup  # here, because that file builds on this one

    return [*_foundations(), *_gmpo(), *_sharpness(), *_adapters(), *knights(), *lookup()]


def _foundations() -> list[Row]:
    lengths = load_recorded("lengths")
    wrong = lambda run: run["length_wrong"].tail(20).mean()  # noqa: E731
    grown = lengths.curves[lengths.curves["label"] == "grpo"].groupby("seed")["length_mean"].agg(["first", "last"])
    growth = (grown["last"] - grown["first"]).tolist()
    return [
        Row("01", "A critic of the policy's size adds about a second model to train.", "arXiv 2402.03300",
            "16 bytes a parameter with AdamW in mixed precision: the policy's own training state again", "exact"),
        Row("04", "Answers grow longer during R1-Zero-style training.", "arXiv 2501.12948",
            f"{min(growth):+.1f} to {max(growth):+.1f} tokens over {len(growth)} seeds; written-out sums pay",
            "reproduced" if min(growth) > 0 else "not seen"),
        Row("05", "Wrong answers grow longer under GRPO than under Dr. GRPO.", "arXiv 2503.20783",
            *curve_claim(lengths, "grpo", "dr_grpo", "default", wrong, "tokens", claimed=1)),
    ]  # fmt: skip


def _gmpo() -> list[Row]:
    paper, three, ladder = "arXiv 2507.20673", load_recorded("three_methods"), load_recorded("ladder")
    width = lambda run: (run["log_ratio_max"] - run["log_ratio_min"]).mean()  # noqa: E731
    bulk = lambda run: (run["log_ratio_q99"] - run["log_ratio_q01"]).mean()  # noqa: E731
    entropy = lambda run: run["entropy"].tail(10).mean()  # noqa: E731
    pair = (ladder, "gmpo", "grpo", "2e-04")
    return [
        Row("08", "GMPO raises average pass@1 by 4.1 points over GRPO (R1-Distill-Qwen-7B, mathematics).", paper,
            *ELSEWHERE),
        Row("08", "GMPO is better than GRPO (here: default settings, held-out sums).", paper,
            *accuracy_claim(three, "gmpo", "grpo", "default")),
        Row("08", "GMPO is the more stable one (here: a learning rate of 1e-3, held-out sums).", paper,
            *accuracy_claim(ladder, "gmpo", "grpo", "1e-03")),
        Row("08", "GMPO keeps the sampling ratios in a narrower range (extremes of log rho).", paper,
            *curve_claim(*pair, width, "nats", claimed=-1)),
        Row("08", "The same for the bulk of the tokens (1 % to 99 % quantile of log rho).", paper,
            *curve_claim(*pair, bulk, "nats", claimed=-1)),
        Row("08", "GMPO keeps a higher entropy.", paper, *curve_claim(*pair, entropy, "nats a token", claimed=1)),
        Row("08", "GMPO won on every benchmark of its table.", "a popular review of arXiv 2507.20673",
            "the paper's own Minerva column falls, 39.7 to 37.9", "contradicted"),
    ]  # fmt: skip


def _sharpness() -> list[Row]:
    paper, study = "arXiv 2511.00066", load_recorded("sharpness")
    counts = spike_counts(study.curves).set_index(["label", "setting", "seed"])["spikes"]
    spiky = lambda run: float(counts[tuple(run[["label", "setting", "seed"]].iloc[0])])  # noqa: E731
    held_out = {
        ("GRPO-SG generalises better than GRPO", paper): "grpo_sg",
        ("Advantage reweighting is better than GRPO", "arXiv 2505.12929"): "ar",
        ("Lopti is better than GRPO", "arXiv 2505.12929"): "lopti",
        ("The 20 % most uncertain tokens give a better policy than all of them", "arXiv 2506.01939"): "high_entropy",
    }
    found = [
        Row("09", f"{claim} (here: held-out sums after training on few).", source,
            *accuracy_claim(study, label, "grpo", setting))
        for (claim, source), label in held_out.items()
        for setting in ("16 sums", "256 sums")
    ]  # fmt: skip
    return [
        *found,
        Row("09", "GRPO-SG generalises better: three-digit sums, which nobody trained on.", paper,
            *accuracy_claim(study, "grpo_sg", "grpo", "all sums", "three_digits")),
        Row("09", "GRPO-SG has fewer gradient-norm spikes.", paper,
            *curve_claim(study, "grpo_sg", "grpo", "all sums", spiky, "spikes a run", claimed=-1)),
        Row("09", "GRPO-SG: Knights and Knaves 0.42 to 0.63 with Qwen2.5-3B; tool QA 13.84 to 27.29.", paper,
            *ELSEWHERE),
    ]  # fmt: skip


def _adapters() -> list[Row]:
    study, setting = load_recorded("lora"), "20 steps"
    margin = "(here: after 20 steps no more than 5 points below)"
    return [
        Row("11", f"LoRA is on a par with training every weight {margin}.", "arXiv 2106.09685",
            *parity_claim(study, "LoRA, rank 8", "every weight", setting)),
        Row("11", f"Under reinforcement learning rank 1 is enough {margin[:-1]}, at the rate of rank 8).",
            "https://thinkingmachines.ai/blog/lora/",
            *parity_claim(study, "LoRA, rank 1", "every weight", setting)),
        Row("11", f"QLoRA keeps the accuracy of LoRA on 16-bit weights {margin}; our base has 32.", "arXiv 2305.14314",
            *parity_claim(study, "QLoRA, rank 8", "LoRA, rank 8", setting)),
    ]  # fmt: skip


def write() -> str:
    """Write data/claims.csv; returns its text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(f.name for f in fields(Row))
    writer.writerows(astuple(row) for row in rows())
    replace_file(data_dir() / "claims.csv", text.getvalue().encode())
    replace_file(data_dir() / "claims.md", page().encode())
    return text.getvalue()


def page() -> str:
    """All claims as one Markdown page."""
    head = [
        "# What the sources claim, and what our runs show",
        "",
        "Written by `python -m grpo_lessons.claims` from `data/recorded/`; do not edit. The runs are small policies,",
        "on two-digit sums unless a row says otherwise, two to five seeds each: *not seen* means that our interval",
        "holds 0, not that the claim is wrong.",
        "",
        "| lesson | claim | source | our runs | verdict |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *("| " + " | ".join(astuple(row)) + " |" for row in rows())]) + "\n"


def load_claims(lesson: str | None = None):
    """data/claims.csv as a DataFrame, or the rows of one lesson."""
    import pandas as pd

    table = pd.read_csv(data_dir() / "claims.csv", dtype=str)
    return table if lesson is None else table[table["lesson"] == lesson].drop(columns="lesson").reset_index(drop=True)


if __name__ == "__main__":
    print(write())
