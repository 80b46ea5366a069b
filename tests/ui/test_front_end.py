"""A plugin of JupyterLab drives a run from outside the cell, over the connection the page has."""

from __future__ import annotations

import json

import nbformat
import pytest

from tests.ui.lab import CHROMIUM, lab_page, lab_server, outputs, run_cell, wait_idle
from zidane_lab.notebook.rpc import EXPRESSION

pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

WRITE = {
    "name": "run_python",
    "arguments": {"intent": "Write a file", "code": "open('made.txt', 'w').write('x')"},
}
CONTROL = """async request => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const header = {
        msg_id: crypto.randomUUID(), msg_type: 'zidane_request', session: kernel.clientId, username: kernel.username,
        version: '5.3', date: new Date().toISOString(),
    };
    const message = {channel: 'control', header, parent_header: {}, metadata: {}, content: request, buffers: []};
    const start = performance.now();
    const reply = await kernel.sendControlMessage(message, true).done;
    return {...reply.content, milliseconds: performance.now() - start};
}"""
EXECUTE = """async ([expression, request]) => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const text = JSON.stringify(JSON.stringify(request));
    const reply = await kernel.requestExecute({
        code: '', silent: true, store_history: false, allow_stdin: true,
        user_expressions: {reply: expression.replace('{}', () => text)},
    }).done;
    return JSON.parse(reply.content.user_expressions.reply.data['text/plain']);
}"""


def call(page, method, **params):
    reply = page.evaluate(CONTROL, {"v": 1, "method": method, "params": params})
    assert reply["milliseconds"] < 2000
    return reply.get("result") or reply["error"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%load_ext zidane_lab")])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, folder / "work.ipynb")
    script = json.dumps({"answers": [{"calls": [WRITE]}, {"text": "Written."}], "loop": True})
    (folder / "write.json").write_text(script)
    with lab_server(folder, tmp_path_factory.mktemp("state")) as address:
        yield address, folder


def test_a_plugin_answers_while_the_cell_runs(lab):
    with lab_page(lab[0], "work.ipynb", width=1000, height=760) as page:
        run_cell(page, 0)
        wait_idle(page)
        hello = page.evaluate(
            EXECUTE, [EXPRESSION, {"v": 1, "method": "hello", "params": {"word": "ä \U0001f427 \" ' \\ {}"}}]
        )
        assert hello["result"]["loaded"] is True
        assert hello["result"]["control"] is True
        assert call(page, "announce", client="panel-1")["silence"] == 30
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:insert-cell-below')")
        run_cell(page, 1, "%%zidane --model scripted/write.json\nGo.")
        for _ in range(100):
            waiting = call(page, "pending", client="panel-1")["pending"]
            if waiting:
                break
            page.wait_for_timeout(100)
        (asked,) = waiting
        assert asked["title"] == "Write a file"
        assert page.get_by_role("button", name="Allow once").count() == 0
        assert page.locator(".jp-Stdin-input").count() == 0
        assert call(page, "answer", id=asked["id"], value={"decision": "once"})["running"] is True
        page.locator(".jp-OutputArea").get_by_text("Written.").first.wait_for(timeout=10_000)
        wait_idle(page)
        assert (lab[1] / "made.txt").exists()
        assert "Write a file" in outputs(page)
