"""The first lesson as a reader meets it: JupyterLab in Debian's Chromium, run all cells, look at the page.

Needs Chromium (`apt-get install chromium`; CHROMIUM names another one); fails without it, since `make test-browser`
is run to see a browser. The screenshot is kept as runs/browser/<name>.png.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Page, expect, sync_playwright

from grpo_lessons import quiz
from grpo_lessons.notebooks import METADATA, write

ROOT = Path(__file__).resolve().parents[2]
FIRST_LESSON = ROOT / "notebooks/00_start_here.ipynb"
SCREENSHOTS = ROOT / "runs/browser"
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MINUTES = 60_000  # milliseconds
# All cells in the page, also those out of sight; no news, no dialog.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


@contextmanager
def jupyterlab(folder: Path, home: Path):
    """A server on a free port with its own settings; yields its address without the path."""
    for name, values in SETTINGS.items():
        path = home / f"lab/user-settings/@jupyterlab/{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    env = os.environ | {
        "JUPYTER_CONFIG_DIR": str(home),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "lab/user-settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "lab/workspaces"),
        "OMP_NUM_THREADS": "1",
        "GRPO_LESSONS_PROGRESS": str(home / "progress"),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0"]
    with (home / "server.log").open("w") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for_port(port, server, home / "server.log")
        yield lambda path: f"http://127.0.0.1:{port}/lab/tree/{path}?token={token}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def wait_for_port(port: int, server: subprocess.Popen, log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


@contextmanager
def browser_page():
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        pytest.fail("no chromium found: apt-get install chromium, or name one in CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield browser.new_page(viewport={"width": 1300, "height": 1000})
        browser.close()


def run_all(page: Page, address: str, minutes: float) -> None:
    """Open a notebook, forget its committed outputs, run all cells, wait until the kernel has nothing to do."""
    page.goto(address)
    expect(page.locator(".jp-Notebook")).to_be_visible(timeout=MINUTES)
    idle = page.locator("#jp-main-statusbar").get_by_text("| Idle")  # only once a kernel is connected
    expect(idle).to_be_visible(timeout=MINUTES)
    menu(page, "Edit", "Clear Outputs of All Cells")
    expect(page.locator(".jp-Notebook .jp-OutputArea-output")).to_have_count(0)
    menu(page, "Run", "Run All Cells")
    # A cell that waits or runs shows [*], one that has run its number; after an error the rest is never run.
    prompts = page.locator(".jp-CodeCell .jp-InputArea-prompt")
    expect(prompts.first).to_have_text("[1]:", timeout=minutes * MINUTES)
    expect(prompts.filter(has_text="[*]")).to_have_count(0, timeout=minutes * MINUTES)
    expect(idle).to_be_visible(timeout=MINUTES)


def menu(page: Page, name: str, entry: str) -> None:
    page.locator(".lm-MenuBar-itemLabel", has_text=name).first.click()
    page.locator(".lm-Menu-itemLabel").get_by_text(entry, exact=True).click()


def errors(page: Page):
    return page.locator(".jp-OutputArea-output").filter(has_text="Traceback (most recent call last)")


def keep_screenshot(page: Page, name: str) -> Path:
    """The whole notebook in one picture: the window grows to its height first."""
    height = page.evaluate("document.querySelector('.jp-WindowedPanel-outer, .jp-Notebook').scrollHeight")
    page.set_viewport_size({"width": 1300, "height": min(int(height) + 200, 16_000)})
    page.wait_for_timeout(500)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
    return SCREENSHOTS / f"{name}.png"


def visit(notebook: Path, tmp_path: Path, minutes: float, look) -> None:
    """Run a copy of the notebook in the browser and hand the page to `look`; the screenshot is kept either way."""
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir(), home.mkdir()
    shutil.copy(notebook, folder)
    with jupyterlab(folder, home) as address, browser_page() as page:
        try:
            run_all(page, address(notebook.name), minutes)
            look(page)
        finally:
            keep_screenshot(page, notebook.stem)


@pytest.mark.browser
def test_first_lesson_shows_plot_and_table_and_no_error(tmp_path):
    def look(page):
        expect(errors(page)).to_have_count(0)
        expect(page.locator(".jp-CodeCell .jp-InputArea-prompt").last).not_to_have_text("[ ]:")
        expect(page.locator(".jp-RenderedHTML table").first).to_be_visible()
        pictures = page.locator(".jp-RenderedImage img")
        assert pictures.count() >= 2, "the picture of the stages and the live plot"
        assert pictures.evaluate_all("all => all.every(img => img.complete && img.naturalWidth > 300)")

    visit(FIRST_LESSON, tmp_path, 8, look)


LIVE = """
from types import SimpleNamespace
import pandas as pd
from grpo_lessons import plots
rows = [{"step": i, "reward_mean": i / 8, "accuracy": i / 9, "length_mean": i} for i in range(1, 9)]
with plots.LivePlot(every=1) as live:
    for i in range(9):
        live(SimpleNamespace(table=pd.DataFrame(rows[:i])))
"""


@pytest.mark.browser
def test_live_plot_is_one_picture_that_is_renewed(tmp_path):
    cells = [new_code_cell(LIVE.strip()), new_code_cell("import pandas as pd\npd.DataFrame({'check': ['torch']})")]
    write(new_notebook(cells=cells, metadata=METADATA), tmp_path / "live.ipynb")

    def look(page):
        expect(errors(page)).to_have_count(0)
        expect(page.locator(".jp-RenderedImage img")).to_have_count(1)
        expect(page.locator(".jp-RenderedHTML table")).to_have_count(1)

    visit(tmp_path / "live.ipynb", tmp_path, 2, look)


@pytest.mark.browser
def test_a_failing_cell_is_seen(tmp_path):
    """The other tests count errors with a selector; this shows that it finds them."""
    write(new_notebook(cells=[new_code_cell("1 / 0")], metadata=METADATA), tmp_path / "bad.ipynb")
    visit(tmp_path / "bad.ipynb", tmp_path, 1, lambda page: expect(errors(page)).to_have_count(1))


@pytest.mark.browser
def test_a_quiz_is_clicked_and_scored(tmp_path):
    """The second sitting, so that the reasons are to be seen; one answer is wrong on purpose."""
    questions = quiz.load("04").questions
    letters = [question.right_letter for question in questions]
    wrong = next(letter for letter in questions[1].lettered if letter != letters[1])
    cell = new_code_cell('from grpo_lessons import quiz\n\nquiz.ask("04", "after")')
    write(new_notebook(cells=[cell], metadata=METADATA), tmp_path / "quiz_04.ipynb")

    def look(page):
        expect(errors(page)).to_have_count(0)
        choices = page.locator(".widget-toggle-buttons")
        expect(choices).to_have_count(5)
        for place, letter in enumerate([letters[0], wrong, *letters[2:]]):
            choices.nth(place).get_by_role("button", name=letter, exact=True).click()
        page.get_by_role("button", name="Score my answers").click()
        expect(page.get_by_text("Lesson 04, after: 4 of 5 right.")).to_be_visible()
        expect(page.get_by_text(f"{wrong} is not right; right is {letters[1]}.")).to_be_visible()

    visit(tmp_path / "quiz_04.ipynb", tmp_path, 2, look)
