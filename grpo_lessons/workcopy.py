"""A reader's own copy of the notebooks, which a newer version of the course never overwrites.

    python -m grpo_lessons.workcopy notebooks work

New lessons are copied, lessons that the reader has not changed are brought up to date, changed ones are kept.
Where both sides have changed the reader is asked; without a terminal the new version is put beside the old one.
Only the sources of the cells count as a change: outputs do not.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

RECORD = ".copied.json"
QUESTION = "{path} has changed on both sides. [k]eep yours, put the [n]ew one beside it, or [o]verwrite yours? "


def refresh(source: str | Path, copy: str | Path, ask: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Bring `copy` up to date with the folder `source`; yields (relative path, what was done).

    What was done: "copied", "updated", "kept", "put beside" or "overwritten"; files that are the same are silent.
    ask: called with a question, returns k, n or o; any other answer keeps the reader's file.
    """
    source, copy = Path(source), Path(copy)
    if not source.is_dir():
        raise FileNotFoundError(f"{source} is not a folder; run this in the root of the repository")
    record_path = copy / RECORD
    record = json.loads(record_path.read_text(encoding="utf-8")) if record_path.is_file() else {}
    for original in sorted(path for path in source.rglob("*") if path.is_file() and _wanted(path)):
        path = original.relative_to(source).as_posix()
        new, known = digest(original), record.get(path)
        mine = copy / path
        here = digest(mine) if mine.is_file() else None
        record[path] = new
        if here == new or (here and here != known and new == known):
            continue
        yield path, _settle(original, mine, here, known, ask)
    copy.mkdir(parents=True, exist_ok=True)
    record_path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def digest(path: Path) -> str:
    """Hash of what a reader may have changed: a notebook's cell sources, any other file's bytes."""
    content = path.read_bytes()
    if path.suffix == ".ipynb":
        try:
            cells = json.loads(content)["cells"]
            content = json.dumps([[cell["cell_type"], "".join(cell["source"])] for cell in cells]).encode()
        except (ValueError, KeyError, TypeError):
            pass  # not a notebook any more: its bytes then
    return hashlib.sha256(content).hexdigest()


def _wanted(path: Path) -> bool:
    return not any(part.startswith(".") or part == "__pycache__" for part in path.parts)


def _settle(original: Path, mine: Path, here: str | None, known: str | None, ask) -> str:
    """Copy one file where that loses nothing; otherwise do what the reader says."""
    mine.parent.mkdir(parents=True, exist_ok=True)
    if here is None or here == known:
        shutil.copyfile(original, mine)
        return "updated" if here else "copied"
    answer = ask(QUESTION.format(path=mine)).strip().lower()[:1]
    if answer == "n":
        shutil.copyfile(original, mine.with_suffix(f".new{mine.suffix}"))
        return "put beside"
    if answer == "o":
        shutil.copyfile(original, mine)
        return "overwritten"
    return "kept"


def main(arguments: list[str]) -> int:
    """source and copy as arguments; prints what was done."""
    if len(arguments) != 2:
        print(__doc__)
        return 2
    ask = input if sys.stdin.isatty() else lambda question: "n"
    for path, done in refresh(*arguments, ask=ask):
        print(f"{done}: {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
