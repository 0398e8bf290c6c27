"""Sample completions of the nano policy on dev sums and label them without a verifier.

    python data/completions/make.py

Writes addition.jsonl beside this file: 96 sums with 4 completions each, temperature 1, seed 0. The label is a
comparison of strings: the text after the only "<answer>" must be the sum in its usual digits and "</answer>".
"""

import hashlib
import json
from pathlib import Path

from grpo_lessons.paths import data_dir
from grpo_lessons.policies import load_policy
from grpo_lessons.rollouts import sample_groups
from grpo_lessons.tasks import get_task

SUMS, SAMPLES, SEED = 96, 4, 0


def label(completion: str, a: int, b: int) -> float:
    """1 if the completion ends in the right block and has no other one."""
    return float(completion.split("<answer>")[1:] == [f"{a + b}</answer>"])


def main() -> None:
    task = get_task("addition")
    problems = task.problems("dev", SUMS, SEED)
    rollouts = sample_groups(load_policy("nano"), problems, SAMPLES, max_new_tokens=task.max_new_tokens, seed=SEED)
    rows = zip(rollouts.texts, rollouts.row_problems, rollouts.finished.tolist(), strict=True)
    lines = [
        json.dumps(
            {
                "id": f"addition-{i:03d}",
                "verifier": "verify_integer",
                "prompt": problem.prompt[-1]["content"],
                "completion": text,
                "arguments": {"expected": problem.answer},
                "reward": label(text, problem.data["a"], problem.data["b"]),
                "finished": finished,
            }
        )
        for i, (text, problem, finished) in enumerate(rows)
    ]
    Path(__file__).with_name("addition.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    weights = hashlib.sha256((data_dir() / "nano" / "model.safetensors").read_bytes()).hexdigest()
    print(f"{len(lines)} completions of the policy with weights sha256 {weights[:16]}")


if __name__ == "__main__":
    main()
