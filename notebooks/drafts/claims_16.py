def lookup() -> list[Row]:
    """Lesson 16: a cost per call is no source's accuracy claim; the mask and GRPO-SG are."""
    study, sharp = load_recorded("lookup"), "arXiv 2511.00066"
    setting = next(name for name in study.results["setting"].unique() if name != "cost 0")
    return [
        Row("16", "GRPO-SG lifts tool-augmented question answering from 13.84 to 27.29 exact match.", sharp, *ELSEWHERE),
        Row("16", "GRPO-SG is better than GRPO on questions with a tool (here: held-out look-up questions).", sharp,
            *accuracy_claim(study, "grpo_sg", "grpo", setting)),
        Row("16", "Leaving retrieved tokens out of the loss gives a better policy (here: exact match).",
            "arXiv 2503.09516", *accuracy_claim(study, "grpo", "no mask", setting)),
    ]  # fmt: skip
