"""The symptoms on the troubleshooting page are what a kernel really shows."""

from __future__ import annotations

import json

import pytest

from tests.docs.pages import DOCS
from tests.kernels import running_kernel
from zidane_lab.session.layout import sessions_folder
from zidane_lab.session.session import Session
from zidane_lab.turns import TextBlock, Turn

pytestmark = pytest.mark.kernel

PAGE = (DOCS / "troubleshooting.md").read_text(encoding="utf-8").replace("`", "")
WRITE = {"calls": [{"name": "run_python", "arguments": {"code": "open('x', 'w')", "intent": "Write"}}]}
LOOK = {"calls": [{"name": "list_variables", "arguments": {}}]}
SCRIPTS = {
    "write.json": {"answers": [WRITE, "ok"]},
    "endless.json": {"answers": [LOOK], "loop": True},
    "slow.json": {"answers": ["slow " * 200], "delay": 0.05},
    "circles.json": {
        "answers": [{"calls": [{"name": "read_file", "arguments": {"path": "nothing.txt"}}]}],
        "loop": True,
    },
    "tired.json": ["ok", {"error": {"code": "overloaded", "message": "Too busy."}}, "ok"],
    "mute.json": ["ok", *[{"error": {"code": "auth", "message": "No."}}] * 2],
    "missed.json": [
        {"text": "ok", "usage": {"cache_creation": 9000, "output": 1}},
        {"text": "ok", "usage": {"input": 9000, "output": 1}},
    ],
}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trouble")
    for name, script in SCRIPTS.items():
        (folder / name).write_text(json.dumps(script))
    with running_kernel(folder) as running:
        cell = running.run("%%zidane\nhi", allow_stdin=False)
        assert "Cell magic %%zidane not found" in cell.text.replace("`", "")
        cell = running.run("%load_ext zidane_lab\n%zidane /help", allow_stdin=False)
        assert "<a zidane prompt that was not sent" in cell.text
        running.folder = folder
        yield running


@pytest.mark.parametrize(
    ("symptom", "source"),
    [
        ("SyntaxError", "x = 1; %zidane hi"),
        ("There is no option --", "%zidane --verbose, what does it do?"),
        (
            "ask() waits for the answer, which would block the running event loop",
            "import zidane_lab\nzidane_lab.ask('hi')",
        ),
        ("AuthError: ANTHROPIC_API_KEY is not set", "%zidane --model anthropic hi"),
        (
            "NetworkError",
            "import os\nos.environ['OPENAI_BASE_URL'] = 'http://127.0.0.1:9/v1'\n%zidane --model openai/x hi",
        ),
        ("nobody is here to give it", "%zidane --model scripted/write.json go"),
        ("The run reached its limit", "%zidane --model scripted/endless.json --max-turns 2 go"),
        ("_console", "%zidane /session"),
        ("although it was refused", "%zidane --model scripted/circles.json go"),
        (
            "Trying again in",
            "%zidane --model scripted/tired.json hi\n%zidane --model scripted/tired.json again",
        ),
        ("CompactInvalidInputError", "%zidane /new\n%zidane /compact"),
        (
            "The conversation could not be compacted.",
            "%zidane /new\n%zidane /model scripted/mute.json\n%zidane hi\n%zidane /compact full",
        ),
        (
            "cache break",
            "%zidane /new\n%zidane --model scripted/missed.json hi\n%zidane --model scripted/missed.json --profile plan hi",
        ),
        ("A run is under way", "%zidane --model scripted/slow.json --bg go\n%zidane --model offline hi"),
    ],
)
def test_a_symptom_is_told_as_it_is_shown(kernel, symptom, source):
    assert symptom in PAGE
    cell = kernel.run(source, allow_stdin=False)
    shown = "\n".join([cell.text, *cell.error.get("traceback", ())])
    assert symptom in shown, shown
    if "--bg" in source:
        kernel.ok("%zidane /stop")


def test_a_session_in_use_is_told(kernel):
    with Session.create(sessions_folder(cwd=kernel.folder)) as session:
        session.append(Turn("user", (TextBlock("mine"),)))
        cell = kernel.run(f"%zidane /new\n%zidane /resume {session.id}", allow_stdin=False)
    assert "SessionLockedError: This session is being written by process" in PAGE
    assert "This session is being written by process" in cell.error["traceback"][0]


def test_every_symptom_has_a_remedy():
    for entry in PAGE.split("\n**")[1:]:
        assert "**\n: " in entry, entry
