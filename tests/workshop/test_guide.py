"""The instructor's guide names sections, cells, exercises and links that exist, and quotes its sources as they are."""

import ast
import builtins
import re

import pytest

from grpo_lessons.paths import notebooks_dir
from grpo_lessons.quiz import lessons, load
from grpo_lessons.workshop import guide, tracks

TEXT = guide.GUIDE.read_text(encoding="utf-8")
TRACKS = tracks.load_tracks()
PARTS = [pytest.param(part, id=f"{track.name}, {part.title}") for track in TRACKS for part in track.parts]


def test_the_committed_guide_is_what_tracks_measurements_and_quizzes_say():
    assert guide.filled(TEXT) == TEXT, "run: python -m grpo_lessons.workshop.guide"


def test_the_four_tracks_are_there():
    assert [track.name for track in TRACKS] == ["90 minutes", "3 hours", "2 days", "6-week seminar"]


@pytest.mark.parametrize("part", PARTS)
def test_the_minutes_add_up(part):
    assert sum(row.minutes for row in part.rows) == part.minutes


@pytest.mark.parametrize("part", PARTS)
def test_sections_cells_and_exercises_exist_and_belong_together(part):
    for row in (row for row in part.rows if row.lesson):
        assert set(row.sections) <= set(tracks.headings_of(row.lesson)), row.lesson
        cells = tracks.cells_of(row.lesson)
        for number in row.cells:
            section, exercise, _ = cells[number - 1]
            named = not section or section in row.sections or exercise in row.exercises or _below(row, section)
            assert named, f"cell {number} of lesson {row.lesson} is in {section!r}, which the row does not name"
        assert set(row.exercises) <= {cells[number - 1][1] for number in row.cells}, row.lesson


def _below(row, section):
    """Whether the section is a subsection of one that the row names."""
    headings = tracks.headings_of(row.lesson)
    place = headings.index(section)
    above = [name for name in headings[:place] if re.match(r"\d+\. |Exercises", name)]
    return bool(above) and above[-1] in row.sections and not re.match(r"\d+\. ", section)


@pytest.mark.parametrize("part", PARTS)
def test_cells_use_nothing_that_only_a_left_out_cell_defines(part):
    ran: dict[str, list[int]] = {}
    for row in (row for row in part.rows if row.cells):
        before = ran.setdefault(row.lesson, [])
        before.extend(number for number in row.cells if number not in before)
    for lesson, cells in ran.items():
        known = set(dir(builtins))
        for number in cells:
            used, defined = _names(tracks.cells_of(lesson)[number - 1][2])
            assert used <= known, f"cell {number} of lesson {lesson} uses {sorted(used - known)}"
            known |= defined


def _names(source):
    """(names that the code reads and does not define itself, names that it defines)."""
    nodes = list(ast.walk(ast.parse(source)))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    stored |= {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))} | {
        n.arg for n in nodes if isinstance(n, ast.arg)
    }
    stored |= {
        a.asname or a.name.split(".")[0] for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names
    }
    stored |= {n.name for n in nodes if isinstance(n, ast.ExceptHandler) and n.name}
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - stored, stored


@pytest.mark.parametrize("part", PARTS)
def test_homework_names_lessons_and_their_exercises(part):
    there = {exercise for lesson in part.home for _, exercise, _ in tracks.cells_of(lesson)}
    assert set(part.home_exercises) <= there


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", TEXT):
        assert target.startswith(("https://", "http://")) or (notebooks_dir() / target).exists(), target
    anchors = {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in re.findall(r"^#+ (.+)$", TEXT, re.M)}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= anchors


def test_every_lesson_with_usual_misunderstandings_has_its_questions_in_the_guide():
    for number in lessons():
        for each in load(number).usual:
            assert each.uncover in TEXT and each.truth in TEXT


def test_measured_times_belong_to_the_cells_that_the_lessons_have():
    for lesson, measured in tracks.load_measured().items():
        assert len(measured["seconds"]) == len(tracks.cells_of(lesson)), f"measure lesson {lesson} again"


def test_numbers_and_ranges_are_each_others_inverse():
    assert tracks.numbers("1-3, 7") == (1, 2, 3, 7)
    assert tracks.ranges((1, 2, 3, 7)) == "1 to 3, 7"
    assert tracks.numbers("") == ()


def test_a_row_shows_measured_seconds_where_there_are_some_and_the_lessons_head_where_not():
    row = tracks.Row(minutes=5, say="", lesson="01", cells=(1, 2))
    assert tracks.kernel(row, {"01": {"seconds": [30.0, 45.0, 99.0]}}) == "1.2 min"
    assert tracks.kernel(row, {}) == "(whole lesson: half a minute)"
