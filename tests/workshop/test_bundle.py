"""The bundle installs without a network, refuses what is broken or unfit, and never takes a reader's work."""

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from grpo_lessons.workshop import bundle, install, wheels
from grpo_lessons.workshop.install import InstallError

ROOT = Path(__file__).parents[2]
COURSE = {"pyproject.toml": b"[project]\n", "notebooks/01_é.ipynb": b"{}", "data/a.txt": b"1"}


def wheel(folder, name, *needs):
    """A made-up wheel with nothing but metadata."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        lines = [f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {need}" for need in needs)]
        archive.writestr(f"{name}-1.0.dist-info/METADATA", "Metadata-Version: 2.1\n" + "\n".join(lines) + "\n\n")
    return path


def manifest_of(tmp_path, **changes):
    """The manifest of a tiny bundle that fits this machine, with `changes`."""
    python = ".".join(map(str, sys.version_info[:2]))
    about = bundle.manifest(COURSE, [wheel(tmp_path, "tiny")], "0.1.0", install.this_platform(), python)
    return about | changes


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "bundle" / "grpo-lessons-0.1.0-here-py311.zip"
    path.parent.mkdir()
    bundle.write_archive(path, COURSE, [wheel(tmp_path, "tiny")], manifest_of(tmp_path))
    return path


@pytest.fixture
def root(archive):
    """The unpacked bundle."""
    with zipfile.ZipFile(archive) as content:
        content.extractall(archive.parent)
    return archive.with_suffix("")


@pytest.fixture
def quick(monkeypatch):
    """Install without making an environment; returns the list of calls that would have made one."""
    calls = []

    def make(root, manifest, target):
        calls.append(target)
        (target / ".venv").mkdir(exist_ok=True)

    monkeypatch.setattr(install, "make_environment", make)
    monkeypatch.setattr(install, "healthy", lambda manifest, target: (target / ".venv").is_dir())
    monkeypatch.setattr(install, "_run", lambda command, cwd: None)
    return calls


def rewrite(root, **changes):
    """Change entries of an unpacked bundle's manifest."""
    path = root / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_the_course_arrives_from_the_archive_and_from_the_unpacked_folder(archive, root, tmp_path, quick):
    for i, found in enumerate([install.find_bundle(str(archive), tmp_path), install.find_bundle(None, root)]):
        target = tmp_path / f"Müller's course {i}"
        assert install.install(found, target) == "installed"
        assert {name: (target / name).read_bytes() for name in COURSE} == COURSE


def test_a_second_run_says_complete_and_makes_nothing(root, tmp_path, quick):
    target = tmp_path / "course"
    assert [install.install(root, target) for _ in range(2)] == ["installed", "complete"]
    assert len(quick) == 1


def test_a_second_run_mends_what_is_missing(root, tmp_path, quick):
    target = tmp_path / "course"
    install.install(root, target)
    (target / "data/a.txt").unlink()
    assert install.install(root, target) == "repaired"
    shutil.rmtree(target / ".venv")
    assert install.install(root, target) == "repaired"
    assert (target / "data/a.txt").is_file() and len(quick) == 2


def test_an_interrupted_installation_goes_on(root, tmp_path, quick, monkeypatch):
    target, real = tmp_path / "course", install._write
    writes = []

    def stop_at_the_second(source, path):
        writes.append(path)
        if len(writes) == 2:
            raise KeyboardInterrupt
        real(source, path)

    monkeypatch.setattr(install, "_write", stop_at_the_second)
    assert install.main(["--bundle", str(root), "--to", str(target)]) == 130
    monkeypatch.setattr(install, "_write", real)
    assert install.install(root, target) == "installed"
    assert {name: (target / name).read_bytes() for name in COURSE} == COURSE


def test_a_readers_changes_stay_also_when_a_newer_bundle_comes(root, tmp_path, quick, capsys):
    target = tmp_path / "course"
    install.install(root, target)
    (target / "notebooks/01_é.ipynb").write_text("my answer")
    (root / "course/notebooks/01_é.ipynb").write_bytes(b"newer lesson")
    (root / "course/data/a.txt").write_bytes(b"2")
    files = json.loads((root / "manifest.json").read_text())["files"]
    for name in ("notebooks/01_é.ipynb", "data/a.txt"):
        files[f"course/{name}"]["sha256"] = hashlib.sha256((root / "course" / name).read_bytes()).hexdigest()
    rewrite(root, files=files)
    assert install.install(root, target) == "updated"
    assert (target / "notebooks/01_é.ipynb").read_text() == "my answer"
    assert (target / "data/a.txt").read_text() == "2"
    assert "kept 1 file(s) that you have changed" in capsys.readouterr().out


def test_a_damaged_file_is_named_and_nothing_is_written(root, tmp_path, quick):
    (root / "course/data/a.txt").write_bytes(b"7")
    (root / "wheels/tiny-1.0-py3-none-any.whl").unlink()
    named = r"course/data/a\.txt, wheels/tiny-1\.0-py3-none-any\.whl; copy the bundle again"
    with pytest.raises(InstallError, match=named):
        install.install(root, tmp_path / "course")
    assert not (tmp_path / "course").exists()


def test_a_damaged_byte_within_the_archive_is_found(archive, tmp_path, quick):
    content = bytearray(archive.read_bytes())
    place = content.index(b"Requires-Dist") if b"Requires-Dist" in content else content.index(b"Name: tiny")
    content[place] ^= 1
    archive.write_bytes(content)
    with pytest.raises(InstallError, match=r"wheels/tiny-1\.0-py3-none-any\.whl; copy the bundle again"):
        install.install(install.find_bundle(str(archive), tmp_path), tmp_path / "course")


def test_half_an_archive_is_refused(archive, tmp_path):
    archive.write_bytes(archive.read_bytes()[:700])
    with pytest.raises(InstallError, match=r"py311\.zip is no whole bundle"):
        install.find_bundle(None, archive.parent)


@pytest.mark.parametrize("name", ["course/../../x", "/etc/x", "course/..\\..\\x", "other/x", "course/C:/x", ""])
def test_a_listed_file_outside_the_folders_is_refused(root, tmp_path, name):
    rewrite(root, files={name: {"bytes": 1, "sha256": "0"}})
    with pytest.raises(InstallError, match="outside its folders"):
        install.install(root, tmp_path / "course")


def test_a_link_out_of_the_folder_is_not_followed(root, tmp_path, quick):
    target, elsewhere = tmp_path / "course", tmp_path / "elsewhere"
    install.install(root, target)
    elsewhere.mkdir(), shutil.rmtree(target / "data")
    (target / "data").symlink_to(elsewhere)
    with pytest.raises(InstallError, match="link that leads out of"):
        install.install(root, target)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"python": "3.9.2"}, "this bundle is for Python 3.9, 3.9.2 or newer, and this is Python 3.1"),
        (
            {"python": f"3.{sys.version_info[1]}.99"},
            "this bundle is for Python 3.1., 3.1..99 or newer, and this is Python",
        ),
        ({"platform": "vax_vms"}, "this bundle is for vax_vms, and this Python is for "),
        ({"system": "99.0"}, "needs (glibc|macOS) 99.0 or newer"),
        ({"installed_bytes": 10**18}, "GB free; make room, or choose another disk with --to"),
    ],
)
def test_an_unfit_machine_gets_one_sentence_and_nothing_is_written(root, tmp_path, quick, capsys, changes, sentence):
    rewrite(root, **changes)
    with pytest.raises(InstallError, match=sentence):
        install.install(root, tmp_path / "course")
    assert not (tmp_path / "course").exists()
    assert install.main(["--bundle", str(root), "--to", str(tmp_path / "course")]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_folder_with_other_things_is_left_alone(root, tmp_path, quick):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter.tex").write_text("mine")
    with pytest.raises(InstallError, match="holds other things already; choose a new folder with --to"):
        install.install(root, tmp_path / "thesis")


def test_a_place_without_write_access_is_said_before_anything_is_read(root, tmp_path, quick, monkeypatch):
    monkeypatch.setattr(install.os, "access", lambda path, mode: False)
    with pytest.raises(InstallError, match="no folder that you may write to; choose one of yours with --to"):
        install.install(root, tmp_path / "course")


def test_no_bundle_and_two_bundles_are_said(tmp_path, archive):
    with pytest.raises(InstallError, match="0 bundles in"):
        install.find_bundle(None, tmp_path)
    shutil.copy(archive, archive.with_name("grpo-lessons-0.2.0.zip"))
    with pytest.raises(InstallError, match=r"2 bundles in .* name it with --bundle"):
        install.find_bundle(None, archive.parent)


def test_a_failing_step_shows_its_last_line_and_keeps_all_of_them(tmp_path):
    script = "print('one'); print('ERROR: no matching distribution'); raise SystemExit(3)"
    with pytest.raises(InstallError, match=r"ended with 3: ERROR: no matching distribution \(all of it: "):
        install._run([sys.executable, "-c", script], tmp_path)
    assert (tmp_path / "install.log").read_text() == "one\nERROR: no matching distribution\n"


def test_the_installer_is_readable_for_python_3_8_and_imports_the_standard_library_alone():
    tree = ast.parse(Path(install.__file__).read_text(encoding="utf-8"), feature_version=(3, 8))
    imports = [n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom))]
    names = {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name for n in imports}
    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names)


def test_dependency_markers_are_those_of_the_platform_asked_for(tmp_path):
    needs = ['colour; sys_platform == "win32"', 'old; python_version < "3.12"', 'more; extra == "full"', "always"]
    found = {"tiny": wheel(tmp_path, "tiny", *needs)}

    def names(requirement, *where):
        return [r.name for r in wheels.needs(Requirement(requirement), found, *where)]

    assert names("tiny", "win_amd64", "3.11") == ["colour", "old", "always"]
    assert names("tiny[full]>=1", "linux_x86_64", "3.12") == ["more", "always"]


def test_collecting_walks_all_levels_once_and_takes_torch_from_its_index(tmp_path, monkeypatch):
    needs = {"torch": ["deep"], "lab": ["deep", "Wide.Name"], "deep": ["lab"], "Wide.Name": []}
    asked = []

    def download(wanted, folder, platform, python, *options):
        asked.extend((r.name, *options) for r in wanted)
        for r in wanted:
            wheel(folder, r.name.replace(".", "_"), *needs[r.name])

    monkeypatch.setattr(wheels, "download", download)
    found = wheels.collect([Requirement("lab"), Requirement("torch")], tmp_path, "linux_x86_64", "3.11", "https://cpu")
    assert asked == [("lab",), ("torch", "--index-url", "https://cpu"), ("deep",), ("Wide.Name",)]
    assert [path.name.split("-")[0] for path in found] == ["Wide_Name", "deep", "lab", "torch"]


def test_a_missing_wheel_is_one_sentence(tmp_path):
    nowhere = ["--no-index", "--find-links", str(tmp_path)]
    with pytest.raises(wheels.BundleError, match=r"to be had for win_amd64, Python 3\.11: .*no-such-package-here"):
        wheels.download([Requirement("no-such-package-here")], tmp_path, "win_amd64", "3.11", *nowhere)


def test_the_bundle_holds_the_extras_of_the_lessons_and_no_test_tools():
    names = {r.name for r in wheels.requirements(ROOT / "pyproject.toml")}
    assert {"torch", "jupyterlab", "peft", "bitsandbytes", "setuptools"} <= names
    assert not {"pytest", "hypothesis", "playwright", "trl"} & names


def test_only_committed_files_get_in(tmp_path):
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    (tmp_path / "tests").mkdir()
    for name in ("lesson.ipynb", "tests/test_x.py"):
        (tmp_path / name).write_text("committed")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    (tmp_path / "lesson.ipynb").write_text("my name in an output")
    (tmp_path / "private.txt").write_text("secret")
    assert bundle.course_files(tmp_path) == {"lesson.ipynb": b"committed"}


def test_solutions_and_hidden_tests_can_be_left_out():
    names = set(bundle.course_files(ROOT)) - set(bundle.course_files(ROOT, bundle.SOLUTIONS + bundle.LEFT_OUT))
    assert {"notebooks/solutions/04_solutions.ipynb", "grpo_lessons/workshop/hidden/lesson04.py"} <= names
    assert all("solutions" in name or "hidden" in name for name in names)


def test_an_unknown_platform_is_answered_with_the_known_ones(tmp_path, capsys):
    assert bundle.main(["--platform", "macosx_x86_64", "--out", str(tmp_path)]) == 1
    assert "known platforms: linux_x86_64, linux_aarch64, macosx_arm64, win_amd64" in capsys.readouterr().err


@pytest.mark.slow
def test_the_real_bundle_installs_and_trains_without_a_network(tmp_path):
    out, target = tmp_path / "dist", tmp_path / "cours d'été"
    index = "" if "+cpu" in version("torch") else bundle.CPU_INDEX  # pip found a CPU build here without it, or did not
    assert bundle.main(["--torch-index", index, "--out", str(out)]) == 0
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "PIP_INDEX_URL"), "http://127.0.0.1:9") | {
        "PIP_FIND_LINKS": ""
    }
    env = os.environ | nowhere | {"HOME": str(tmp_path), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    alone = ["unshare", "--map-root-user", "--net"]  # where it is allowed; else the addresses above lead nowhere
    cut = alone if shutil.which("unshare") and not subprocess.run([*alone, "true"], check=False).returncode else []

    def run(*command):
        done = subprocess.run([*cut, *map(str, command)], env=env, cwd=tmp_path, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    installer = [sys.executable, "-I", out / "install.py", "--to", target]
    assert "\ninstalled: grpo-lessons in " in run(*installer)
    assert "\ncomplete: grpo-lessons in " in run(*installer)
    python = install.python_of(target)
    assert run(python, "-I", "-c", "import grpo_lessons as g; print(g.__file__)").startswith(str(target))
    assert re.search(r"one training step +│ gradient norm \d", run(python.with_name("grpo-lessons"), "doctor"))
    assert (target / "work/01_group_advantages.ipynb").is_file()
