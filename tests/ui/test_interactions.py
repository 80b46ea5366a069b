"""Permissions, questions and plans in JupyterLab: clicked while the cell runs."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from tests.ui.lab import CHROMIUM, lab_page, lab_server, outputs, run_cell, wait_idle

pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

PICTURES = Path(__file__).parents[2] / "docs" / "_static"
WRITE = {
    "name": "run_python",
    "arguments": {
        "intent": "Save the cleaned penguins",
        "code": "penguins = penguins.dropna()\npenguins.to_csv('penguins-clean.csv', index=False)",
    },
}
QUESTIONS = {
    "name": "ask_user",
    "arguments": {
        "questions": [
            {
                "id": "missing",
                "question": "Eleven rows have no sex. What should happen to them?",
                "options": [
                    {"label": "Leave them out", "description": "333 of 344 rows stay"},
                    {"label": "Keep them as unknown", "description": "a third group in every table"},
                ],
                "recommended": 1,
            },
            {
                "id": "figures",
                "question": "Which figures do you want?",
                "type": "multi",
                "options": [{"label": "Body mass by species"}, {"label": "Bill length against depth"}],
            },
            {"id": "title", "question": "What is the report called?"},
        ]
    },
}
PLAN = {
    "name": "present_plan",
    "arguments": {
        "title": "Compare body mass between the islands",
        "summary": "Nothing is written to disk.",
        "steps": [
            {"title": "Describe body mass by island", "details": "mean, spread, number of birds"},
            {"title": "Look for confounding by species"},
            {"title": "Fit one model and say what it can and cannot tell"},
        ],
    },
}


def script(*answers):
    return json.dumps({"answers": list(answers), "loop": True})


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    load = "%load_ext zidane_lab\nimport pandas as pd\npenguins = pd.DataFrame({'mass': [3750, None]})"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(load)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, folder / "work.ipynb")
    (folder / "write.json").write_text(script({"calls": [WRITE]}, {"text": "Saved."}))
    (folder / "ask.json").write_text(script({"calls": [QUESTIONS]}, {"text": "Thank you."}))
    (folder / "plan.json").write_text(script({"calls": [PLAN]}, {"text": "Here we go."}))
    with lab_server(folder, tmp_path_factory.mktemp("state")) as address:
        yield address, folder


@pytest.fixture
def page(lab):
    with lab_page(lab[0], "work.ipynb", width=1000, height=760) as page:
        run_cell(page, 0)
        page.wait_for_timeout(1200)
        wait_idle(page)
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:insert-cell-below')")
        yield page


def ask(page, model):
    run_cell(page, 1, f"%%zidane --model scripted/{model}.json\nGo.")


def picture(page, name):
    page.wait_for_timeout(400)
    page.locator(".jp-NotebookPanel").screenshot(path=str(PICTURES / f"{name}.png"))


def done(page, text):
    page.locator(".jp-OutputArea").get_by_text(text).first.wait_for(timeout=10_000)
    wait_idle(page)
    return outputs(page)


def test_a_permission_is_given_by_a_click_while_the_cell_runs(lab, page):
    target = lab[1] / "penguins-clean.csv"
    ask(page, "write")
    button = page.get_by_role("button", name="Allow once")
    button.wait_for(timeout=10_000)
    assert page.locator(".jp-Stdin-input").count() == 0
    picture(page, "permission-form")
    assert not target.exists()
    button.click()
    text = done(page, "Saved.")
    assert target.exists()
    assert "Allowed once" in text
    assert page.get_by_role("button", name="Allow once").count() == 0


def test_a_refusal_tells_the_reason(lab, page):
    ask(page, "write")
    page.get_by_placeholder("Why not, for the model").fill("call it clean.csv")
    page.get_by_role("button", name="Deny").click()
    text = done(page, "Saved.")
    assert "Denied" in text
    assert "call it clean.csv" in text


def test_questions_are_answered_in_one_form(lab, page):
    ask(page, "ask")
    send = page.get_by_role("button", name="Send")
    send.click()
    page.get_by_text("title is empty").wait_for(timeout=5_000)
    page.get_by_text("Bill length against depth", exact=True).click()
    page.get_by_text("Body mass by species", exact=True).click()
    page.locator(".jp-OutputArea textarea").fill("Penguins of Palmer")
    picture(page, "question-form")
    send.click()
    text = done(page, "Thank you.")
    assert "Keep them as unknown" in text
    assert "Bill length against depth, Body mass by species" in text
    assert "Penguins of Palmer" in text


def test_a_plan_is_changed_and_approved(lab, page):
    ask(page, "plan")
    page.get_by_role("button", name="Edit…").click()
    field = page.locator(".jp-OutputArea textarea")
    picture(page, "plan-form")
    field.fill("Describe body mass by island\nFit one model")
    page.get_by_role("button", name="Approve").click()
    text = done(page, "Here we go.")
    assert "Approved with changes" in text
    assert "Look for confounding" not in text.split("Approved with changes")[1]
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_timeout(1000)
    saved = nbformat.read(lab[1] / "work.ipynb", 4)
    assert "widget-view" not in str(saved.cells)
    assert "widgets" not in saved.metadata
