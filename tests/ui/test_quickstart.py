"""The quickstart in JupyterLab, in a real browser; it leaves the picture that README and docs show."""

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


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    (folder / "notebooks").mkdir()
    shutil.copytree(ROOT / "examples" / "data", folder / "examples" / "data")
    book = nbformat.read(ROOT / "notebooks" / "quickstart.ipynb", 4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(book, folder / "notebooks" / "quickstart.ipynb")
    shutil.copy(ROOT / "notebooks" / "overreach.json", folder / "notebooks")
    with lab_server(folder, tmp_path_factory.mktemp("state")) as address:
        yield address, folder


def code_cells(folder: Path) -> list[int]:
    book = nbformat.read(folder / "notebooks" / "quickstart.ipynb", 4)
    return [index for index, cell in enumerate(book.cells) if cell.cell_type == "code"]


def test_the_quickstart_explores_and_survives_save_and_reload(lab):
    address, folder = lab
    cells = code_cells(folder)
    with lab_page(address, "notebooks/quickstart.ipynb", width=1180, height=1100) as page:
        for index in cells[:3]:
            run_cell(page, index)
            page.wait_for_timeout(400)
            wait_idle(page)
        text = outputs(page)
        for words in ("First look at penguins", "flipper_length_mm", "13 tool calls", "Simpson's paradox"):
            assert words in text, words
        # A card folds: its code is there, and hidden until it is opened.
        summary = page.locator(".jp-OutputArea details summary").filter(has_text="Correlate the numeric columns")
        code = summary.locator("xpath=..").locator("pre")
        assert not code.is_visible()
        summary.click()
        assert code.is_visible()
        summary.click()
        asking = page.locator(".jp-Cell").filter(has_text="%%zidane --to answer").first
        asking.evaluate("node => node.scrollIntoView({block: 'start'})")
        page.wait_for_timeout(600)
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.locator(".jp-NotebookPanel").screenshot(path=str(PICTURES / "quickstart.png"))
        report = page.locator(".jp-RenderedMarkdown").filter(has_text="First look at penguins").first
        report.evaluate("node => node.scrollIntoView({block: 'start'})")
        page.wait_for_timeout(600)
        page.locator(".jp-NotebookPanel").screenshot(path=str(PICTURES / "report.png"))
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_timeout(1500)
        before = outputs(page)
    with lab_page(address, "notebooks/quickstart.ipynb", width=1180, height=1100) as page:
        page.wait_for_timeout(1500)
        after = outputs(page)
    assert "First look at penguins" in after
    assert "13 tool calls" in before


def test_interrupting_from_the_page_stops_a_run(lab):
    address, folder = lab
    (folder / "notebooks" / "slow.json").write_text(
        '{"answers": [{"text": "' + "slow words " * 400 + '"}], "delay": 0.05}'
    )
    index = code_cells(folder)[0]
    with lab_page(address, "notebooks/quickstart.ipynb") as page:
        run_cell(page, index, "%load_ext zidane_lab")
        page.wait_for_timeout(500)
        wait_idle(page)
        run_cell(page, index, "%%zidane --model scripted/slow.json\nTalk.")
        page.get_by_text("slow words slow words").first.wait_for(timeout=20_000)
        page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()")
        page.locator(".jp-OutputArea").get_by_text("Stopped.").first.wait_for(timeout=5_000)
        wait_idle(page)
        frozen = outputs(page)
        page.wait_for_timeout(3000)
        assert outputs(page) == frozen


def test_a_permission_can_be_given_in_the_cell(lab):
    address, folder = lab
    index = code_cells(folder)[0]
    target = folder / "notebooks" / "copy.csv"
    target.unlink(missing_ok=True)
    with lab_page(address, "notebooks/quickstart.ipynb") as page:
        run_cell(
            page,
            index,
            "%load_ext zidane_lab\n%env ZIDANE_INTERACTION=stdin\nimport pandas as pd\npenguins = pd.DataFrame({'a': [1]})",
        )
        page.wait_for_timeout(800)
        wait_idle(page)
        run_cell(page, index, "%%zidane --model scripted/overreach.json\nSave the penguins.")
        box = page.locator(".jp-Stdin-input")
        box.wait_for(timeout=20_000)
        page.locator(".jp-NotebookPanel").screenshot(path=str(PICTURES / "permission.png"))
        box.fill("y")
        box.press("Enter")
        page.locator(".jp-OutputArea").get_by_text("2 turns · 1 tool call").wait_for(timeout=20_000)
        assert target.exists()
