"""A compaction in JupyterLab, in a real browser; it leaves the docs' pictures of the divider and of ``/context``."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from tests.ui.lab import CHROMIUM, lab_page, lab_server, outputs, run_cell, wait_idle

pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "_static"
NOTEBOOK = "notebooks/context.ipynb"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    (folder / "notebooks").mkdir()
    shutil.copytree(ROOT / "examples" / "data", folder / "examples" / "data")
    book = nbformat.read(ROOT / NOTEBOOK, 4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(book, folder / NOTEBOOK)
    with lab_server(folder, tmp_path_factory.mktemp("state")) as address:
        yield address, folder


def cells_until(folder: Path, words: str) -> list[int]:
    """Code cells up to the first whose source holds ``words``, that one included."""
    cells = nbformat.read(folder / NOTEBOOK, 4).cells
    last = next(index for index, cell in enumerate(cells) if cell.cell_type == "code" and words in cell.source)
    return [index for index in range(last + 1) if cells[index].cell_type == "code"]


def picture(page, cell, name: str, dark: Path) -> None:
    """Scroll to a cell and take the notebook's picture: in light for the docs, in dark to look at."""
    for theme, folder in (("JupyterLab Light", PICTURES), ("JupyterLab Dark", dark)):
        page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
        page.wait_for_timeout(1200)
        cell.evaluate("node => node.scrollIntoView({block: 'start'})")
        page.wait_for_timeout(600)
        page.locator(".jp-NotebookPanel").screenshot(path=str(folder / f"{name}.png"))


def test_a_compaction_is_a_line_that_unfolds_and_context_shows_what_is_left(lab, tmp_path):
    address, folder = lab
    with lab_page(address, NOTEBOOK, width=1180, height=960) as page:
        for index in cells_until(folder, "/context"):
            run_cell(page, index)
            page.wait_for_timeout(500)
            wait_idle(page)
        text = outputs(page)
        assert "Compacting" not in text  # the line has taken its place
        assert "Flipper length separates them best" in text
        line = page.locator(".jp-OutputArea details summary").filter(has_text="compacted (the window was full)")
        summary = line.locator("xpath=..").get_by_text("Primary request")
        assert not summary.is_visible()
        line.click()
        assert summary.is_visible()
        PICTURES.mkdir(parents=True, exist_ok=True)
        picture(
            page, page.locator(".jp-Cell").filter(has_text="Which measurement separates").last, "compaction", tmp_path
        )
        picture(page, page.locator(".jp-Cell").filter(has_text="Next request to").last, "context", tmp_path)
        page.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")
        line.click()
        assert not summary.is_visible()
