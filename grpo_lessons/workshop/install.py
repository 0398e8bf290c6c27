"""Install grpo-lessons from its bundle, without a network.

    python install.py [--to FOLDER] [--bundle ARCHIVE]

Run it in the unpacked bundle, or beside the archive. It checks Python, platform, disk space and the checksum of each
file first; then it writes the course to FOLDER (default: grpo-lessons in your home folder), makes FOLDER/.venv from the
bundle's wheels, and copies the notebooks to FOLDER/work, where you write your answers. Files that you have changed are
kept. Run it again at any time: it says that all is complete, or mends what is not.
"""
# One file with the standard library alone, as it travels outside the package; and syntax that Python 3.8 can read, so
# that an older Python reaches the sentence that names the right one.

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    Root = Path | zipfile.Path  # the unpacked bundle, or the folder inside the archive
RECORD = ".installed.json"
EXTRAS = "[lab,qlora]"
SPARE = 1.2  # bytecode of the modules that are used, and rounding up to blocks of the disk
# In the new environment: is each package there, is each of its files, and is the course this folder's?
PROBE = """
import importlib.metadata as metadata, importlib.util, pathlib, re, sys
found = {re.sub(r"[-_.]+", "_", d.metadata["Name"]).lower(): d for d in metadata.distributions()}
files = [f for d in found.values() for f in d.files or [] if f.suffix != ".pyc"]
broken = [f for f in files if not f.locate().is_file() or f.size not in (None, f.locate().stat().st_size)]
course = pathlib.Path(importlib.util.find_spec("grpo_lessons").origin).resolve()
home = pathlib.Path(sys.argv[1]).resolve()
sys.exit(bool(set(sys.argv[2:]) - set(found) or broken or home not in course.parents))
"""


class InstallError(Exception):
    """One sentence for the reader: what was found, what was expected, how to mend it."""


def install(root: Root, target: Path) -> str:
    """Install the bundle at `root` into the folder `target`; returns "installed", "updated", "repaired" or "complete".

    Raises InstallError before anything is written where the bundle does not fit or is broken.
    """
    manifest = read_manifest(root)
    check_machine(manifest)
    record = json.loads(_text(target / RECORD) or "{}")
    if not record and target.is_dir() and any(target.iterdir()):
        raise InstallError(f"{target} holds other things already; choose a new folder with --to")
    before, record["files"] = record.get("bundle"), record.get("files", {})
    whole = before == manifest["id"] and healthy(manifest, target)
    check_space(manifest, root, target, with_packages=not whole)
    verify(root, manifest)
    target.mkdir(parents=True, exist_ok=True)
    _save(record, target)  # from now on the folder is known as ours
    written = write_course(root, manifest, target, record)
    if not whole:
        make_environment(root, manifest, target)
    _run([python_of(target), "-I", "-m", "grpo_lessons.workcopy", "notebooks", "work"], target)
    (target / ".venv" / ".ready").touch()  # newer than pyproject.toml: `make lab` then installs nothing
    _save({**record, "bundle": manifest["id"]}, target)
    if whole and not written:
        return "complete"
    return {None: "installed", manifest["id"]: "repaired"}.get(before, "updated")


def read_manifest(root: Root) -> dict[str, Any]:
    """The list of the bundle's files with sizes and checksums, and what machine they are for."""
    try:
        content = (root / "manifest.json").read_bytes()
        manifest = json.loads(content)
        names = list(manifest["files"])
    except (KeyError, ValueError, OSError) as error:
        raise InstallError(f"manifest.json of the bundle cannot be read ({error}); copy the bundle again") from None
    for name in names:
        path = PurePosixPath(name)
        if path.parts[:1] not in (("course",), ("wheels",)) or ".." in path.parts or "\\" in name or ":" in name:
            raise InstallError(f"the bundle lists {name!r}, which lies outside its folders; do not trust this copy")
    manifest["id"] = hashlib.sha256(content).hexdigest()
    return manifest


def check_machine(manifest: dict[str, Any]) -> None:
    """Raise InstallError where this Python or this machine cannot use the bundle's wheels."""
    wanted = _numbers(manifest["python"], 3)
    kind, here = ".".join(map(str, wanted[:2])), platform.python_version()
    if list(sys.version_info[:2]) != wanted[:2] or list(sys.version_info[:3]) < wanted:
        raise InstallError(
            f"this bundle is for Python {kind}, {manifest['python']} or newer, and this is Python {here}; "
            f"run it with such a Python (python.org), or ask for a bundle for yours"
        )
    here, version = this_platform(), system_version()
    if here != manifest["platform"]:
        raise InstallError(f"this bundle is for {manifest['platform']}, and this Python is for {here}; ask for another")
    if _numbers(version) < _numbers(manifest["system"]):
        name = "macOS" if here.startswith("macosx") else "glibc"
        raise InstallError(f"this bundle needs {name} {manifest['system']} or newer, and this machine has {version}")
    if importlib.util.find_spec("ensurepip") is None:
        raise InstallError(f"this Python cannot make environments; install the package python{kind}-venv")


def this_platform() -> str:
    """The platform of this Python: linux_x86_64, linux_aarch64, macosx_arm64, win_amd64 or another such name."""
    system = {"Linux": "linux", "Darwin": "macosx", "Windows": "win"}.get(platform.system(), platform.system())
    return f"{system}_{platform.machine().lower() if sys.maxsize > 2**32 else '32bit'}"


def system_version() -> str:
    """Version of glibc or macOS ("0" where there is none, as with musl); Windows needs no check."""
    return platform.mac_ver()[0] or platform.libc_ver()[1] or "0"


def check_space(manifest: dict[str, Any], root: Root, target: Path, *, with_packages: bool) -> None:
    """Raise InstallError where the disk of `target` is too full, the folder is not writable or its path too long."""
    need = sum(entry["bytes"] for name, entry in manifest["files"].items() if name.startswith("course/"))
    if with_packages:
        need += int(manifest["installed_bytes"] * SPARE)
        need += 0 if isinstance(root, Path) else sum(entry["bytes"] for entry in manifest["files"].values())
    parent = next(folder for folder in (target, *target.absolute().parents) if folder.exists())
    free = shutil.disk_usage(parent).free
    if free < need:
        sizes = f"{need / 1e9:.1f} GB, and its disk has {free / 1e9:.1f} GB free"
        raise InstallError(f"{target} needs {sizes}; make room, or choose another disk with --to")
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InstallError(f"{parent} is no folder that you may write to; choose one of yours with --to")
    room = 259 - len(str(target.absolute() / ".venv/Lib/site-packages")) - 1
    if os.name == "nt" and manifest["longest_path"] > room:
        raise InstallError(f"the path {target} is too long for Windows; choose a short one, such as --to C:\\grpo")


def verify(root: Root, manifest: dict[str, Any]) -> None:
    """Raise InstallError that names the files that are missing or not what the manifest says."""
    print(f"checking {len(manifest['files'])} files ...", flush=True)
    broken = [name for name, entry in manifest["files"].items() if _digest(root / name) != entry["sha256"]]
    if broken:
        names = ", ".join(broken[:3]) + (f" and {len(broken) - 3} more" if len(broken) > 3 else "")
        raise InstallError(f"damaged or missing in the bundle: {names}; copy the bundle again")


def write_course(root: Root, manifest: dict[str, Any], target: Path, record: dict[str, Any]) -> list[str]:
    """Write the course's files that are missing or out of date; a file that the reader changed stays. Returns names."""
    known, written, kept = record["files"], [], []
    for name, entry in manifest["files"].items():
        if not name.startswith("course/"):
            continue
        short = name[len("course/") :]
        path = target / short
        if target.resolve() not in path.resolve().parents:
            raise InstallError(f"{path} is a link that leads out of {target}; remove the link")
        here = _digest(path)
        if here not in (None, entry["sha256"], known.get(short)):
            kept.append(short)
            continue
        if here != entry["sha256"]:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(root / name, path)
            written.append(short)
        known[short] = entry["sha256"]
    _save(record, target)
    if kept:
        print(f"kept {len(kept)} file(s) that you have changed (delete one to get the bundle's): {', '.join(kept[:5])}")
    return written


def make_environment(root: Root, manifest: dict[str, Any], target: Path) -> None:
    """Build target/.venv anew from the bundle's wheels; without index, user settings or network."""
    print("making the environment, a few minutes ...", flush=True)
    wheels, unpacked = root / "wheels", target / ".wheels"
    if not isinstance(root, Path):
        unpacked.mkdir(exist_ok=True)
        for name in (name for name in manifest["files"] if name.startswith("wheels/")):
            _write(root / name, unpacked / PurePosixPath(name).name)
        wheels = unpacked
    _run([sys.executable, "-m", "venv", "--clear", target / ".venv"], target)
    pip = [python_of(target), "-I", "-m", "pip", "--isolated", "--disable-pip-version-check", "install"]
    offline = ["--no-index", "--no-compile", "--find-links"]  # Python compiles what is imported, and no more
    _run([*pip, *offline, Path(str(wheels)).resolve(), "-e", f"{target.resolve()}{EXTRAS}"], target)
    shutil.rmtree(unpacked, ignore_errors=True)


def healthy(manifest: dict[str, Any], target: Path) -> bool:
    """Whether target/.venv has each package and each file that the bundle installs, and serves this folder."""
    wheels = (PurePosixPath(name).name for name in manifest["files"] if name.startswith("wheels/"))
    names = {wheel.split("-")[0].lower().replace(".", "_") for wheel in wheels} - {"setuptools"}  # only needed to build
    probe = [python_of(target), "-I", "-c", PROBE, target, *sorted(names)]
    return python_of(target).is_file() and subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode == 0


def python_of(target: Path) -> Path:
    """The Python of the course's environment."""
    return target.absolute() / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def find_bundle(given: str | None, here: Path) -> Root:
    """The bundle: `given` (an archive or a folder), else the folder `here`, else the one archive in it."""
    candidates = [Path(given).expanduser()] if given else [here] if (here / "manifest.json").is_file() else []
    candidates = candidates or sorted(here.glob("grpo-lessons-*.zip"))
    if len(candidates) != 1:
        raise InstallError(f"{len(candidates)} bundles in {here}, expected one; name it with --bundle")
    if candidates[0].is_dir():
        return candidates[0]
    try:
        return next(zipfile.Path(candidates[0]).iterdir())
    except (OSError, zipfile.BadZipFile, StopIteration) as error:
        raise InstallError(f"{candidates[0]} is no whole bundle ({error}); copy it again") from None


def _run(command: list[Any], cwd: Path) -> None:
    """Run a command quietly; raise InstallError with its last line where it fails."""
    private = {"PIP_CONFIG_FILE": os.devnull, "PYTHONUTF8": "1"}
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**env, **private}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        log = cwd / "install.log"
        log.write_text(done.stdout, encoding="utf-8")
        last = (done.stdout.strip().splitlines() or ["no output"])[-1]
        raise InstallError(f"{Path(str(command[0])).name} ended with {done.returncode}: {last} (all of it: {log})")


def _blocks(path: Root) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while block := stream.read(2**20):
            yield block


def _digest(path: Root) -> str | None:
    """SHA-256 of a file; None where there is none, "unreadable" where an archive's entry is damaged."""
    if not path.is_file():
        return None
    total = hashlib.sha256()
    try:
        for block in _blocks(path):
            total.update(block)
    except (zipfile.BadZipFile, OSError):
        return "unreadable"
    return total.hexdigest()


def _write(source: Root, path: Path) -> None:
    """Copy a file so that an interruption leaves the old one or the new one, never a half."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as stream:
        for block in _blocks(source):
            stream.write(block)
    os.replace(part, path)


def _save(record: dict[str, Any], target: Path) -> None:
    part = target / f"{RECORD}.part"
    part.write_text(json.dumps(record), encoding="utf-8")
    os.replace(part, target / RECORD)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _numbers(version: str, places: int = 2) -> list[int]:
    return [int(part) for part in version.split(".")[:places] if part.isdigit()]


def main(arguments: list[str] | None = None) -> int:
    """Install, and print how to begin; returns the exit code."""
    sys.stdout.reconfigure(errors="replace")  # a Windows console may lack a letter of the folder's name
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", default="~/grpo-lessons", help="folder of the course (default: %(default)s)")
    parser.add_argument("--bundle", help="archive or unpacked folder (default: the one beside this file)")
    options, start = parser.parse_args(arguments), time.time()
    target = Path(options.to).expanduser().absolute()
    try:
        done = install(find_bundle(options.bundle, Path(__file__).absolute().parent), target)
    except (InstallError, OSError) as error:
        print(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; run the same command again to go on")
        return 130
    scripts = Path(".venv", "Scripts" if os.name == "nt" else "bin")
    print(f"{done}: grpo-lessons in {target} ({time.time() - start:.0f} s). To begin:\n")
    print(f'  cd "{target}"\n  {scripts / "grpo-lessons"} doctor\n  {scripts / "jupyter"} lab --notebook-dir work')
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
