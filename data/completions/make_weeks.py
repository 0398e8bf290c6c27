"""Sample completions of lesson 18's pupil on dev problems and label them without a verifier.

    python data/completions/make_weeks.py

Raises the pupil (about a minute) and writes weeks_later.jsonl beside this file: 60 problems with 2 completions each,
temperature 1, seed 0. The label is a comparison of strings with a list of the forms in which nobody can misread the
date.
"""

import json
import tempfile
from pathlib import Path

from grpo_lessons.nano import make_nano
from grpo_lessons.policies import load_policy
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.tasks import get_task
from grpo_lessons.tasks.weeks_homework import RAISING, weeks_homework

PROBLEMS, SAMPLES, SEED = 60, 2, 0


def label(completion: str, answer: str) -> float:
    """1 if the completion ends in one block that holds the date in a form nobody can misread, and nothing else."""
    day, month = answer.split()
    forms = {f"{day} {month}", f"{day:0>2} {month}", f"{month} {day}", f"{month} {day:0>2}"}
    return float(completion.split("<answer>")[1:] in [[f"{form}</answer>"] for form in forms])


def lines(policy, task) -> list[str]:
    """One JSON object for each sampled completion."""
    problems = task.problems("dev", PROBLEMS, SEED)
    rollouts = sample_groups(policy, problems, SAMPLES, max_new_tokens=task.max_new_tokens, seed=SEED)
    return [
        json.dumps(
            {
                "id": f"weeks-{i:03d}",
                "prompt": problem.prompt[-1]["content"],
                "completion": text,
                "arguments": {"expected": problem.answer},
                "reward": label(text, problem.answer),
            }
        )
        for i, (text, problem) in enumerate(zip(rollouts.texts, rollouts.row_problems, strict=True))
    ]


def main() -> None:
    task = get_task("weeks_later")
    with tempfile.TemporaryDirectory() as folder:
        make_nano(weeks_homework(task), seed=SEED, out=folder, **RAISING)
        rows = lines(load_policy(folder, device="cpu"), task)
    Path(__file__).with_name("weeks_later.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"{len(rows)} completions")


if __name__ == "__main__":
    main()
