"""The same cell elsewhere: nbclient, papermill, nbconvert, a terminal, a script, a killed and a second kernel."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter, MarkdownExporter

from tests.kernels import MIME, running_kernel
from tests.notebook.support import stripped
from tests.notebook.test_magics import Book, python

pytestmark = pytest.mark.kernel

SCRIPT = {
    "answers": [
        {"text": "Looking & <b>thinking</b>.", "calls": [python("print('live')\ntotal = 2 + 3\ntotal", "Add")]},
        {"calls": [python("1 / 0", "Try")]},
        {"text": "The total is **5**.\n\n<script>alert('model')</script>"},
    ]
}


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    book = nbformat.v4.new_notebook()
    book.cells = [
        nbformat.v4.new_code_cell("%load_ext zidane_lab"),
        nbformat.v4.new_code_cell("%%zidane --model scripted/script.json --to answer\nAdd 2 and 3, please?"),
        nbformat.v4.new_code_cell("assert total == 5\nprint(answer.status)"),
    ]
    return book


def executed(book, folder):
    NotebookClient(book, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return book


def test_nbclient_keeps_everything_that_was_drawn(notebook, tmp_path):
    book = executed(notebook, tmp_path)
    nbformat.validate(book)
    outputs = book.cells[1].outputs
    kinds = [
        output.data.get(MIME, {}).get("kind", "-") if "data" in output else output.output_type for output in outputs
    ]
    assert kinds == ["text", "tool", "stream", "-", "outcome", "tool", "error", "outcome", "text", "usage"]
    assert all(output.output_type != "error" for output in outputs)  # papermill would take it for a failure
    assert [output.data[MIME]["status"] for output in outputs if "data" in output and "status" in output.data.get(MIME, {})] == [
        "started", "ok", "started", "error",
    ]  # fmt: skip
    assert book.cells[2].outputs[0].text == "completed\n"
    again = nbformat.reads(nbformat.writes(book), as_version=4)
    assert again.cells[1].outputs == outputs


def test_nbconvert_makes_a_safe_page_that_reads_well(notebook, tmp_path):
    book = executed(notebook, tmp_path)
    html, _ = HTMLExporter().from_notebook_node(book)
    body = html.split("<body", 1)[1]
    text = "".join(stripped(body).text)
    for words in (
        "Add",
        "live",
        "The total is 5.",
        "ZeroDivisionError: division by zero",
        "<script>alert('model')</script>",
    ):
        assert words in text, words
    assert "<script>alert('model')" not in body
    assert "<b>thinking</b>" not in body
    markdown, _ = MarkdownExporter().from_notebook_node(book)
    assert "The total is **5**." in markdown


def test_an_unattended_page_is_drawn_once_and_is_the_same_every_time(notebook, tmp_path):
    first = executed(notebook, tmp_path)

    def page(book):
        return [output.get("data", output.get("text")) for output in book.cells[1].outputs]

    messages = []
    client = NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    process = client.process_message
    client.process_message = lambda msg, *rest: (messages.append(msg["msg_type"]), process(msg, *rest))[1]
    assert page(client.execute()) == page(first)
    assert "update_display_data" not in messages


def test_a_page_that_shows_only_plain_text_tells_the_whole_story(notebook, tmp_path):
    outputs = executed(notebook, tmp_path).cells[1].outputs
    story = "\n".join(output.get("text") or output.data["text/plain"] for output in outputs)
    assert re.fullmatch(
        r"Looking & <b>thinking</b>\.\n"
        r"▸ Add  \(run_python\)\n    print\('live'\)\n    total = 2 \+ 3\n    total\n"
        r"live\n\n5\n"
        r"✓ created total\n"
        r"▸ Try  \(run_python\)\n    1 / 0\n"
        r"  cell, line 1, in <module>\n    1 / 0\nZeroDivisionError: division by zero\n"
        r"✗ failed\n"
        r"The total is \*\*5\*\*\.\n\n<script>alert\('model'\)</script>\n"
        r"scripted/script\.json · 3 turns · 2 tool calls",
        story,
    ), story


def test_papermill_runs_it(notebook, tmp_path):
    import papermill

    nbformat.write(notebook, tmp_path / "in.ipynb")
    papermill.execute_notebook(
        tmp_path / "in.ipynb", tmp_path / "out.ipynb", cwd=str(tmp_path), kernel_name="python3", progress_bar=False
    )
    book = nbformat.read(tmp_path / "out.ipynb", 4)
    assert book.cells[2].outputs[0].text == "completed\n"


def test_a_failed_run_fails_the_notebook(notebook, tmp_path):
    from nbclient.exceptions import CellExecutionError

    (tmp_path / "script.json").write_text(json.dumps([{"error": {"code": "quota", "message": "Spent."}}]))
    with pytest.raises(CellExecutionError, match="QuotaError"):
        executed(notebook, tmp_path)


# --- terminals and scripts --------------------------------------------------------------------------


def test_terminal_ipython(tmp_path):
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), "TERM": "dumb", "HOME": str(tmp_path)}
    leader, follower = pty.openpty()
    shell = subprocess.Popen(
        [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor"],
        stdin=follower, stdout=follower, stderr=follower, cwd=tmp_path, env=environment, close_fds=True,
    )  # fmt: skip
    os.close(follower)
    seen = ""

    def until(words: str, seconds: float = 30) -> None:
        nonlocal seen
        end = time.monotonic() + seconds
        while words not in seen:
            assert time.monotonic() < end, seen
            if select.select([leader], [], [], 0.2)[0]:
                seen += os.read(leader, 65536).decode(errors="replace")

    def send(line: str) -> None:
        os.write(leader, line.encode() + b"\n")

    try:
        until("In [1]:")
        send("%load_ext zidane_lab")
        until("In [2]:")
        send("%zidane --model scripted/script.json --to answer what's 2 + 3?")
        until("3 turns · 2 tool calls")
        until("In [3]:")
        for words in ("Looking & <b>thinking</b>.", "▸ Add", "live", "ZeroDivisionError", "The total is **5**."):
            assert words in seen, seen
        send("total, answer.status")
        until("(5, 'completed')")
        (tmp_path / "slow.json").write_text(json.dumps({"answers": [{"text": "slow words " * 300}], "delay": 0.05}))
        send("%zidane --model scripted/slow.json talk")
        until("slow words slow words slow words")
        os.kill(shell.pid, signal.SIGINT)
        until("Stopped.", 5)
        send("%zidane --bg hello")
        until("--bg needs a Jupyter kernel")
        send("%zidane /doctor")
        until("No problems found")
        assert list(tmp_path.glob(".zidane/sessions/*/*.jsonl"))
    finally:
        shell.kill()
        shell.wait()
        os.close(leader)


def test_ask_in_a_script(tmp_path):
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    code = (
        "import zidane_lab\n"
        "start = 40\n"
        "r = zidane_lab.ask('Add', model='scripted/script.json', namespace=globals())\n"
        "print([total, r.status, r.code[0].split()[0], len(r.turns)])\n"
    )
    (tmp_path / "run.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-W", "error", "run.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "live\n5\n[5, 'completed', \"print('live')\", 6]\n"
    assert not (tmp_path / ".zidane").exists()


def test_ask_is_refused_where_a_loop_runs(tmp_path):
    with running_kernel(tmp_path) as kernel:
        cell = kernel.run(
            "import zidane_lab\nasync def f():\n    return zidane_lab.ask('hi', model='offline')\nawait f()"
        )
        assert cell.error["ename"] == "ConfigurationError"
        assert "%%zidane" in cell.error["evalue"]


def test_an_agent_of_ones_own_in_a_cell(tmp_path):
    with running_kernel(tmp_path) as kernel:
        kernel.ok(
            "import zidane_lab\nfrom zidane_lab.providers.scripted import call\n"
            "base = 5\n"
            "@zidane_lab.tool\ndef double(number: int) -> int:\n    'Double a number.'\n    return 2 * number\n"
            "provider = zidane_lab.ScriptedProvider([call('run_python', code='made = base + 1', intent='x'), call('double', number=21), 'Fine.'])\n"
            "agent = zidane_lab.Agent(provider, tools=[*zidane_lab.default_tools(), double], executor=zidane_lab.LiveExecutor())\n"
            "result = await agent.run('go')"
        )
        assert kernel.value("(made, result.text, result.turns[4].tool_results[0].text)") == (6, "Fine.", "42")


# --- death and company ------------------------------------------------------------------------------


def test_a_killed_kernel_loses_nothing_that_was_shown(tmp_path):
    with running_kernel(tmp_path) as kernel:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        shown = []
        code = "import time\nprint('on', flush=True)\ntime.sleep(60)"
        msg = kernel.start(book.cell("Remember this", {"text": "First I compute."}, script={}))
        kernel.finish(msg)
        kernel.start(book.cell("And this", {"text": "Now I wait.", "calls": [python(code)]}, {"text": "never"}))
        end = time.monotonic() + 20
        while not any(m["msg_type"] == "stream" for m in shown) and time.monotonic() < end:
            shown.append(kernel.client.get_iopub_msg(timeout=10))
        kernel.kill()
    with running_kernel(tmp_path) as kernel:
        book = Book(kernel, tmp_path)
        book.count = 10
        kernel.ok("%load_ext zidane_lab")
        cell = kernel.ok("%zidane /resume")
        for words in ("Remember this", "First I compute.", "And this", "Now I wait.", "cut off"):
            assert words in cell.text, cell.text
        book.ask("Go on", {"text": "Going on."})
        turns = book.turns()
        (result,) = [b for turn in turns for b in turn["blocks"] if b["kind"] == "tool_result"]
        assert result["parts"][0]["text"] == "[Tool use interrupted]"
        assert [turn["blocks"][0].get("text") for turn in turns][-2:] == ["Go on", "Going on."]


def _said(path):
    """The texts of a session's turns, without what was attached to them."""
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    turns = [entry["turn"] for entry in entries if entry["type"] == "turn"]
    return [next(block["text"] for block in turn["blocks"] if block["kind"] == "text") for turn in turns]


def test_a_second_kernel_is_told_who_has_the_session(tmp_path):
    with running_kernel(tmp_path) as one, running_kernel(tmp_path) as two:
        first, second = Book(one, tmp_path), Book(two, tmp_path)
        second.count = 50
        for kernel in (one, two):
            kernel.ok("%load_ext zidane_lab")
        first.ask("Mine", {"text": "one"})
        refused = two.run("%zidane /resume")
        assert refused.error["ename"] == "SessionLockedError"
        assert str(one.pid) in refused.error["traceback"][0]
        assert "Mine" in two.ok("%zidane /branch").text
        second.ask("From there", {"text": "branched"})
        assert [turn["blocks"][0]["text"] for turn in second.turns()] == ["Mine", "one", "From there", "branched"]
        two.ok("%zidane /new")
        second.ask("Then my own", {"text": "two"})
        first.ask("Still mine", {"text": "three"})
        files = list(tmp_path.glob(".zidane/sessions/*/*.jsonl"))
        assert len(files) == 3
        said = sorted(map(_said, files))
        assert said == [
            ["Mine", "one", "From there", "branched"],
            ["Mine", "one", "Still mine", "three"],
            ["Then my own", "two"],
        ]


def test_a_kernel_that_is_shut_down_ends_its_run_and_lets_go_of_the_session(tmp_path):
    with running_kernel(tmp_path) as kernel:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        kernel.ok(book.cell("talk", {"text": "slow " * 400}, options="--bg", script={"delay": 0.05}))
        time.sleep(0.5)
        kernel.client.shutdown()
        kernel.manager.provisioner.process.wait(10)
        assert book.session()[-1]["type"] == "run-end"
        assert book.session()[-1]["status"] == "aborted"
        assert not list(tmp_path.glob(".zidane/sessions/*/*.lock"))


def test_a_notebook_can_be_named_and_naming_it_again_goes_on(tmp_path):
    with running_kernel(tmp_path) as kernel:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        first = kernel.ok(book.cell("one", {"text": "1"}, options="--notebook work.ipynb"))
        assert "conversation is kept in" not in first.text
        kernel.ok(book.cell("two", {"text": "2"}, options="--notebook work.ipynb"))
        (session,) = tmp_path.glob(".zidane/sessions/work/*.jsonl")
        assert session.read_text().count('"type":"turn"') + session.read_text().count('"type": "turn"') == 4


def test_an_unknown_notebook_is_said_once(tmp_path):
    with running_kernel(tmp_path) as kernel:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        assert "conversation is kept in" in kernel.ok(book.cell("one", {"text": "1"})).text
        assert "conversation is kept in" not in kernel.ok(book.cell("two", {"text": "2"})).text
