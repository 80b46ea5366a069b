"""A day with all tools in a real kernel, with nobody there to ask: cards, results, interrupts, two kernels."""

from __future__ import annotations

import json
import re
from collections import Counter

import psutil
import pytest

from tests.kernels import running_kernel
from tests.notebook.test_magics import Book, python

pytestmark = pytest.mark.kernel

KEY = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
NOBODY = {"ZIDANE_INTERACTION": "none", "ZIDANE_MODE": "accept-edits", "PAGE_TOKEN": KEY}
HELPERS = ("watchman.py", "worker.py", "child.py")


def calling(name, /, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


def placeholder(book):
    """Have the kernel say what stands for the credential."""
    book.ask("say", calling("read_file", path="data.csv"), {"text": "It is there."})
    return re.search(r"\[secret:[^\]]+\]", results(book)[-1]["parts"][0]["text"])[0]


def results(book):
    return [block for turn in book.turns() for block in turn["blocks"] if block["kind"] == "tool_result"]


def check(book):
    """Every call has one result, and what is kept holds no credential."""
    blocks = [block for turn in book.turns() for block in turn["blocks"]]
    calls = Counter(block["id"] for block in blocks if block["kind"] == "tool_call")
    assert calls == Counter(block["call_id"] for block in blocks if block["kind"] == "tool_result")
    assert set(calls.values()) == {1}
    for path in book.folder.glob(".zidane/sessions/**/*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def left_running(book):
    lines = [" ".join(child.cmdline()) for child in psutil.Process(book.kernel.pid).children(recursive=True)]
    return [line for line in lines if line and not any(name in line for name in HELPERS)]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hands")
    with running_kernel(folder, env=NOBODY) as kernel:
        kernel.ok("%load_ext zidane_lab")
        yield Book(kernel, folder)


@pytest.fixture
def book(shared):
    shared.kernel.ok("%zidane /new")
    yield shared
    assert left_running(shared) == []


def test_a_day(book):
    (book.folder / "data.csv").write_text(f"a,b\n1,2\n# {KEY}\n")
    p = placeholder(book)
    answers = [
        calling("read_file", path="data.csv"),
        calling("grep", pattern=p),
        calling("write_file", path="load.py", content=f"import pandas\nTOKEN = '{p}'\nf(1)\n"),
        calling("edit", path="load.py", old_string=f"'{p}'", new_string=f"'{p}!'"),
        calling("multi_edit", path="load.py", edits=[{"old_string": "f(1)", "new_string": "f(2)"}], preview=True),
        calling("resolve", action="apply", reason="fine"),
        calling("ast_grep", pattern="f($X)"),
        calling("undo_edit"),
        {"calls": [python(f"rows = open('data.csv').read().count('{p}')\nprint(rows, '{p}')", "Count")]},
        calling("shell", command=f"grep -c '{p}' data.csv"),
        calling("shell", command=f"echo start '{p}'; sleep 0.2; echo end", background=True),
        calling("wait_task", seconds=20),
        calling("monitor", description="ready", command="echo ready; sleep 30"),
        calling("list_tasks"),
        calling("cancel_task", task="task-2"),
        calling("shell", command="rm data.csv"),
        calling("fetch_url", url=f"http://127.0.0.1/{p}"),
        calling("ask_user", questions=[{"question": "Go on?", "type": "confirm"}]),
        calling("present_plan", title="Plan", steps=[{"title": "one"}]),
    ]
    cell = book.ask("Work.", *answers, *[{"text": "All done."}] * 3)
    check(book)
    names, given = [answer["calls"][0]["name"] for answer in answers], results(book)[1:]
    texts = [result["parts"][0]["text"] for result in given]
    refused = [name for name, result in zip(names, given, strict=True) if result.get("is_error")]
    assert refused == ["shell", "fetch_url"]
    assert KEY not in json.dumps([message["content"] for message in cell.messages])
    assert (book.folder / "load.py").read_text() == f"import pandas\nTOKEN = '{KEY}!'\nf(1)\n"
    assert book.kernel.value("rows") == 1
    assert texts[names.index("grep")].startswith(f"data.csv\n3: # {p}\n")
    assert "hash" not in cell.text
    drawn = re.findall(r"^[✓⊘✗] .*\((\w+)(?: ·|\)$)", cell.text, re.MULTILINE)
    assert Counter(drawn) == Counter(names), "each call has one card"


def test_every_tool_that_takes_long_can_be_stopped(book):
    (book.folder / "Makefile").write_text("slow:\n\t@touch begun; sleep 31\n")
    book.kernel.ok("%zidane /approvals allow shell:make:*")
    long = [
        calling("shell", command="touch begun; sleep 33"),
        calling("recipe", op="slow"),
        {"calls": [python("import time\ntime.sleep(32)")]},
        {"calls": [*calling("shell", command="touch begun; sleep 34", background=True)["calls"], WAIT]},
    ]
    begun = book.folder / "begun"
    for call in long:
        begun.unlink(missing_ok=True)
        code = book.cell("Go.", {**call, "calls": [*call["calls"], *LATER]}, {"text": "Never."})
        if call["calls"][0]["name"] == "run_python":
            book.kernel.ok(f"import threading; threading.Timer(1, open, ({str(begun)!r}, 'w')).start()")
        moments = book.kernel.interrupt_when(begun.exists)
        cell = book.kernel.run(code)
        assert moments, cell.text
        assert "Never." not in cell.text
        check(book)
        last = results(book)[-1]["parts"][0]["text"]
        assert last.startswith("[Request interrupted by user"), last
        assert not (book.folder / "later.txt").exists()
        begun_as = re.findall(r"started in the background as (task-\d+)", json.dumps(results(book)))
        ends = [calling("cancel_task", task=name) for name in begun_as]
        cell = book.ask("And?", *ends, *[{"text": "All is well."}] * 3)
        assert "All is well." in cell.text
        book.kernel.ok("%zidane /new")


WAIT = {"name": "wait_task", "arguments": {"seconds": 30}}
LATER = calling("write_file", path="later.txt", content="no")["calls"]


def test_a_folder_that_is_removed_under_the_kernel(book):
    book.kernel.ok("import os; home = os.getcwd(); os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')")
    cell = book.kernel.run(book.cell("Hello?", {"text": "Hi."}))
    assert "working folder cannot be used" in f"{cell.text}{cell.error}"
    assert "Traceback" not in cell.text
    book.kernel.ok("os.chdir(home)")
    assert "Hi." in book.ask("Hello?", {"text": "Hi."}).text


def test_two_kernels_on_one_session(book):
    book.ask("Write.", calling("write_file", path="one.txt", content="1\n"), {"text": "Written."})
    with running_kernel(book.folder, env=NOBODY) as kernel:
        kernel.ok("%load_ext zidane_lab")
        other = Book(kernel, book.folder)
        other.count = 500
        refused = kernel.run("%zidane /resume")
        assert "being written" in f"{refused.text}{refused.error}"
        kernel.ok("%zidane /branch")
        cell = other.ask("Take it back.", calling("undo_edit"), {"text": "Taken back."})
        assert "Taken back." in cell.text
    assert "one.txt" in json.dumps(book.session())
    book.ask("Go on.", calling("list_files"), {"text": "Fine."})
    check(book)
