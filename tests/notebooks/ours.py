"""The notebooks of the course, in reading order."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
SOLUTIONS = sorted((FOLDER / "solutions").glob("*.ipynb"))
LESSONS = [*sorted(FOLDER.glob("*.ipynb")), *sorted((FOLDER / "side_roads").glob("*.ipynb"))]


def name(path: Path) -> str:
    return path.relative_to(FOLDER).with_suffix("").as_posix()


def exercises(nb) -> dict[str, list]:
    """Exercise id -> its code cells."""
    found: dict[str, list] = {}
    for cell in nb.cells:
        exercise = cell.metadata.get("grpo_lessons", {}).get("exercise")
        if exercise and cell.cell_type == "code":
            found.setdefault(exercise, []).append(cell)
    return found


def printed(cells) -> str:
    """What the cells wrote to stdout."""
    return "".join(
        output.get("text", "") for cell in cells for output in cell.outputs if output.get("name") == "stdout"
    )
