"""The course and its wheels in one archive, for laptops without a network.

    python -m grpo_lessons.workshop.bundle                                        for this machine's platform and Python
    python -m grpo_lessons.workshop.bundle --platform win_amd64 --python 3.12.7   for other laptops

Writes dist/grpo-lessons-VERSION-PLATFORM-pyXY.zip, its checksum, and install.py, which also lies in the archive. The
course is what git has committed, without tests. It needs git, pip and, this once, a network.

What it cannot do: packages without a wheel for the platform (all of ours have one for the platforms of PLATFORMS; Intel
Macs have no current torch), Python versions for which one of the packages has no wheel yet, and GPU builds of torch.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import platform
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from .install import this_platform
from .wheels import PLATFORMS, ROOT, BundleError, collect, requirements

LEFT_OUT = ("tests/", ".ci/")
SOLUTIONS = ("notebooks/solutions/", "grpo_lessons/workshop/hidden/")
# PyTorch's own index of CPU builds: PyPI's wheels for Linux bring CUDA, those for macOS and Windows are CPU builds
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
HOW_TO = """\
grpo-lessons {version} for {platform}, Python {kind}

    python install.py                      installs into the folder grpo-lessons of your home folder
    python install.py --to "D:\\course"     or where you like

"python" must be Python {kind}, {python} or newer. It may be called python{kind} (Linux, macOS) or py -{kind} (Windows).
No network is used. install.py checks everything first, keeps files that you have changed, and can be run again.
"""


def course_files(root: Path = ROOT, left_out: tuple[str, ...] = LEFT_OUT) -> dict[str, bytes]:
    """{path: content} of the committed files but those below `left_out`; what only lies in the folder stays out."""
    done = subprocess.run(["git", "archive", "--format=tar", "HEAD"], cwd=root, capture_output=True, check=False)
    if done.returncode:
        raise BundleError(f"{root} is no git checkout, from which the course is taken: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        members = [member for member in tar if member.isfile() and not member.name.startswith(left_out)]
        return {member.name: tar.extractfile(member).read() for member in members}


def manifest(course: dict[str, bytes], wheels: list[Path], version: str, where: str, python: str) -> dict[str, Any]:
    """What install.py checks: the machine, the space, and size and SHA-256 of each file."""
    content = {f"course/{name}": data for name, data in course.items()}
    listed = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in content.items()}
    unpacked, longest = 0, 0
    for path in wheels:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        listed[f"wheels/{path.name}"] = {"bytes": path.stat().st_size, "sha256": digest}
        with zipfile.ZipFile(path) as wheel:
            unpacked += sum(info.file_size for info in wheel.infolist())
            longest = max(longest, *(len(info.filename) for info in wheel.infolist()))
    machine = {"platform": where, "python": python, "system": PLATFORMS[where].system}
    return {"version": version, **machine, "installed_bytes": unpacked, "longest_path": longest, "files": listed}


def write_archive(target: Path, course: dict[str, bytes], wheels: list[Path], about: dict[str, Any]) -> None:
    """Write the archive and its checksum; wheels are compressed already and are stored as they are."""
    texts = {
        "install.py": files(__package__).joinpath("install.py").read_bytes(),
        "README.txt": HOW_TO.format(**about, kind=".".join(about["python"].split(".")[:2])).encode(),
        "manifest.json": json.dumps(about, indent=1).encode(),
    }
    part = target.with_suffix(".part")
    with zipfile.ZipFile(part, "w") as archive:
        for name, data in [*texts.items(), *((f"course/{name}", data) for name, data in course.items())]:
            archive.writestr(zipfile.ZipInfo(f"{target.stem}/{name}"), data, zipfile.ZIP_DEFLATED)
        for path in wheels:
            archive.write(path, f"{target.stem}/wheels/{path.name}", zipfile.ZIP_STORED)
    part.replace(target)
    target.with_name("install.py").write_bytes(texts["install.py"])
    with target.open("rb") as stream:
        line = f"{hashlib.file_digest(stream, 'sha256').hexdigest()}  {target.name}\n"
    target.with_name(f"{target.name}.sha256").write_text(line, encoding="utf-8")


def build(out: Path, where: str, python: str, index: str, left_out: tuple[str, ...] = LEFT_OUT) -> Path:
    """Make the bundle in the folder `out`; returns the archive's path."""
    if where not in PLATFORMS:
        raise BundleError(f"no bundles for {where!r}; known platforms: {', '.join(PLATFORMS)}")
    out.mkdir(parents=True, exist_ok=True)
    course = course_files(ROOT, left_out)
    version = tomllib.loads(course["pyproject.toml"].decode())["project"]["version"]
    with tempfile.TemporaryDirectory(dir=out) as folder:
        index = index if where.startswith("linux") else ""
        wheels = collect(requirements(ROOT / "pyproject.toml"), Path(folder), where, python, index)
        about = manifest(course, wheels, version, where, python)
        target = out / f"grpo-lessons-{version}-{where}-py{''.join(python.split('.')[:2])}.zip"
        write_archive(target, course, wheels, about)
    return target


def main(arguments: list[str] | None = None) -> int:
    """Build a bundle, print where it lies and how large it is; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platform", default=this_platform(), help=f"one of {', '.join(PLATFORMS)} (%(default)s)")
    parser.add_argument("--python", default=platform.python_version(), help="oldest Python of its kind (%(default)s)")
    parser.add_argument("--torch-index", default=CPU_INDEX, help="where Linux gets torch; '' for PyPI (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder (%(default)s)")
    parser.add_argument("--without-solutions", action="store_true", help="leave out solutions and hidden tests")
    options = parser.parse_args(arguments)
    left_out = LEFT_OUT + SOLUTIONS * options.without_solutions
    try:
        target = build(options.out, options.platform, options.python, options.torch_index, left_out)
    except BundleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{target}: {target.stat().st_size / 1e6:.0f} MB. Hand it out with install.py from the same folder.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
