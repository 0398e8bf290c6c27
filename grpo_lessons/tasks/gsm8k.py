"""GSM8K (Cobbe et al. 2021, arXiv 2110.14168): 8.5 thousand word problems whose solutions end in `#### answer`.

From the hub through `datasets`, or from JSON lines with the fields question and answer. Held out is the published test
set; dev is a tenth of the training set, chosen by a hash of the question, and train is the rest.
"""

from __future__ import annotations

import hashlib
import json
import random
from functools import cached_property
from pathlib import Path

from grpo_lessons.verifiers import Verdict, answer_after_hashes, verify_number

from .answer_format import chat
from .base import SPLITS, Problem

HUB_ID, REVISION = "openai/gsm8k", "e53f048856ff4f594e959d75785d2c2d37b678ee"


class Gsm8k:
    """folder: where train.jsonl and test.jsonl are; None reads the hub's copy, or the cache's without network.

    Raises OSError with one sentence when the problems are first asked for and not to be had.
    """

    name = "gsm8k"
    max_new_tokens = 300

    def __init__(self, folder: str | Path | None = None):
        self.folder = Path(folder).expanduser() if folder else None

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n different problems of a split in random order; ValueError beyond the pool."""
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r}; splits: {', '.join(SPLITS)}")
        pool = self.pool[split]
        if not 0 <= n <= len(pool):
            raise ValueError(f"{n} problems asked of {split!r}, which has {len(pool)}; ask for 0 to {len(pool)}")
        return random.Random(f"{split}-{seed}").sample(pool, n)

    @cached_property
    def pool(self) -> dict[str, list[Problem]]:
        """All problems by split."""
        pool: dict[str, list[Problem]] = {
            "train": [],
            "dev": [],
            "held_out": [self._problem(r) for r in self._rows("test")],
        }
        for row in self._rows("train"):
            pool["dev" if tenth(row["question"]) == 0 else "train"].append(self._problem(row))
        return pool

    def _rows(self, part: str) -> list[dict]:
        return read_lines(self.folder / f"{part}.jsonl") if self.folder else read_hub(part)

    @staticmethod
    def _problem(row: dict) -> Problem:
        answer = answer_after_hashes(row["answer"])
        if answer is None:
            raise ValueError(f"a solution must end in '#### answer'; this one does not: {row['answer']!r:.80}")
        return Problem(chat(row["question"].strip()), answer.replace(",", ""), {"solution": row["answer"]})

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """The number in the one answer block, compared exactly."""
        return verify_number(completion, problem.answer)


def tenth(question: str) -> int:
    """0 to 9, always the same for a question."""
    return hashlib.sha256(question.strip().encode()).digest()[0] % 10


def read_lines(path: Path) -> list[dict]:
    """The rows of a file of JSON lines; OSError that says what is expected if it is absent."""
    if not path.is_file():
        raise OSError(f"task 'gsm8k': no {path}; put train.jsonl and test.jsonl there, one question and answer a line")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def read_hub(part: str) -> list[dict]:
    """The rows of the pinned revision; one sentence instead of retries where there is no network."""
    from grpo_lessons.sources import hub_reachable

    try:
        import datasets
    except ImportError as error:
        raise ImportError("task 'gsm8k' needs datasets: pip install 'grpo-lessons[scale]'") from error
    advice = (
        "fetch it once with internet, or give a folder with train.jsonl and test.jsonl: get_task('gsm8k', folder=...)"
    )
    before = datasets.config.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = not hub_reachable()  # or the library would try again and again
    try:
        return list(datasets.load_dataset(HUB_ID, "main", split=part, revision=REVISION))
    except (OSError, ValueError) as error:
        raise OSError(f"task 'gsm8k' is neither in the local cache nor within reach: {advice}") from error
    finally:
        datasets.config.HF_HUB_OFFLINE = before
