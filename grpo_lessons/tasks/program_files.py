"""Programming problems from files: ours, and JSON lines in the form of MBPP (2021) or HumanEval (2021).

Differs from the benchmarks' own harnesses: a test is split into a call and an expected value (`verify_code`), so a
problem whose tests are loops or code of their own is left out, with a warning that counts them; and one test at most
is shown in the prompt, the rest stay hidden.
"""

from __future__ import annotations

import ast
import json
import random
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grpo_lessons.paths import data_dir
from grpo_lessons.verifiers import Verdict
from grpo_lessons.verifiers.code import verify_code_batch
from grpo_lessons.verifiers.code_tests import read_tests

from .base import SPLITS, Problem

SPLIT_SEED = 2024
DEV_SHARE, HELD_OUT_SHARE = 0.1, 0.3
REQUEST = "Write the whole program in Python between <answer> and </answer>."


def load_programs(path: str | Path) -> list[Problem]:
    """The problems of a file with one JSON object a line; the kind of each line is seen from its keys.

    MBPP and ours: text (or prompt), code, test_list, and perhaps test_setup_code and challenge_test_list.
    HumanEval: prompt, entry_point, canonical_solution, test. The answer of a problem is the reference program; data
    holds task_id and tests. Raises ValueError with the line's number for a line that is neither.
    """
    problems, left_out = [], []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        row = _row(line, f"{path}, line {number}")
        name = str(row.get("task_id", number))
        text, code, tests = _human_eval(row) if "entry_point" in row else _mbpp(row)
        try:
            read_tests(tests)
        except ValueError:
            left_out.append(name)
            continue
        problems.append(Problem([{"role": "user", "content": text}], code, {"task_id": name, "tests": tests}))
    if left_out:
        warnings.warn(
            f"{len(left_out)} of {len(left_out) + len(problems)} problems of {path} are left out, as their tests "
            f"cannot be split into call and value: {', '.join(left_out[:5])}{' ...' * (len(left_out) > 5)}",
            stacklevel=2,
        )
    return problems


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"{where} is not JSON: {error}") from error
    keys = set(row) if isinstance(row, dict) else set()
    if {"entry_point", "prompt", "canonical_solution", "test"} <= keys:
        return row
    if {"code", "test_list"} <= keys and keys & {"text", "prompt"} and row["test_list"]:
        return row
    raise ValueError(
        f"{where} has the keys {sorted(keys)}; expected text, code and a test_list that is not empty (MBPP), "
        "or prompt, entry_point, canonical_solution and test (HumanEval)"
    )


def _mbpp(row: dict[str, Any]) -> tuple[str, str, list[str]]:
    shown, *_ = tests = [*row["test_list"], *row.get("challenge_test_list", [])]
    setup = row.get("test_setup_code") or "\n".join(row.get("test_imports", []))
    text = f"{row.get('text') or row['prompt']}\nIt must pass this test, among others:\n{shown}\n{REQUEST}"
    return text, row["code"], [f"{setup}\n{test}" if setup else test for test in tests]


def _human_eval(row: dict[str, Any]) -> tuple[str, str, list[str]]:
    """The assertions in the body of check(candidate), about the function itself."""
    text = f"Complete this program:\n{row['prompt'].rstrip()}\n{REQUEST}"
    checks = [node for node in ast.walk(ast.parse(row["test"])) if isinstance(node, ast.FunctionDef)]
    body = checks[0].body if checks else []
    tests = [ast.unparse(_Named(row["entry_point"]).visit(node)) for node in body if not _says_nothing(node)]
    return text, row["prompt"] + row["canonical_solution"], tests or [row["test"]]


def _says_nothing(node: ast.stmt) -> bool:
    """A docstring, or "assert True"."""
    return isinstance(getattr(node, "value", getattr(node, "test", None)), ast.Constant)


class _Named(ast.NodeTransformer):
    """Puts the function's name for `candidate`; leaves out the messages of assertions."""

    def __init__(self, name: str):
        self.name = name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.name, node.ctx) if node.id == "candidate" else node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        return ast.Assert(self.visit(node.test), None)


class WrittenPrograms:
    """The problems of a file as a task, by default the 60 of this course in `data/programs.jsonl`.

    60 % train, 10 % dev, 30 % held out, by the order in the file and a fixed seed.
    """

    name = "written_programs"
    max_new_tokens = 600

    def __init__(self, path: str | Path | None = None):
        self.path = Path(path or data_dir() / "programs.jsonl")
        self.all = load_programs(self.path)

    def problems(self, split: str, n: int, seed: int) -> list[Problem]:
        """n problems of a split in random order; ValueError beyond the pool."""
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r}; splits: {', '.join(SPLITS)}")
        pool = random.Random(SPLIT_SEED).sample(self.all, len(self.all))
        dev, held_out = round(len(pool) * DEV_SHARE), round(len(pool) * HELD_OUT_SHARE)
        pool = {"dev": pool[:dev], "held_out": pool[dev : dev + held_out], "train": pool[dev + held_out :]}[split]
        if not 0 <= n <= len(pool):
            raise ValueError(f"{n} problems asked of {split!r}, which has {len(pool)}; ask for 0 to {len(pool)}")
        return random.Random(f"{split}-{seed}").sample(pool, n)

    def verify(self, completion: str, problem: Problem) -> Verdict:
        """Reward 1 if the program passes every test, shown or hidden."""
        return self.verify_batch([completion], [problem])[0]

    def verify_batch(self, completions: Sequence[str], problems: Sequence[Problem]) -> list[Verdict]:
        """`verify` for many, as many programs at a time as there are processors."""
        return verify_code_batch(completions, [problem.data["tests"] for problem in problems])
