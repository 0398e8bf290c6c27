"""Slides as a room sees them, in Chromium with the network off.

    python tests/workshop/pictures.py OUT notebooks/04*.ipynb

writes OUT/04_..._NN.png for each slide, a contact sheet OUT/04_....png, and prints what does not fit or is small.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from grpo_lessons.workshop.slide_pages import page as slides_page

SIZE = {"width": 1280, "height": 720}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SMALLEST = 19.5  # pixels: letters of at least 20, and rounding
# What is wrong with the slide that is shown: text that sticks out, letters that are too small, formulas in red.
FAULTS = """smallest => {
  const slide = Reveal.getCurrentSlide(), found = [], scale = Reveal.getScale();
  for (const element of slide.querySelectorAll("*:not(aside, aside *, svg *)")) {
    const box = element.getBoundingClientRect();
    const own = [...element.childNodes].some(node => node.nodeType == 3 && node.data.trim());
    if (!box.width || !(own || ["IMG", "svg"].includes(element.tagName))) continue;
    const words = (element.alt || element.textContent || "formula").trim().slice(0, 40);
    const range = document.createRange(); range.selectNodeContents(element);
    const right = Math.max(box.right, range.getBoundingClientRect().right);
    if (right > innerWidth || box.bottom > innerHeight - 30 * scale || box.left < 0 || box.top < 0)
      found.push(`sticks out: ${words}`);
    const letters = parseFloat(getComputedStyle(element).fontSize);
    if (own && letters < smallest) found.push(`letters of ${letters} pixels: ${words}`);
  }
  const shown = slide.querySelector(".shown");
  if (shown && !shown.textContent.trim() && !shown.querySelector("img, svg")) found.push("nothing below the heading");
  if (slide.querySelector("[data-mjx-error], mjx-merror")) found.push("MathJax does not understand a formula");
  return found;
}"""


@contextmanager
def offline_browser() -> Iterator[Page]:
    """A page of 1280 x 720 without a network; `page.asked` lists the addresses that it wanted all the same."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        raise FileNotFoundError("no chromium found: apt-get install chromium, or name one in CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        context = browser.new_context(viewport=SIZE, offline=True)
        page = context.new_page()
        page.asked = []
        context.on("request", lambda request: page.asked.append(request.url))
        yield page
        browser.close()


def open_deck(page: Page, deck: Path) -> int:
    """Open a file of slides, wait for the formulas; returns the number of slides."""
    page.asked.clear()
    page.goto(deck.resolve().as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()", timeout=120_000)
    return page.evaluate("Reveal.getTotalSlides()")


def slides(page: Page, count: int) -> Iterator[tuple[int, list[str]]]:
    """Show one slide after the other: (number from 1, what is wrong with it)."""
    for number in range(count):
        page.evaluate("number => Reveal.slide(number)", number)
        yield number + 1, page.evaluate(FAULTS, SMALLEST)


def contact_sheet(pictures: list[Image.Image], columns: int = 3) -> Image.Image:
    """All pictures on one, each 640 wide."""
    rows = -(-len(pictures) // columns)
    sheet = Image.new("RGB", (columns * 650, rows * 370), "#444444")
    for i, picture in enumerate(pictures):
        sheet.paste(
            picture.resize((640, 360), Image.Resampling.LANCZOS), (i % columns * 650 + 5, i // columns * 370 + 5)
        )
    return sheet


def main(out: Path, paths: list[Path]) -> int:
    out.mkdir(parents=True, exist_ok=True)
    faults = []
    with offline_browser() as page:
        for path in paths:
            deck = out / f"{path.stem}.html"
            deck.write_text(slides_page(path), encoding="utf-8")
            pictures = []
            for number, found in slides(page, open_deck(page, deck)):
                pictures.append(Image.open(BytesIO(page.screenshot())).convert("RGB"))
                pictures[-1].save(out / f"{path.stem}_{number:02}.png")
                faults += [f"{path.name} slide {number}: {fault}" for fault in found]
            contact_sheet(pictures).save(out / f"{path.stem}.png")
    print("\n".join(faults) or "nothing to complain about")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]]))
