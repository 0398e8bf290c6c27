"""The README quotes what was recorded, names files that exist, and commands that the command line has."""

import json
import re
from pathlib import Path

from benchmarks.engine_report import curves, times
from grpo_lessons.cli import app
from grpo_lessons.pooled import markdown
from grpo_lessons.studies import load_recorded

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_the_three_methods_is_the_recorded_one():
    table = README.split("<!-- three_methods: begin -->")[1].split("<!-- three_methods: end -->")[0]
    assert table.strip() == markdown(load_recorded("three_methods"))


def test_every_seed_of_every_method_reaches_95_percent_on_held_out_sums():
    study = load_recorded("three_methods")
    assert study.results.groupby("label").size().to_dict() == {"grpo": 5, "gmpo": 5, "grpo_sg": 5}
    assert study.results["accuracy"].min() >= 0.95
    assert study.results["accuracy_before"].max() <= 0.55


def test_the_engines_table_is_the_measured_one_with_its_machine_and_date():
    record = json.loads((ROOT / "benchmarks" / "results" / "engine_nano.json").read_text(encoding="utf-8"))
    section = README.split("## How fast")[1].split("## ")[0]
    table = section.split("<!-- engine: begin -->")[1].split("<!-- engine: end -->")[0]
    assert table.strip().split("\n") == times(record)[:5]
    assert record["machine"]["hardware"] in section and record["machine"]["date"] in section


def test_where_the_readme_says_that_the_engines_curves_agree_they_do():
    record = json.loads((ROOT / "benchmarks" / "results" / "engine_nano.json").read_text(encoding="utf-8"))
    rows = [line for line in curves(record) if re.match(r"\| \d", line)]
    assert len(rows) == 8 and all(row.endswith("| yes |") for row in rows)
    assert len({r["seed"] for r in record["results"]}) == 3 and record["steps"] == 40


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_named_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([a-z-]+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_named_commands_exist():
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    known |= {group.name for group in app.registered_groups}
    assert set(re.findall(r"`grpo-lessons ([a-z-]+)", README)) <= known
