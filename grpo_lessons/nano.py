"""Make the nano policy: a 0.3 M parameter Qwen2 model, trained from scratch on a simulated pupil's homework.

`python -m grpo_lessons.nano` makes `data/nano` again. `make_nano(homework)` raises a pupil for a task of your
own: `homework(rng)` returns one pair (chat messages of the prompt, completion) each time it is called.

What is unlike a real pre-training: the loss covers only the completion (with its end), as in supervised
fine-tuning, every example is drawn afresh, and there is no epoch.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from tokenizers import AddedToken
from tokenizers.pre_tokenizers import ByteLevel
from tqdm.auto import tqdm
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen2Tokenizer

from .paths import data_dir

Homework = Callable[[random.Random], tuple[list[dict[str, str]], str]]

STEPS, BATCH_SIZE = 1500, 64
PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
# One token each, but no special ones: a decoder that skips special tokens keeps them.
WORDS = ("<answer>", "</answer>", "system", "user", "assistant")
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def build_tokenizer(words: Sequence[str] = ()) -> Qwen2Tokenizer:
    """Qwen's tokenizer without its merges: one token a byte, one a character for ASCII, no text is unknown.

    words: more texts that are one token each, such as the tags of a tool call.
    It is the class that `AutoTokenizer` picks for a Qwen2 model, so the vocabulary survives a round trip.
    """
    vocab = {token: i for i, token in enumerate([PAD, START, END, *sorted(ByteLevel.alphabet())])}
    tokenizer = Qwen2Tokenizer(
        vocab=vocab,
        merges=[],
        unk_token=None,
        eos_token=END,
        pad_token=PAD,
        extra_special_tokens=[START],
        model_max_length=512,
        padding_side="left",
    )
    tokenizer.add_tokens([AddedToken(word, normalized=False, special=False) for word in (*WORDS, *words)])
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def build_model(tokenizer: Qwen2Tokenizer, *, seed: int, hidden: int = 96, layers: int = 3) -> Qwen2ForCausalLM:
    """A Qwen2 model with random weights; the global random state is left as it was."""
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        intermediate_size=256,
        max_position_embeddings=512,
        initializer_range=0.05,
        tie_word_embeddings=True,
        use_cache=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2ForCausalLM(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def encode_line(tokenizer, messages: list[dict[str, str]], completion: str) -> tuple[list[int], list[int]]:
    """Token ids of the prompt, generation marker included, and of the completion with its end token.

    If the last message is the assistant's, the completion goes on with it.
    """
    begun = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
    messages = messages[:-1] if begun else messages
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) + begun
    prompt = tokenizer(text, add_special_tokens=False).input_ids
    return prompt, [*tokenizer(completion, add_special_tokens=False).input_ids, tokenizer.eos_token_id]


def collate(lines: list[tuple[list[int], list[int]]], pad_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Right-padded input_ids and labels, both (N, S); labels are -100 on the prompt and on padding."""
    width = max(len(p) + len(c) for p, c in lines)
    input_ids = torch.full((len(lines), width), pad_id)
    labels = torch.full((len(lines), width), -100)
    for row, (prompt, completion) in enumerate(lines):
        end = len(prompt) + len(completion)
        input_ids[row, :end] = torch.tensor(prompt + completion)
        labels[row, len(prompt) : end] = torch.tensor(completion)
    return input_ids, labels


def make_nano(
    homework: Homework,
    *,
    steps: int = STEPS,
    seed: int = 0,
    batch_size: int = BATCH_SIZE,
    learning_rate: float = 3e-3,
    hidden: int = 96,
    layers: int = 3,
    words: Sequence[str] = (),
    out: str | Path | None = None,
    on_step: Callable[[int, float], None] | None = None,
) -> tuple[Qwen2ForCausalLM, Qwen2Tokenizer]:
    """Train a nano policy from scratch on a stream of homework.

    homework: `homework(rng)` returns (prompt messages, completion); rng is a `random.Random(seed)`.
    learning_rate: peak of a schedule with 5 % warm-up and linear decay to 0 (AdamW).
    words: see `build_tokenizer`. out: a folder to save model and tokenizer in.
    on_step: called with the step's number and its loss.
    Returns (model, tokenizer). The same seed on the same machine gives the same weights.
    """
    tokenizer = build_tokenizer(words)
    model = build_model(tokenizer, seed=seed, hidden=hidden, layers=layers)
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    warmup = max(1, steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warmup, (steps - s) / max(1, steps - warmup))
    )
    model.train()
    for step in range(steps):
        lines = [encode_line(tokenizer, *homework(rng)) for _ in range(batch_size)]
        input_ids, labels = collate(lines, tokenizer.pad_token_id)
        loss = model(input_ids=input_ids, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        if on_step:
            on_step(step, loss.item())
    model.eval()
    if out is not None:
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)
    return model, tokenizer


def sg_options(folder: str | Path | None = None) -> dict[str, float | bool]:
    """GRPO-SG's constants fitted to the shipped policy's logits, with weights of mean 1, for `method_options`.

    folder: where card.json lies, by default `data/nano`. FileNotFoundError if there is none.
    """
    path = Path(folder or data_dir() / "nano") / "card.json"
    if not path.is_file():
        raise FileNotFoundError(f"no card at {path}: `python -m grpo_lessons.nano` writes one beside the policy")
    card = json.loads(path.read_text(encoding="utf-8"))
    return {**card["sg_constants"], "normalize": True}


def main(arguments: list[str] | None = None) -> None:
    """Make data/nano again: the weights, the tokenizer and the measured card."""
    parser = argparse.ArgumentParser(prog="python -m grpo_lessons.nano", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=None, help="folder to write (default: data/nano)")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    from .homework import addition_homework
    from .nano_card import measure, provenance, write_card
    from .policies import load_policy

    out, losses, start = options.out or data_dir() / "nano", [], time.perf_counter()
    bar = tqdm(total=options.steps, unit="step")

    def on_step(step: int, loss: float) -> None:
        losses.append(loss)
        bar.update()
        bar.set_postfix(loss=f"{loss:.3f}")

    make_nano(addition_homework, steps=options.steps, seed=options.seed, out=out, on_step=on_step)
    bar.close()
    made = provenance(options.steps, BATCH_SIZE, options.seed, losses, time.perf_counter() - start)
    write_card(out, {"made": made, **measure(load_policy(str(out), device="cpu"))})
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
