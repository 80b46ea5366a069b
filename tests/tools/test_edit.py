from __future__ import annotations

import asyncio
import os

import pytest

from tests.tools.edits.support import KINDS, Bench
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.errors import ToolError
from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edit import edit_tool
from zidane_lab.tools.edits.changes import change_log_of
from zidane_lab.turns import TextBlock


@pytest.fixture(params=KINDS)
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)


def test_one_place_is_replaced_and_the_diff_kept(bench):
    bench.put("a.py", "x = 1\ny = 2\n")
    output = bench.run(edit_tool, path="a.py", old_string="y = 2", new_string="y = 3")
    assert output.parts == (TextBlock("Edited a.py: replaced 1 place, line 2."),)
    assert bench.get("a.py") == b"x = 1\ny = 3\n"
    assert output.metadata["written"] == [bench.path("a.py")]
    edit = output.metadata["edit"]
    assert edit["diff"] == "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3\n"
    assert (edit["added"], edit["removed"], edit["files"][0]["first_line"]) == (1, 1, 2)


def test_all_places_when_asked(bench):
    bench.put("a.py", "x\nx\nx\n")
    text = bench.say(edit_tool, path="a.py", old_string="x", new_string="y", replace_all=True)
    assert text == "Edited a.py: replaced 3 places, lines 1, 2, 3."
    assert bench.get("a.py") == b"y\ny\ny\n"


def test_several_places_otherwise_are_an_error_and_nothing_happens(bench):
    bench.put("a.py", "x\nx\n")
    with pytest.raises(ToolError, match="2 times: at lines 1, 2"):
        bench.run(edit_tool, path="a.py", old_string="x", new_string="y")
    assert bench.get("a.py") == b"x\nx\n"


def test_a_forgiven_match_is_said(bench):
    bench.put("a.py", "if x:\n    y\n")
    text = bench.say(edit_tool, path="a.py", old_string="  y  ", new_string="  z")
    assert text.endswith("\n[matched line 2 apart from indentation; the new text was indented like the file]")
    assert bench.get("a.py") == b"if x:\n    z\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("ä\r\nb\r\nc", "ä\r\nB\r\nB\r\nc"),
        ("ä\nb\r\nc\n", "ä\nB\nB\r\nc\n"),
        ("\ufeffä\nb\n", "\ufeffä\nB\nB\n"),
        ("ä\rb\r", "ä\rB\rB\r"),
    ],
)
def test_every_byte_outside_the_edit_stays(bench, data, expected):
    bench.put("a.txt", data)
    bench.run(edit_tool, path="a.txt", old_string="b", new_string="B\nB")
    assert bench.get("a.txt").decode() == expected


def test_a_latin_1_file_keeps_its_bytes(bench):
    bench.put("a.txt", b"caf\xe9\nx\n")
    bench.run(edit_tool, path="a.txt", old_string="x", new_string="é")
    assert bench.get("a.txt") == b"caf\xe9\n\xe9\n"
    with pytest.raises(ToolError, match="latin-1"):
        bench.run(edit_tool, path="a.txt", old_string="café", new_string="→")
    assert bench.get("a.txt") == b"caf\xe9\n\xe9\n"


def test_a_notebook_is_left_to_its_editor(bench):
    bench.put("a.ipynb", '{"cells": []}')
    with pytest.raises(ToolError, match=r"notebook.*never written\. Change its cells"):
        bench.run(edit_tool, path="a.ipynb", old_string="[]", new_string="[1]")


@pytest.mark.parametrize("new", ["", "inserted\n"])
def test_a_change_between_look_and_write_is_not_lost(tmp_path, monkeypatch, new):
    bench = Bench("process", tmp_path)
    bench.put("a.txt", "one\ntwo\n")
    read = LocalProcess.read

    async def slow(self, path, *arguments):
        data = await read(self, path, *arguments)
        (tmp_path / "a.txt").write_text("theirs, longer\n")
        return data

    monkeypatch.setattr(LocalProcess, "read", slow)
    with pytest.raises(ToolError, match="somebody else just now; nothing was written"):
        bench.run(edit_tool, path="a.txt", old_string="two\n", new_string=new)
    assert (tmp_path / "a.txt").read_text() == "theirs, longer\n"
    assert change_log_of(bench.context).standing() == ()


@pytest.mark.asyncio
async def test_a_stop_in_the_middle_lets_the_write_end(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("one\n")
    place, writing, go = LocalProcess(tmp_path), asyncio.Event(), asyncio.Event()
    write = place.write

    async def slow(path, data, *, mode=None):
        writing.set()
        await go.wait()
        await write(path, data, mode=mode)

    monkeypatch.setattr(place, "write", slow)
    context = ToolContext(cwd=tmp_path, outputs=Session.memory(), place=place)
    task = asyncio.create_task(edit_tool().run(context, {"path": "a.txt", "old_string": "one", "new_string": "two"}))
    await writing.wait()
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (tmp_path / "a.txt").read_text() == "two\n"
    assert len(change_log_of(context).standing()) == 1


def test_no_draft_is_left_when_the_write_fails(tmp_path, monkeypatch):
    bench = Bench("none", tmp_path)
    bench.put("a.txt", "one\n")

    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(ToolError, match="No space left on device"):
            bench.run(edit_tool, path="a.txt", old_string="one", new_string="two")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert bench.get("a.txt") == b"one\n"
