"""Where the files that ship with the course lie."""

from __future__ import annotations

import os
from pathlib import Path


def data_dir() -> Path:
    """The folder `data/` of the repository, or the one that GRPO_LESSONS_DATA names.

    Raises FileNotFoundError when it is absent: the package was installed without its repository.
    """
    given = os.environ.get("GRPO_LESSONS_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parent.parent / "data"
    if not folder.is_dir():
        raise FileNotFoundError(
            f"no data folder at {folder}: clone the repository and install it with `pip install -e .`, "
            "or set GRPO_LESSONS_DATA to the repository's data folder"
        )
    return folder


def notebooks_dir() -> Path:
    """The folder `notebooks/` beside `data/`."""
    return data_dir().parent / "notebooks"


def launch_file(name: str) -> Path:
    """A file of `configs/` for accelerate, by name. Raises FileNotFoundError that lists the known ones."""
    folder = data_dir().parent / "configs"
    path = folder / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.yaml")))
        raise FileNotFoundError(f"no launch file {name!r} in {folder}; known: {known or 'none'}")
    return path
