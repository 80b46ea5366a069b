"""``jupyter zidane run`` at a terminal asks as a notebook does; where nobody is, policy decides and the report says so."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest

from tests.cli.test_run import Folder, code
from zidane_lab.session.interactions import INTERACTION_ANSWER

pytestmark = pytest.mark.kernel

REMOVE = code("import os\nos.remove('kept.txt')", "tidy")
QUESTIONS = {
    "calls": [
        {
            "name": "ask_user",
            "arguments": {
                "questions": [
                    {"id": "lib", "question": "Which library?", "options": [{"label": "pandas"}, {"label": "polars"}], "recommended": 1},
                    {"id": "why", "question": "What for?"},
                ]
            },
        }
    ]
}  # fmt: skip
PLAN = {
    "calls": [
        {"name": "present_plan", "arguments": {"title": "Clean up", "steps": [{"title": "Read"}, {"title": "Drop"}]}}
    ]
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kept.txt").touch()
    return Folder(tmp_path)


class AtTerminal:
    """The command in a terminal of its own; its report goes to a file."""

    def __init__(self, folder, *arguments, script):
        self.master, slave = pty.openpty()
        self.report = (folder.path / "report.txt").open("w")
        self.process = subprocess.Popen(
            folder.command(*arguments, script=script), cwd=folder.path, env=folder.env,
            stdin=slave, stderr=slave, stdout=self.report, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.seen = ""

    def answer(self, words, typed):
        """Wait until something is asked, and type the answer."""
        self.wait_for(words)
        os.write(self.master, f"{typed}\n".encode())

    def wait_for(self, words):
        end, start = time.monotonic() + 60, len(self.seen)
        while not re.search(words, self.seen[start:]):
            assert time.monotonic() < end, self.seen
            assert self.process.poll() is None, self.seen
            self._look()

    def end(self):
        end = time.monotonic() + 60
        while self.process.poll() is None:
            assert time.monotonic() < end, self.seen
            self._look()
        self._look()
        self.report.close()
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.report.close()
        os.close(self.master)

    def _look(self):
        if select.select([self.master], [], [], 0.1)[0]:
            try:
                self.seen += os.read(self.master, 65536).decode(errors="replace").replace("\r", "")
            except OSError:  # the other end has closed
                time.sleep(0.05)


@pytest.fixture
def at_terminal(folder):
    started = []

    def start(*arguments, script):
        started.append(AtTerminal(folder, *arguments, script=script))
        return started[-1]

    yield start
    for each in started:
        each.close()


def answers(folder):
    (file,) = folder.path.rglob("*.jsonl")
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    return [entry["data"] for entry in entries if entry["type"] == "custom" and entry["kind"] == INTERACTION_ANSWER]


@pytest.mark.parametrize(("typed", "there"), [("y", False), ("n keep it", True)])
def test_a_permission_is_asked_for_at_the_terminal(folder, at_terminal, typed, there):
    run = at_terminal("Tidy up", "--strict", script=[REMOVE, "Done."])
    run.answer(r"Allow it\? ", typed)
    assert run.end() == (4 if there else 0)
    assert "    os.remove('kept.txt')\nzidane wants to use run_python: tidy\n" in run.seen
    assert (folder.path / "kept.txt").exists() == there
    assert [each["by"] for each in answers(folder)] == ["stdin"]
    assert (folder.path / "report.txt").read_text() == "Done.\n"


def test_questions_plans_and_budgets_are_asked_too(folder, at_terminal):
    run = at_terminal("Go", "--max-turns", "2", "--json", script=[QUESTIONS, PLAN, "Done."])
    run.answer(r"2\. polars \(Recommended\)\nNumber", "")
    run.answer(r"What for\?", "a report")
    run.answer(r"Approve it\?", "e")
    run.answer(r"with ; between them", "Read; Count")
    run.answer(r"with a limit of 4 turns[^?]*\?", "y")
    assert run.end() == 0, run.seen
    asked, plan, budget = answers(folder)
    assert asked["value"] == {"answers": {"lib": {"selected": ["polars"]}, "why": "a report"}}
    assert plan["value"]["steps"] == ["Read", "Count"]
    assert budget["value"]["decision"] == "once"
    final = json.loads((folder.path / "report.txt").read_text().splitlines()[-1])
    assert (final["status"], final["refused"]) == ("completed", [])


def test_a_budget_that_is_not_extended_ends_the_run(folder, at_terminal):
    run = at_terminal("Go", "--max-turns", "1", script=[code("1"), "never"])
    run.answer(r"with a limit of 2 turns[^?]*\?", "n")
    assert run.end() == 3


def test_an_interrupt_instead_of_an_answer_ends_the_run(folder, at_terminal):
    run = at_terminal("Tidy up", script=[REMOVE, "never"])
    run.wait_for(r"Allow it\? ")
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 130
    assert (folder.path / "kept.txt").exists()
    assert [each["by"] for each in answers(folder)] == ["stop"]


def test_nobody_is_asked_by_setting_and_the_report_tells_what_was_refused(folder, at_terminal):
    folder.env["ZIDANE_INTERACTION"] = "none"
    run = at_terminal("Go", "--json", "--strict", script=[QUESTIONS, PLAN, REMOVE, "Done."])
    assert run.end() == 4
    assert "Allow it?" not in run.seen
    lines = (folder.path / "report.txt").read_text().splitlines()
    (refused,) = json.loads(lines[-1])["refused"]
    assert (refused["tool"], json.loads(lines[-1])["exit_code"]) == ("run_python", 4)
    assert "Go on with what you recommended (lib: polars)" in "".join(lines)
    assert [each["value"] for each in answers(folder)] == [None] * 3


def test_without_a_terminal_nobody_is_asked_whatever_is_piped_in(folder):
    done = folder.run("Go", "--json", "--strict", script=[QUESTIONS, REMOVE, "Done."], text="1\ny\ny\n")
    assert done.returncode == 4
    (refused,) = json.loads(done.stdout.splitlines()[-1])["refused"]
    assert refused["tool"] == "run_python"
    assert (folder.path / "kept.txt").exists()


def test_standard_input_can_be_forced(folder):
    folder.env["ZIDANE_INTERACTION"] = "stdin"
    done = folder.run("Go", script=[QUESTIONS, REMOVE, "Done."], text="1\na report\ny\n")
    assert done.returncode == 0, done.stderr
    assert not (folder.path / "kept.txt").exists()
    assert answers(folder)[0]["value"]["answers"]["why"] == "a report"
