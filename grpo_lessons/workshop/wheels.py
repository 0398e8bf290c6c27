"""The wheels that a set of requirements needs on a platform, which need not be this machine's."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
EXTRAS = ("lab", "qlora")


class BundleError(ValueError):
    """One sentence: what is missing for a bundle, and how to get it."""


@dataclass(frozen=True)
class Platform:
    """tags: wheel platforms that pip may take; system: least glibc or macOS; markers: what dependency markers see."""

    tags: tuple[str, ...]
    system: str
    markers: dict[str, str]


def _linux(machine: str) -> Platform:
    # torch's wheels are for glibc 2.28, that of Debian 10 and RHEL 8
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(28, 16, -1)] + [f"manylinux2014_{machine}"]
    markers = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux", "platform_machine": machine}
    return Platform(tuple(tags), "2.28", markers)


_MAC = {"os_name": "posix", "sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"}
_WINDOWS = {"os_name": "nt", "sys_platform": "win32", "platform_system": "Windows", "platform_machine": "AMD64"}
PLATFORMS = {
    "linux_x86_64": _linux("x86_64"),
    "linux_aarch64": _linux("aarch64"),
    "macosx_arm64": Platform(("macosx_14_0_arm64",), "14.0", _MAC),
    "win_amd64": Platform(("win_amd64",), "0", _WINDOWS),
}


def requirements(pyproject: Path) -> list[Requirement]:
    """What the course needs at run time, with the extras lab and qlora, and to be built as a package."""
    content = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    project = content["project"]
    optional = [line for extra in EXTRAS for line in project["optional-dependencies"][extra]]
    return [Requirement(line) for line in [*project["dependencies"], *optional, *content["build-system"]["requires"]]]


def collect(wanted: list[Requirement], folder: Path, platform: str, python: str, index: str = "") -> list[Path]:
    """Download the wheels of `wanted` and of all that they need, one level of dependencies at a time; sorted paths.

    pip's own walk evaluates dependency markers for the machine that it runs on (pip's issue 11664): a bundle for
    Windows made on Linux would lack what only Windows needs. index: where torch comes from ("": where all else does).
    """
    asked: set[tuple[str, frozenset[str]]] = set()
    while wanted:
        have = wheels_by_name(folder)
        missing = [r for r in wanted if canonicalize_name(r.name) not in have]
        torch = [r for r in missing if r.name == "torch" and index]
        download([r for r in missing if r not in torch], folder, platform, python)
        download(torch, folder, platform, python, "--index-url", index)
        asked |= {_key(r) for r in wanted}
        found = [r for each in wanted for r in needs(each, wheels_by_name(folder), platform, python)]
        wanted = [r for i, r in enumerate(found) if _key(r) not in asked and _key(r) not in map(_key, found[:i])]
    return sorted(folder.glob("*.whl"))


def needs(requirement: Requirement, wheels: dict[str, Path], platform: str, python: str) -> list[Requirement]:
    """The direct dependencies of a requirement and its extras on the platform, read from the wheel's metadata."""
    version = {"python_version": ".".join(python.split(".")[:2]), "python_full_version": python}
    with zipfile.ZipFile(wheels[canonicalize_name(requirement.name)]) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        lines = message_from_bytes(wheel.read(name)).get_all("Requires-Dist") or []
    every = [Requirement(line) for line in lines]
    seen, extras = PLATFORMS[platform].markers | version, ("", *requirement.extras)
    return [r for r in every if not r.marker or any(r.marker.evaluate(seen | {"extra": extra}) for extra in extras)]


def download(wanted: list[Requirement], folder: Path, platform: str, python: str, *options: str) -> None:
    """Ask pip for the wheels of `wanted` alone, in the versions of constraints.txt; BundleError where there is none."""
    if not wanted:
        return
    tags = [f"--platform={tag}" for tag in PLATFORMS[platform].tags]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", str(folder)]
    only = ["--no-deps", "--only-binary=:all:", "--python-version", python, "-c", str(ROOT / "constraints.txt")]
    names = [f"{r.name}{r.specifier}" for r in wanted]
    done = subprocess.run([*pip, *only, *tags, *options, *names], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = "; ".join(line for line in done.stderr.splitlines() if line.startswith("ERROR")) or done.stderr
        raise BundleError(f"not all wheels are to be had for {platform}, Python {python}: {reason}")


def wheels_by_name(folder: Path) -> dict[str, Path]:
    """{normalised project name: its wheel}."""
    return {canonicalize_name(path.name.split("-")[0]): path for path in folder.glob("*.whl")}


def _key(requirement: Requirement) -> tuple[str, frozenset[str]]:
    return canonicalize_name(requirement.name), frozenset(requirement.extras)
