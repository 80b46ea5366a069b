"""Cards of tool calls in JupyterLab: words, changes, notices; in both themes, in a narrow window, and opened again."""

from __future__ import annotations

import json

import nbformat
import pytest

from tests.ui.lab import CHROMIUM, lab_page, lab_server, outputs, run_cell, wait_idle

pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

AREA = "def area(radius):\n    return 3.14 * radius**2\n\n\ndef volume(radius):\n    return 4 / 3 * 3.14 * radius**3\n"


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def edit(old, new):
    return {"old_string": old, "new_string": new}


LOOKS = [
    call("read_file", path="area.py"),
    call("grep", pattern="radius", path="area.py"),
    call("grep", pattern=r"$x$ and \(y\) cost $5", path="area.py", literal=True),
    call("read_file", path="gone.py"),
    call("shell", command="wc -l area.py " + "x" * 300, intent="Count " + "w" * 90),
]
EDITS = [edit("def area(radius):", "def area(radius: float) -> float:"), edit("def ball(", "def sphere(")]
TASK = call("shell", command="sleep 0.3; echo built", intent="Build", background=True)
SLEEP = call("run_python", code="import time; time.sleep(1)", intent="Wait a little")
SCRIPTS = {
    "looks": [{"text": "I look around.", "calls": LOOKS}, "That is what is there."],
    "edits": [{"calls": [call("multi_edit", path="area.py", edits=EDITS)]}, "Annotated."],
    "task": [{"calls": [TASK]}, {"calls": [SLEEP]}, "It is built."],
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%load_ext zidane_lab")])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for name in ("light", "dark", "edits", "task"):
        nbformat.write(book, folder / f"{name}.ipynb")
    (folder / "area.py").write_text(AREA)
    for name, answers in SCRIPTS.items():
        (folder / f"{name}.json").write_text(json.dumps({"answers": answers, "loop": True}))
    with lab_server(folder, tmp_path_factory.mktemp("state")) as address:
        yield address, folder


def ask(page, model):
    run_cell(page, 0)
    page.wait_for_timeout(1200)
    wait_idle(page)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:insert-cell-below')")
    run_cell(page, 1, f"%%zidane --model scripted/{model}.json\nGo.")


def done(page, text):
    page.locator(".jp-OutputArea").get_by_text(text).first.wait_for(timeout=15_000)
    wait_idle(page)
    page.wait_for_timeout(400)
    return outputs(page)


def too_wide(page):
    """Outputs that make the page scroll sideways; code does so within itself."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.jp-OutputArea-output')]
            .filter(node => node.scrollWidth > node.clientWidth + 1).map(node => node.innerText.slice(0, 80))"""
    )


def contrasts(page):
    """The contrast of each text of a card with what lies behind it, as the page draws them."""
    return page.evaluate(
        """() => {
            const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
            const over = (below, css) => {
                canvas.clearRect(0, 0, 1, 1);
                for (const each of [below, css]) { canvas.fillStyle = each; canvas.fillRect(0, 0, 1, 1); }
                const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
                return `rgb(${r},${g},${b})`;
            };
            const light = css => {
                const part = each => (each /= 255) <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4;
                const [r, g, b] = css.match(/[\\d.]+/g).map(Number).map(part);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const found = [];
            for (const node of document.querySelectorAll('.jp-OutputArea summary *, .jp-OutputArea pre, .jp-OutputArea pre *')) {
                if (!node.innerText?.trim()) continue;
                const above = [];
                for (let each = node; each; each = each.parentElement) above.unshift(getComputedStyle(each));
                let ground = 'rgb(255,255,255)', opacity = 1;
                for (const style of above) { ground = over(ground, style.backgroundColor); opacity *= style.opacity; }
                const ink = over(ground, getComputedStyle(node).color.replace(/^rgb\\((.*)\\)$/, `rgba($1,${opacity})`));
                const [a, b] = [light(ink), light(ground)].sort((first, second) => first - second);
                found.push([(b + 0.05) / (a + 0.05), node.innerText.slice(0, 40)]);
            }
            return found;
        }"""
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_cards_tell_in_words_what_was_done(lab, theme):
    with lab_page(lab[0], f"{theme}.ipynb", width=900, height=1000, dark=theme == "dark") as page:
        ask(page, "looks")
        text = done(page, "That is what is there.")
        assert "Read area.py read_file · 6 lines" in text
        assert "Search “radius” in area.py grep · " in text
        assert r"Search “$x$ and \(y\) cost $5” in area.py" in text  # no formulas
        assert page.locator(".jp-OutputArea mjx-container").count() == 0
        assert page.locator("details[open]").count() == 2  # what failed
        assert too_wide(page) == []
        page.evaluate("() => document.querySelectorAll('details').forEach(node => { node.open = true; })")
        assert too_wide(page) == []
        measured = contrasts(page)
        assert len(measured) > 15
        for ratio, shown in measured:
            assert ratio >= (3 if shown in "✓✗" else 4.5), shown
        page.locator("summary").first.focus()
        page.keyboard.press("Enter")
        assert page.locator("details[open]").count() == 4
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_timeout(1000)


def test_a_change_is_asked_about_in_parts_and_told_as_a_diff(lab):
    with lab_page(lab[0], "edits.ipynb", width=900, height=900) as page:
        ask(page, "edits")
        button = page.get_by_role("button", name="Allow once")
        button.wait_for(timeout=10_000)
        assert "Edit area.py multi_edit · waiting" in outputs(page)
        assert page.locator(".jp-OutputArea input[type=checkbox]").count() == 2
        page.wait_for_timeout(1500)
        button.focus()
        page.keyboard.press("Enter")
        text = done(page, "Annotated.")
        assert "+1 −1, 1 of 2 parts" in text
        assert "1.5 s" not in text.split("scripted/")[0]  # the person's time is not the call's
        page.locator("summary").first.click()
        assert "edit-outcomes" not in outputs(page)
        card = page.locator("details[open] pre").first
        assert "background" in card.locator("span", has_text="-def area(radius):").get_attribute("style")


def test_the_end_of_a_task_is_told_in_a_line(lab):
    with lab_page(lab[0], "task.ipynb", width=900, height=700) as page:
        ask(page, "task")
        text = done(page, "It is built.")
        assert "Build shell · in the background as task-1" in text
        assert "Build (task-1): completed after" in text
        assert "task-notification" not in text


def test_a_page_that_is_not_trusted_shows_the_same(lab, tmp_path):
    """As in another's hands: nothing of the page's style is left but words, signs and folds."""
    book = nbformat.read(lab[1] / "light.ipynb", 4)
    for cell in book.cells:
        cell.metadata.pop("trusted", None)
    folder = tmp_path / "work"
    folder.mkdir()
    nbformat.write(book, folder / "got.ipynb")
    with lab_server(folder, tmp_path / "state") as address, lab_page(address, "got.ipynb", width=900) as page:
        page.get_by_text("That is what is there.").wait_for(timeout=10_000)
        assert "Read area.py read_file · 6 lines" in outputs(page)
        code = page.locator("details pre").first
        assert not code.is_visible()
        page.locator("summary").first.click()
        assert "def area(radius):" in code.inner_text()
