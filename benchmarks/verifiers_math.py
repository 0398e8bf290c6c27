"""Agreement and speed of verify_math and math-verify on one list in one run, every disagreement explained.

    python benchmarks/verifiers_math.py

The list: the verify_math cases of data/verifier_cases.jsonl whose completion holds an answer block, and 600 generated
ordinary pairs (half of them wrong). math-verify gets the text of the block and the expected answer, each between
dollar signs, with its default configuration and time limits, in this process; verify_math gets the completion and
pays for extraction and the way to its worker. Prints the section that benchmarks/verifiers.py writes down.
The labels of the first list were written for verify_math's reading rules, so its share of right verdicts there says
that it keeps them, not that it is the better judge everywhere. Exit status 1 if a disagreement is not explained below.
"""

import logging
import random
import sys
import time
import warnings
from statistics import median

from math_verify import parse, verify

from grpo_lessons.paths import data_dir
from grpo_lessons.verifiers import extract_answer, verify_math
from grpo_lessons.verifiers.report import read_cases

# (expected, answer) -> why the two differ; who is right by the label is computed, not written here
EXPLANATIONS: dict[tuple[str, str], str] = {
    ("\\frac{1}{2^{98}}", "\\frac{1}{2^{99}}"): "math-verify: the difference is cut to 0 by an absolute tolerance",
    ("1/2^99", "1/2^98"): "math-verify: the difference is cut to 0 by an absolute tolerance",
    ("\\sqrt2", "\\sqrt2+2^{-99}"): "math-verify: the difference is cut to 0 by an absolute tolerance",
    ("4", "4\\sqrt(2)"): "math-verify: the text does not parse, so a number found inside it is taken",
    ("4", "4 +"): "math-verify: the text does not parse, so a number found inside it is taken",
    ("2^{-99}", "1/2**99"): "math-verify does not read a plain power and takes the 1 of 1/2**99",
    ("42", "x=41=42"): "math-verify takes the last side of a chain and forgets that 41 stands there too",
    ("\\sqrt{2}", "√2"): "math-verify does not read the sign √",
    ("(-\\infty,0)\\cup(0,\\infty)", "(0,∞) U (-∞,0)"): "math-verify does not read the signs ∞ and U",
    ("1000", "1e3"): "math-verify reads e as the constant: 3e",
    ("6", "3(2)"): "latex2sympy reads 3(2) as the mixed number 3 + 2",
    ("5", "3(2)"): "latex2sympy reads 3(2) as the mixed number 3 + 2",
    ("5", "2 3"): "latex2sympy reads 2 3 as the mixed number 2 + 3",
    ("2\\ln x", "\\ln x^2"): "math-verify: no simplification proves it; equal wherever both are real",
    ("e^{i\\pi}", "-1"): "latex2sympy reads i as a letter",
    ("-2", "\\sqrt[3]{-8}"): "math-verify takes the principal complex root, ours the real one",
    ("(1,2]", "2 >= x > 1"): "math-verify compares an inequality to an interval only the other way round",
    ("\\frac{1}{3}", "0.333333"): "math-verify rounds to six decimals; ours is exact",
    ("(1,2)", "\\{1,2\\}"): "math-verify lets a set stand for a pair",
    ("x=1, y=2", "2, 1"): "math-verify drops the names and compares sorted values, so 2, 1 is accepted",
    ("x", "X"): "math-verify makes all letters small",
    ("2", "\\log 100"): "math-verify takes base 10 for a log without a base; ours does not guess",
    ("5\\text{ cm}", "5\\text{ m}"): "math-verify drops every unit",
    ("\\infty-\\infty", "\\infty-\\infty"): "undefined on both sides: math-verify compares the unevaluated form",
}


def labelled_pairs() -> list[tuple[str, str, bool]]:
    """(expected, answer, label) of the cases that have one strict answer block and the usual extractor."""
    cases = [c for c in read_cases(data_dir() / "verifier_cases.jsonl") if c["verifier"] == "verify_math"]
    pairs = {}
    for case in cases:
        answer = extract_answer(case["completion"])
        if answer is not None and set(case["arguments"]) == {"expected_latex"} and len(answer) < 1000:
            pairs[case["arguments"]["expected_latex"], answer] = case["reward"] >= 0.5
    return [(expected, answer, label) for (expected, answer), label in pairs.items()]


def ordinary_pairs(n: int, seed: int) -> list[tuple[str, str, bool]]:
    """Integers, fractions, surds and polynomials in two spellings; every second pair is wrong by one."""
    rng = random.Random(seed)
    pairs = []
    for k in range(n):
        a, b, off = rng.randint(2, 40), rng.randint(2, 9), k % 2
        forms = [
            (str(a), str(a + off)),
            (rf"\frac{{{a * b + 1}}}{{{b}}}", f"{a * b + 1 + off}/{b}"),
            (rf"\sqrt{{{a * b * b}}}", rf"{b}\sqrt{{{a + off}}}"),
            (f"x^2+{a + b}x+{a * b}", f"(x+{a})(x+{b + off})"),
        ]
        pairs.append((*forms[k // 2 % 4], off == 0))
    return pairs


def by_math_verify(expected: str, answer: str) -> bool:
    return verify(parse(f"${expected}$"), parse(f"${answer}$"))


def by_verify_math(expected: str, answer: str) -> bool:
    return verify_math(f"<answer>{answer}</answer>", expected).reward == 1.0


def timed(judge, pairs) -> tuple[list[bool], list[float]]:
    verdicts, seconds = [], []
    for expected, answer, _ in pairs:
        started = time.perf_counter()
        verdicts.append(judge(expected, answer))
        seconds.append(time.perf_counter() - started)
    return verdicts, seconds


def section() -> list[str]:
    """The lines of the report. RuntimeError if a disagreement has no explanation."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    by_verify_math("1", "1")
    first = time.perf_counter() - started
    lists = {"labelled cases": labelled_pairs(), "ordinary pairs": ordinary_pairs(600, seed=0)}
    lines = ["## verify_math and math-verify on the same lists", ""]
    lines += ["| list | pairs | verifier | right | verdicts a second | median, ms |", "|---|---|---|---|---|---|"]
    disagreements = []
    for name, pairs in lists.items():
        verdicts = {}
        for judge in (by_verify_math, by_math_verify):
            judge("1", "2")  # started and warm
            verdicts[judge], seconds = timed(judge, pairs)
            right = sum(verdict == label for verdict, (_, _, label) in zip(verdicts[judge], pairs, strict=True))
            row = (name, len(pairs), judge.__name__[3:], right, f"{len(pairs) / sum(seconds):,.0f}")
            lines.append("| " + " | ".join(map(str, row)) + f" | {1000 * median(seconds):.2f} |")
        both = zip(*verdicts.values(), pairs, strict=True)
        disagreements += [(pair, ours, theirs) for ours, theirs, pair in both if ours != theirs]
    missing = [pair[:2] for pair, _, _ in disagreements if pair[:2] not in EXPLANATIONS]
    lines += ["", f"The first verdict of verify_math, with the start of its worker, took {first:.2f} s."]
    lines += ["", f"They disagree on {len(disagreements)} pairs.", ""]
    lines += ["| expected | answer | verify_math | math-verify | label | why |", "|---|---|---|---|---|---|"]
    for (expected, answer, label), ours, theirs in disagreements:
        paid = [{True: "pays", False: "does not"}[verdict] for verdict in (ours, theirs, label)]
        why = EXPLANATIONS.get((expected, answer), "NOT EXPLAINED")
        shown = [f"`{text}`".replace("|", "\\|").replace("\n", " ") for text in (expected, answer)]
        lines.append("| " + " | ".join([*shown, *paid, why]) + " |")
    if missing:
        raise RuntimeError("not explained:\n" + "\n".join(map(repr, missing)))
    return lines


if __name__ == "__main__":
    try:
        print("\n".join(section()))
    except RuntimeError as error:
        sys.exit(str(error))
