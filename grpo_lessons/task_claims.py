"""Rows of data/claims.csv on tasks other than sums (see `claims`)."""

from __future__ import annotations

from .claims import ELSEWHERE, Row, accuracy_claim
from .knights_study import curricula
from .studies import load_recorded


def knights() -> list[Row]:
    """Lesson 14: token weights and a curriculum on logic puzzles."""
    study, sharp, reweighted = load_recorded("knights"), "arXiv 2511.00066", "arXiv 2505.12929"
    small = {
        label: accuracy_claim(study, label, "grpo", "2 people", "two_people") for label in ("grpo_sg", "ar", "lopti")
    }
    order = accuracy_claim(curricula(study), "2, then 3", "2 and 3 mixed", "grpo", "three_people")
    return [
        Row("14", "GRPO-SG lifts Knights and Knaves from 0.42 to 0.63 (3B) and from 0.75 to 0.91 (7B).", sharp,
            *ELSEWHERE),
        Row("14", "GRPO-SG is better than GRPO on Knights and Knaves (here: held-out puzzles of two people).", sharp,
            *small["grpo_sg"]),
        Row("14", "AR with Lopti improves GRPO on Knights and Knaves by up to 46.2 %.", reweighted, *ELSEWHERE),
        Row("14", "AR alone is better than GRPO there (here: two people).", reweighted, *small["ar"]),
        Row("14", "Lopti alone is better than GRPO there (here: two people).", reweighted, *small["lopti"]),
        Row("14", "A curriculum beats random order (here: two people, then three, against both mixed; tested on "
            "three).", "arXiv 2502.14768", *order),
    ]  # fmt: skip


def lookup() -> list[Row]:
    """Lesson 16: GRPO-SG and the mask over retrieved tokens on questions with a search tool."""
    study, sharp = load_recorded("lookup"), "arXiv 2511.00066"
    return [
        Row("16", "GRPO-SG lifts tool-augmented question answering from 13.84 to 27.29 exact match.", sharp,
            *ELSEWHERE),
        Row("16", "GRPO-SG is better than GRPO on questions with a tool (here: held-out look-up questions).", sharp,
            *accuracy_claim(study, "grpo_sg", "grpo", "cost 0.1")),
        Row("16", "Masking retrieved tokens makes training stable (here: exact match is higher than without the mask).",
            "arXiv 2503.09516", *accuracy_claim(study, "grpo", "no mask", "cost 0.1")),
    ]  # fmt: skip
