"""Log-probability, chosen logit and entropy from hidden states: time and peak memory of the ways to get them.

    python -m benchmarks.logprobs [--tokens 4096] [--vocabulary 151936] [--hidden 256] [--repeats 1]

Every way gets the same tensors: hidden states (tokens, hidden), a float32, frozen head (as under LoRA), one target a
token, temperature 1, and a gradient for each log-probability. Measured in a process of its own per way (peak memory
is the high-water mark of the resident set above what was in use before): forward, then backward to the hidden states;
with --train-head also to the head. The hidden width is smaller than a 1.5 B model's 1536, so that the run is short:
the matrix products shrink with it, the (tokens, vocabulary) tensors, which are what is compared, do not.
Prints a table and writes it to benchmarks/results/logprobs.md.
"""

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import torch

from grpo_lessons import logprobs

RESULTS = Path(__file__).parent / "results" / "logprobs.md"


def plain(head, hidden, targets):
    logits = head(hidden).float()
    return {"logp": logits.log_softmax(-1).gather(-1, targets[:, None])[:, 0]}


def plain_with_entropy(head, hidden, targets):
    scores = logprobs.plain_scores(head(hidden).float(), targets, 1.0)
    return dict(zip(logprobs.TokenScores._fields, scores, strict=True))


def ours(head, hidden, targets):
    scores = logprobs.score_hidden(head, hidden, targets, temperature=1.0, chunk=256)
    return dict(zip(logprobs.TokenScores._fields, scores, strict=True))


def trl(head, hidden, targets):
    from trl.trainer.utils import selective_log_softmax_and_entropy

    logp, entropy = selective_log_softmax_and_entropy(head(hidden), targets, entropy_requires_grad=False)
    return {"logp": logp, "entropy": entropy}


def liger(head, hidden, targets):
    """What Liger's fused GRPO loss is made of; plain PyTorch, so that it runs without a GPU too."""
    from liger_kernel.chunked_loss.fused_linear_ppo import _ChunkedSelectiveLogProbFunction as chunked

    return {"logp": chunked.apply(hidden, head.weight, targets, None, 1.0, 4096)}


PLAIN = "log_softmax + gather, no entropy"
WAYS = {PLAIN: plain, "the same, with entropy": plain_with_entropy, "grpo_lessons": ours, "TRL": trl}
if find_spec("liger_kernel"):
    WAYS["Liger"] = liger


def measure(way: str, args) -> dict:
    """One forward and backward: CPU seconds (a busy machine hardly changes them), peak bytes above the start."""
    generator = torch.Generator().manual_seed(0)
    head = torch.nn.Linear(args.hidden, args.vocabulary, bias=False).requires_grad_(args.train_head)
    with torch.no_grad():
        head.weight.normal_(0, 2 / args.hidden**0.5, generator=generator)
    hidden = torch.randn(args.tokens, args.hidden, generator=generator).requires_grad_()
    targets = torch.randint(args.vocabulary, (args.tokens,), generator=generator)
    weights = torch.randn(args.tokens, generator=generator)
    few = logprobs.PLAIN_LIMIT // args.vocabulary + 1  # enough logits for the chunked path
    WAYS[way](head, hidden[:few], targets[:few])["logp"].sum().backward()  # import and warm up
    hidden.grad = head.weight.grad = None

    start_bytes = resident_bytes()
    start = time.process_time()
    scores = WAYS[way](head, hidden, targets)
    middle = time.process_time()
    (scores["logp"] * weights).sum().backward()
    end = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - start_bytes
    values = {name: score.detach() for name, score in scores.items()} | {"gradient": hidden.grad}
    if args.train_head:
        values["head gradient"] = head.weight.grad[targets]
    torch.save(values, args.out)
    return {"forward": middle - start, "backward": end - middle, "peak": peak}


def resident_bytes() -> int:
    """Resident set now (Linux). The high-water mark before the measurement is at most a warm-up above it."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def in_child(way: str, args, out: Path) -> dict:
    sizes = ["--tokens", str(args.tokens), "--vocabulary", str(args.vocabulary), "--hidden", str(args.hidden)]
    command = [sys.executable, __file__, "--way", way, "--out", str(out), *sizes]
    command += ["--train-head"] if args.train_head else []
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def largest_difference(file: Path, reference: Path) -> float:
    ours, theirs = torch.load(file), torch.load(reference)
    return max((ours[name] - theirs[name]).abs().max().item() for name in ours.keys() & theirs.keys())


def table(args, folder: Path) -> list[str]:
    """The lines of the comparison, one row a way; ratios to the plain way, medians of the repeats."""
    files = {way: folder / f"{i}.pt" for i, way in enumerate(WAYS)}
    runs = [{way: in_child(way, args, files[way]) for way in WAYS} for _ in range(args.repeats)]  # in turns
    lines = [
        "| way | forward, CPU s | backward, CPU s | both, ratio | peak extra memory, GB | ratio | largest difference |",
        "|---|---|---|---|---|---|---|",
    ]
    base = None
    for way in WAYS:
        forward, backward, peak = (median(run[way][key] for run in runs) for key in ("forward", "backward", "peak"))
        base = base or (forward + backward, peak)
        difference = largest_difference(files[way], files["the same, with entropy"])
        lines.append(
            f"| {way} | {forward:.2f} | {backward:.2f} | {(forward + backward) / base[0]:.2f} "
            f"| {peak / 1e9:.2f} | {peak / base[1]:.3f} | {difference:.1e} |"
        )
    return lines


def report(args, folder: Path) -> str:
    libraries = [f"{name} {version(name)}" for name in ("torch", "trl", "liger-kernel") if known(name)]
    lines = [
        "# Log-probabilities from hidden states",
        "",
        f"{args.tokens} tokens, vocabulary {args.vocabulary}, hidden width {args.hidden}, float32; runs: "
        f"{args.repeats}, each in a process of its own, in turns. {datetime.date.today()}, {processor()}, "
        f"{torch.get_num_threads()} thread(s), {', '.join(libraries)}. Made by `python -m benchmarks.logprobs`.",
    ]
    for args.train_head in (False, True):
        lines += ["", f"Head {'trained' if args.train_head else 'frozen'}:", "", *table(args, folder)]
    lines += [
        "",
        "Peak memory is the resident high-water mark above the start. The difference is over what a way returns of "
        "log-probability, chosen logit, entropy and gradients, against the plain way with entropy. "
        "Liger's way (not among our dependencies: `pip install --no-deps liger-kernel`) returns the log-probability "
        "alone, as the first row does.",
        "",
    ]
    return "\n".join(lines)


def known(name: str) -> bool:
    return find_spec(name.replace("-", "_")) is not None


def processor() -> str:
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return names[0].split(":")[1].strip() if names else platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=8 * 512)
    parser.add_argument("--vocabulary", type=int, default=151_936)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--train-head", action="store_true", help="with --way: train the head too")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the table goes")
    parser.add_argument("--way", choices=WAYS, help="measure this one only and print JSON (used by the parent process)")
    parser.add_argument("--out", type=Path, help="where --way saves its scores for comparison")
    args = parser.parse_args()
    if args.way:
        print(json.dumps(measure(args.way, args)))
        return
    with tempfile.TemporaryDirectory() as folder:
        text = report(args, Path(folder))
    args.results.parent.mkdir(exist_ok=True)
    args.results.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
