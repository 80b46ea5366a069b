"""The list of what we have started, and the watchman that ends it when we cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from zidane_lab.contexts import owned
from zidane_lab.contexts.watchman import watch

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no process groups")


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    yield reading, lambda data: os.write(writing, data), lambda: os.close(writing)
    os.close(reading)


def test_orders_are_followed_until_the_pipe_breaks(pipe):
    reading, write, close = pipe
    write(b"+ 4711\n+ 47")
    write(b"12\n- 4711\nnonsense\n+ 1\n+ 0\n+ -5\n+ x\n+ 4713")  # the last one is torn
    close()
    assert watch(reading, os.getppid()) == {4712}


def test_a_kernel_that_was_gone_before_the_watchman_came_up_is_cleaned_up_behind(pipe):
    """Its orders are in the pipe; a fork of it may hold the other end open for ever."""
    reading, write, close = pipe
    write(b"+ 4711\n" * 3000 + b"+ 4712\n")
    found = []
    watching = threading.Thread(target=lambda: found.append(watch(reading, os.getppid() + 1)), daemon=True)
    watching.start()
    watching.join(10)
    assert found == [{4711, 4712}]
    close()


def test_the_list_says_whose_and_what(monkeypatch):
    monkeypatch.setattr(owned._BOOK, "prepare", lambda: None)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as process:
        owned.own(process.pid, "a command", session_id="s1")
        owned.describe(process.pid, role="task", label="train")
        (entry,) = owned.owned_processes("s1")
        assert (entry.pid, entry.role, entry.label) == (process.pid, "task", "train")
        assert owned.owned_processes("s2") == ()
        assert owned.end_owned("s2", grace=0) == 0
        assert owned.end_owned("s1", grace=1) == 1
        assert owned.owned_processes("s1") == ()
        assert process.wait(10) != 0
    owned.describe(process.pid, role="task", label="gone")
    owned.disown(process.pid)
    assert owned.owned_processes("s1") == ()
