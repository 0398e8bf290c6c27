"""The slides of each lesson as a room sees them: Chromium, 1280 x 720, the network off."""

from pathlib import Path

import nbformat
import pytest
from pictures import offline_browser, open_deck, slides

from grpo_lessons.workshop.slide_pages import page as slides_page
from grpo_lessons.workshop.slides import read

pytestmark = pytest.mark.browser
LESSONS = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9]*.ipynb"))


@pytest.fixture(scope="module")
def browser():
    with offline_browser() as page:
        yield page


def deck(path, folder):
    file = folder / f"{path.stem}.html"
    file.write_text(slides_page(path), encoding="utf-8")
    return file


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_slide_fits_is_legible_and_needs_no_network(path, browser, tmp_path):
    file = deck(path, tmp_path)
    count = open_deck(browser, file)
    assert count == len(read(nbformat.read(path, as_version=4)))
    faults = {number: found for number, found in slides(browser, count) if found}
    assert faults == {}
    assert [url for url in browser.asked if not url.startswith(("data:", file.resolve().as_uri()))] == []


def test_formulas_are_drawn_and_the_speaker_view_shows_the_notes(browser, tmp_path):
    path = next(path for path in LESSONS if path.stem.startswith("04_"))
    open_deck(browser, deck(path, tmp_path))
    texts = browser.locator(".slide.text").evaluate_all("all => all.map(slide => slide.textContent)")
    assert not any("$" in text for text in texts)
    assert browser.locator(".slide.text mjx-container svg path").count() > 20
    with browser.context.expect_page() as opened:
        browser.keyboard.press("s")
    notes = opened.value.locator(".speaker-controls-notes .value")
    notes.get_by_text("After this lesson you will be able to").wait_for(timeout=60_000)
    opened.value.close()
