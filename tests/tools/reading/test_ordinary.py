"""Only ordinary files are opened: nothing waits, nothing is used up."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.glob import glob
from zidane_lab.tools.grep import grep
from zidane_lab.tools.ignore import IgnoreRules
from zidane_lab.tools.list_files import list_files
from zidane_lab.tools.read_file import read_file
from zidane_lab.tools.reading import ordinary
from zidane_lab.tools.reading.files import LocalFiles
from zidane_lab.tools.reading.ordinary import objection, open_ordinary


@pytest.fixture
def odd(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    door = socket.socket(socket.AF_UNIX)
    door.bind(str(tmp_path / "door"))
    (tmp_path / "link").symlink_to("pipe")
    yield tmp_path
    door.close()


KINDS = {"pipe": "a named pipe", "door": "a socket", "link": "a named pipe", "/dev/null": "a character device"}


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_what_is_no_ordinary_file_is_named_and_not_opened(odd, name, kind, monkeypatch):
    opened = []
    monkeypatch.setattr(ordinary.os, "open", lambda path, flags: opened.append(path))
    context = ToolContext(cwd=odd)
    for rest in ("", ":1-2", ":raw", ":b0"):
        with pytest.raises(ToolError, match=f"is {kind}"):
            read_file(context, f"{name}{rest}")
    with pytest.raises(ToolError, match=f"is {kind}"):
        asyncio.run(grep(context, "x", path=name))
    with pytest.raises(ToolError, match=f"is {kind}"):
        list_files(context, name)
    with pytest.raises(OSError, match=kind):
        LocalFiles(odd).open(str(odd / name))
    assert not opened


def test_what_becomes_a_pipe_after_it_was_looked_at_is_not_waited_for(odd, monkeypatch):
    status = (odd / "..").stat
    (odd / "file").write_text("x")
    monkeypatch.setattr(ordinary.os, "stat", lambda path: os.lstat(odd / "file"))
    with pytest.raises(OSError, match="a named pipe"):
        open_ordinary(odd / "pipe")
    assert status


def test_they_are_listed_as_what_they_are(odd):
    listed = list_files(ToolContext(cwd=odd))
    assert "pipe  (a named pipe)" in listed
    assert "door  (a socket)" in listed
    (part,) = read_file(ToolContext(cwd=odd), ".").parts
    assert "pipe  (a named pipe)" in part.text


@pytest.mark.parametrize(
    "path",
    [
        "/proc/kmsg",
        "/proc/kcore",
        "/proc/1/mem",
        "/proc/self/task/7/mem",
        "/proc/kpagecount",
        "/proc/77/pagemap",
        "/sys/kernel/tracing/trace_pipe",
        "/sys/kernel/debug/tracing/per_cpu/cpu0/trace_pipe_raw",
    ],
)
def test_files_that_are_used_up_or_never_end_are_refused(path):
    assert objection(path)


@pytest.mark.parametrize("path", ["/proc/self/status", "/proc/cpuinfo", "/home/proc/kmsg", "/proc/kmsg.txt", "/x/mem"])
def test_others_are_not(path):
    assert objection(path) is None


def test_a_link_to_one_is_refused_too(tmp_path):
    if not Path("/proc/self/mem").exists():
        pytest.skip("no /proc here")
    (tmp_path / "memory").symlink_to("/proc/self/mem")
    for path in ("memory", "/proc/self/mem"):
        with pytest.raises(ToolError, match="a file that the system makes up"):
            read_file(ToolContext(cwd=tmp_path), path)


def test_rules_in_a_pipe_are_no_rules(tmp_path):
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "a.txt").write_text("x")
    assert not IgnoreRules.at(tmp_path).layers
    assert "a.txt" in list_files(ToolContext(cwd=tmp_path))
    assert "a.txt" in glob(ToolContext(cwd=tmp_path), "*")
