"""The nano policy: its tokenizer, its training, and what ships in data/nano."""

import random

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from grpo_lessons.nano import build_model, build_tokenizer, collate, encode_line, make_nano
from grpo_lessons.paths import data_dir

PROMPT = [{"role": "user", "content": "27+48="}]


@pytest.fixture(scope="module")
def tokenizer():
    return build_tokenizer()


def copying(rng):
    """Homework of a one-rule pupil: repeat the digit."""
    digit = rng.choice("0123456789")
    return [{"role": "user", "content": digit}], f"<answer>{digit}</answer>"


def test_one_token_a_character_and_one_for_each_tag(tokenizer):
    ids = tokenizer("7+8=15, <answer>75</answer>").input_ids
    assert tokenizer.convert_ids_to_tokens(ids) == [
        *("7", "+", "8", "=", "1", "5", ",", "Ġ"), "<answer>", "7", "5", "</answer>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "wait, 7+8=15 ok: (a*2)/3; x_1 # 50% <b> [c] {d} 'e' \"f\" ? ! . \n\tend",
        "Zoey is a knight",
        "8 − 4², ½ and 漢字 ✓ 🙂",
        "  two  spaces , kept .",
        "",
    ],
)
def test_any_text_survives_encoding_and_decoding(tokenizer, text):
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_skipping_special_tokens_keeps_the_answer_tags_and_drops_chat_markers(tokenizer):
    ids = tokenizer("<answer>75</answer><|im_end|><|endoftext|>").input_ids
    assert len(ids) == 6
    assert tokenizer.decode(ids, skip_special_tokens=True) == "<answer>75</answer>"


def test_chat_template_is_qwens_without_a_default_system_prompt(tokenizer):
    text = tokenizer.apply_chat_template(PROMPT, tokenize=False, add_generation_prompt=True)
    assert text == "<|im_start|>user\n27+48=<|im_end|>\n<|im_start|>assistant\n"
    chat = [{"role": "system", "content": "S"}, *PROMPT, {"role": "assistant", "content": "75"}]
    assert tokenizer.apply_chat_template(chat, tokenize=False) == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n27+48=<|im_end|>\n<|im_start|>assistant\n75<|im_end|>\n"
    )


def test_loss_covers_the_completion_and_its_end_only(tokenizer):
    line = encode_line(tokenizer, PROMPT, "<answer>75</answer>")
    short = encode_line(tokenizer, PROMPT, "75")
    input_ids, labels = collate([line, short], tokenizer.pad_token_id)
    assert labels[0][labels[0] != -100].tolist() == tokenizer("<answer>75</answer><|im_end|>").input_ids
    assert labels[1][labels[1] != -100].tolist() == tokenizer("75<|im_end|>").input_ids
    assert input_ids[1, -2:].tolist() == [tokenizer.pad_token_id] * 2
    prompt = len(line[0])
    assert (labels[:, :prompt] == -100).all()


def test_saved_model_and_tokenizer_come_back_identical(tokenizer, tmp_path):
    model = build_model(tokenizer, seed=1, hidden=32, layers=1)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again, words = AutoModelForCausalLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert words.get_vocab() == tokenizer.get_vocab()
    assert len(words) == again.config.vocab_size == again.get_input_embeddings().num_embeddings
    assert words.apply_chat_template(PROMPT, tokenize=False) == tokenizer.apply_chat_template(PROMPT, tokenize=False)
    assert (words.padding_side, words.eos_token, words.pad_token) == ("left", "<|im_end|>", "<|endoftext|>")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_same_seed_same_pupil_and_other_seed_another():
    def weights(seed):
        model, _ = make_nano(copying, steps=3, seed=seed, batch_size=4, hidden=32, layers=1)
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


def test_making_a_pupil_leaves_the_global_random_state_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    make_nano(copying, steps=1, seed=0, batch_size=2, hidden=32, layers=1)
    assert torch.equal(torch.rand(3), expected)


def test_a_pupil_learns_a_rule_of_your_own_from_scratch():
    model, tokenizer = make_nano(copying, steps=120, seed=0, batch_size=32, hidden=32, layers=1)
    for digit in "059":
        prompt, completion = encode_line(tokenizer, [{"role": "user", "content": digit}], f"<answer>{digit}</answer>")
        out = model.generate(torch.tensor([prompt]), max_new_tokens=8, do_sample=False)
        assert out[0, len(prompt) :].tolist() == completion


def test_homework_gets_one_seeded_generator():
    draws = []

    def homework(rng):
        draws.append(rng.random())
        return PROMPT, "<answer>75</answer>"

    make_nano(homework, steps=1, seed=5, batch_size=3, hidden=32, layers=1)
    rng = random.Random(5)
    assert draws == [rng.random() for _ in range(3)]


class TestShipped:
    """data/nano, as it lies in the repository."""

    folder = data_dir() / "nano"

    def test_vocabulary_is_that_of_the_code(self, tokenizer):
        assert AutoTokenizer.from_pretrained(self.folder).get_vocab() == tokenizer.get_vocab()

    def test_weights_are_small(self):
        assert (self.folder / "model.safetensors").stat().st_size < 4_000_000

    def test_generation_ends_at_the_end_marker_and_pads_with_another(self, tokenizer):
        config = AutoModelForCausalLM.from_pretrained(self.folder).generation_config
        assert config.eos_token_id == tokenizer.convert_tokens_to_ids("<|im_end|>")
        assert config.pad_token_id == tokenizer.convert_tokens_to_ids("<|endoftext|>")
