"""The headless command, as a process: report, events, notebook, session, exit codes, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import nbformat
import psutil
import pytest
from nbclient import NotebookClient

from tests.kernels import running_kernel
from zidane_lab.session.session import Session

pytestmark = pytest.mark.kernel


def code(text, intent="step"):
    return {"calls": [{"name": "run_python", "arguments": {"code": text, "intent": intent}}]}


class Folder:
    """A folder to run the command in."""

    def __init__(self, path):
        self.path = path
        self.env = {**os.environ, "ZIDANE_HOME": str(path / "home"), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        self.env.pop("PYTHONWARNINGS", None)

    def command(self, *arguments, script=None):
        if script is not None:
            (self.path / "script.json").write_text(json.dumps(script))
            arguments = (*arguments, "--model", f"scripted/{self.path / 'script.json'}")
        return [sys.executable, "-m", "zidane_lab.cli.main", "run", *map(str, arguments)]

    def start(self, *arguments, script=None):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = self.command(*arguments, "--json", script=script)
        return subprocess.Popen(command, cwd=self.path, env=self.env, text=True, **pipes)

    def run(self, *arguments, script=None, text=""):
        done = subprocess.run(
            self.command(*arguments, script=script), check=False,
            cwd=self.path, env=self.env, input=text, capture_output=True, encoding="utf-8", timeout=120,
        )  # fmt: skip
        assert "Traceback (most recent call last)" not in done.stderr, done.stderr
        return done

    def notebook(self, name="out.ipynb"):
        notebook = nbformat.read(self.path / name, as_version=4)
        nbformat.validate(notebook)
        return notebook

    def session(self):
        (file,) = self.path.rglob("*.jsonl")
        with Session.open(file) as session:
            assert session.repairs == ()
            return session.turns, session.runs[-1], file


def until(process, event, *, seconds=0.5, **fields):
    """Read events until one fits, and give what it announces a moment to begin."""
    for line in process.stdout:
        told = json.loads(line)
        if told["event"] == event and all(told[key] == value for key, value in fields.items()):
            time.sleep(seconds)
            return
    raise AssertionError(process.communicate())


def ended(process):
    """Wait for the end; return the last event and what was said on standard error."""
    stdout, stderr = process.communicate(timeout=60)
    assert "Traceback" not in stderr, stderr
    return json.loads(stdout.splitlines()[-1]), stderr


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def sources(notebook, kind="code"):
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


# --- the whole of it --------------------------------------------------------------------------------


def test_a_run_reports_and_leaves_a_notebook_that_runs_again_with_the_same_results(folder):
    (folder.path / "tea prices.csv").write_text("kind,price\ngreen,3\nblack,5\n")
    script = [
        {"text": "First the *mean*.", **code("tea_prices.price.mean()", "mean")},
        code("import matplotlib.pyplot as plt\ntea_prices.plot.bar(x='kind')\nplt.show()\nprint('drawn')", "draw"),
        code("half = tea_prices.copy()\nhalf.no_such_column"),
        "The mean price is **4**.\x1b[2J",
    ]
    done = folder.run("What does tea cost?", "--data", "tea prices.csv", "--output", "out.ipynb", script=script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "The mean price is **4**.[2J\n"
    assert "run_python: mean" in done.stderr
    assert "AttributeError" in done.stderr

    notebook = folder.notebook()
    texts = sources(notebook, "markdown")
    assert texts[0].startswith("> What does tea cost?\n\n*Answered by zidane")
    assert texts[1:] == ["First the *mean*.", "*draw*", "The mean price is **4**.\x1b[2J"]
    load, mean, _draw = sources(notebook)
    assert load == "import pandas as pd\n\ntea_prices = pd.read_csv('tea prices.csv')\ntea_prices.head()"
    assert mean == "tea_prices.price.mean()"
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [1, 2, 3]
    assert any("image/png" in output.get("data", {}) for output in cells[2].outputs)
    assert (notebook.metadata.kernelspec.name, notebook.metadata.language_info.name) == ("python3", "python")

    again = folder.notebook()
    for cell in again.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    resources = {"metadata": {"path": str(folder.path)}}
    NotebookClient(again, timeout=60, record_timing=False, resources=resources).execute()
    assert again.cells == notebook.cells

    turns, record, file = folder.session()
    assert file.parent.name == "out"
    assert record.status == "completed"
    assert "`tea_prices`" in turns[0].text


def test_json_lines_tell_the_whole_run_and_only_that(folder):
    script = [code("print('hello')"), {"text": "Done.", "usage": {"input": 10, "output": 5}}]
    done = folder.run("-", "--json", script=script, text="From standard input\n")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    names = [event["event"] for event in events]
    assert names[0] == "agent:start"
    assert names[-2:] == ["agent:done", "result"]
    assert {"turn:user", "turn:after", "tool:before", "tool:after", "stream:text"} <= set(names)
    assert not {"context:transform", "system:transform", "tool:gate", "tool:transform"} & set(names)
    assert events[0]["prompt"] == "From standard input"
    assert {event["run_id"] for event in events[:-1]} == {"run_1"}
    before, after = (next(e for e in events if e["event"] == name) for name in ("tool:before", "tool:after"))
    assert before["call_id"] == after["call_id"] == after["result"]["call_id"]
    assert before["turn_id"] in {event["turn"]["id"] for event in events if event["event"] == "turn:after"}
    final = events[-1]
    assert (final["status"], final["exit_code"], final["text"]) == ("completed", 0, "Done.")
    assert (final["usage"]["input"], final["usage"]["output"]) == (10, 5)
    assert (final["refused"], final["output"], final["error"]) == ([], None, None)
    turns, _, file = folder.session()
    assert final["session"] == str(file)
    assert turns[-1].text == "Done."


# --- approvals --------------------------------------------------------------------------------------


def test_what_needs_leave_is_refused_where_nobody_can_give_it(folder):
    script = [code("import os\nos.remove('kept.txt')", "tidy"), "I would have removed it."]
    (folder.path / "kept.txt").touch()
    done = folder.run("Tidy up", "--strict", "--json", script=script)
    assert done.returncode == 4
    assert "refused: run_python: " in done.stderr
    assert (folder.path / "kept.txt").exists()
    final = json.loads(done.stdout.splitlines()[-1])
    assert (final["status"], final["exit_code"]) == ("completed", 4)
    (refusal,) = final["refused"]
    assert refusal["tool"] == "run_python"
    assert "os.remove" in refusal["reason"]
    done = folder.run("Tidy up", "--output", "out.ipynb", script=script)
    assert (done.returncode, done.stdout) == (0, "I would have removed it.\n")
    assert "refused: run_python: " in done.stderr
    assert sources(folder.notebook()) == []


# --- stopping and failing ---------------------------------------------------------------------------


def test_a_kernel_that_dies_ends_the_run_with_everything_kept(folder):
    script = [{"text": "One.", **code("x = 1\nx")}, code("import time; time.sleep(60)", "wait"), "Not to be asked for."]
    process = folder.start("Die", "--output", "out.ipynb", script=script)
    until(process, "tool:before", input={"code": "import time; time.sleep(60)", "intent": "wait", "timeout": None})
    for child in psutil.Process(process.pid).children():
        child.kill()
    final, stderr = ended(process)
    assert process.returncode == 1
    assert (final["status"], final["error_code"]) == ("error", "kernel_lost")
    assert "SIGKILL" in stderr
    assert sources(folder.notebook()) == ["x = 1\nx"]
    turns, record, _ = folder.session()
    assert record.status == "aborted"
    assert len(turns) == 5
    assert "SIGKILL" in turns[-1].tool_results[0].text


@pytest.mark.parametrize(
    ("number", "expected", "blocking"),
    [
        (signal.SIGINT, 130, "import time; time.sleep(60)"),
        (signal.SIGTERM, 143, "import asyncio; await asyncio.sleep(60)"),
    ],
)
def test_a_signal_stops_the_run_and_keeps_what_is_done(folder, number, expected, blocking):
    script = [code("done = 1\ndone"), code(blocking, "wait"), "never"]
    process = folder.start("Wait", "--output", "out.ipynb", script=script)
    until(process, "tool:before", input={"code": blocking, "intent": "wait", "timeout": None})
    moment = time.monotonic()
    process.send_signal(number)
    final, _ = ended(process)
    assert time.monotonic() - moment < 15
    assert process.returncode == final["exit_code"] == expected
    assert final["status"] == "aborted"
    assert sources(folder.notebook()) == ["done = 1\ndone"]
    turns, record, _ = folder.session()
    assert record.status == "aborted"
    assert turns[-1].tool_results[0].is_error


def test_a_second_signal_ends_a_kernel_that_will_not_stop(folder):
    stubborn = "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        pass"
    process = folder.start("Wait", "--output", "out.ipynb", script=[{"text": "So.", **code(stubborn)}])
    until(process, "tool:before")
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    ended(process)
    assert process.returncode == 130
    assert "So." in sources(folder.notebook(), "markdown")


def test_a_signal_while_the_model_speaks_keeps_what_it_said(folder):
    script = {"answers": ["word " * 400], "delay": 0.05, "chunk_size": 5}
    process = folder.start("Talk", "--output", "out.ipynb", script=script)
    until(process, "stream:text")
    process.send_signal(signal.SIGINT)
    final, _ = ended(process)
    assert (final["event"], final["status"], final["exit_code"], process.returncode) == ("result", "aborted", 130, 130)
    assert sources(folder.notebook(), "markdown")[1].startswith("word")


def test_a_signal_before_anything_was_asked_leaves_nothing_behind(folder):
    process = folder.start("Talk", "--output", "out.ipynb", script=["never"])
    assert process.stderr.readline().startswith("starting the kernel")
    process.send_signal(signal.SIGTERM)
    final, _ = ended(process)
    assert (final["status"], process.returncode) == ("aborted", 143)
    assert sorted(path.name for path in folder.path.iterdir() if path.name != "home") == ["script.json"]


def test_a_budget_has_its_own_code_and_a_failing_service_too(folder):
    script = [code("1"), code("2"), "never"]
    done = folder.run("Go", "--max-turns", "1", "--output", "out.ipynb", script=script)
    assert done.returncode == 3, done.stderr
    assert "turns budget" in done.stderr
    assert sources(folder.notebook()) == ["1"]
    script = [{"text": "I begin", "error": {"code": "bad_request", "message": "No such model."}}]
    done = folder.run("Go", "--output", "other.ipynb", "--quiet", script=script)
    assert done.returncode == 1
    assert done.stderr.startswith("No such model.")
    assert done.stdout == ""
    assert "I begin" in sources(folder.notebook("other.ipynb"), "markdown")


def test_a_reader_that_goes_away_early_breaks_nothing(folder):
    process = folder.start("Talk", "--output", "out.ipynb", script=["word " * 200])
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == 0
    stderr = process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    assert "BrokenPipe" not in stderr
    assert "Traceback" not in stderr
    assert sources(folder.notebook(), "markdown")[1].startswith("word")


def test_data_that_cannot_be_loaded_is_said_and_older_notebooks_survive_a_start_that_fails(folder):
    (folder.path / "bad.parquet").write_text("not parquet")
    done = folder.run("Look", "--data", "bad.parquet", "--output", "out.ipynb", script=["never"])
    assert done.returncode == 2
    assert "bad.parquet cannot be loaded" in done.stderr
    (cell,) = [cell for cell in folder.notebook().cells if cell.cell_type == "code"]
    assert cell.metadata.tags == ["raises-exception"]
    older = (folder.path / "out.ipynb").read_bytes()
    done = folder.run("Look", "--kernel", "no-such-kernel", "--output", "out.ipynb", "--json", script=["never"])
    assert done.returncode == 2
    assert json.loads(done.stdout)["error_code"] == "configuration"
    assert (folder.path / "out.ipynb").read_bytes() == older


# --- joining ----------------------------------------------------------------------------------------


def test_a_joined_kernel_keeps_its_variables_and_goes_on(folder):
    (folder.path / "theirs.csv").write_text("a\n1\n")
    with running_kernel(folder.path) as kernel:
        kernel.ok("theirs = 'untouched'\nimport subprocess as sp")
        script = [
            code("ours = theirs + '!'\nours"),
            code("theirs = 'lost'"),
            code("sp.run(['touch', 'made'])"),
            "Joined.",
        ]
        file = kernel.manager.connection_file
        done = folder.run("Join", "--existing", file, "--data", "theirs.csv", "--output", "out.ipynb", script=script)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("refused: run_python: ") == 2
        assert not (folder.path / "made").exists()
        assert kernel.value("(theirs, ours, len(theirs_2))") == ("untouched", "untouched!", 1)
    load, used = sources(folder.notebook())
    assert f"theirs_2 = pd.read_csv({str(folder.path / 'theirs.csv')!r})" in load
    assert used == "ours = theirs + '!'\nours"


def test_a_credential_in_the_prompt_or_the_data_is_in_nothing_that_is_written(folder):
    key = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    script = [code(f"token = '{key}'; print(token); token"), "Done."]
    done = folder.run(f"My token is {key}", "--output", "out.ipynb", "--json", script=script)
    assert done.returncode == 0, done.stderr
    for text in (done.stdout, done.stderr, (folder.path / "out.ipynb").read_text()):
        assert key not in text
    kept = [path.read_text() for path in (folder.path / ".zidane").rglob("*") if path.is_file()]
    assert kept
    assert not any(key in text for text in kept)
    assert "My token is [secret:github-token:" in (folder.path / "out.ipynb").read_text()
