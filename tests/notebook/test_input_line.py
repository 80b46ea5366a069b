"""A line that is typed, and one that is taken back while the main thread waits for it."""

from __future__ import annotations

import builtins
import signal
import threading
import time
from types import SimpleNamespace

import pytest

from zidane_lab.notebook.input_line import InputLine

pytestmark = pytest.mark.slow  # signals reach the main thread, which is another one where tests run in parallel

KERNEL = SimpleNamespace(kernel=object())


@pytest.fixture
def interrupts():
    return []


@pytest.fixture
def line(interrupts):
    return InputLine(KERNEL, forced=False, on_interrupt=lambda: interrupts.append("person"))


@pytest.fixture
def waits(monkeypatch):
    """An input that waits until it is interrupted; the event says that it waits."""
    waiting = threading.Event()

    def wait(_prompt):
        waiting.set()
        time.sleep(20)
        return "typed"

    monkeypatch.setattr(builtins, "input", wait)
    return waiting


@pytest.fixture
def polls(monkeypatch):
    """The same as a kernel's input does it, which looks around a hundred times a second."""
    waiting = threading.Event()

    def wait(_prompt):
        waiting.set()
        for _ in range(2_000):
            time.sleep(0.01)
        return "typed"

    monkeypatch.setattr(builtins, "input", wait)
    return waiting


def later(event, action):
    def run():
        assert event.wait(10)
        action()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_what_is_typed_is_returned_and_the_handler_is_put_back(line, monkeypatch):
    monkeypatch.setattr(builtins, "input", lambda prompt: prompt + "y")
    before = signal.getsignal(signal.SIGINT)
    assert line.read("Allow it? ") == "Allow it? y"
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("error", [EOFError, OSError, RuntimeError])
def test_nobody_there_is_no_line(line, monkeypatch, error, interrupts):
    def fail(_prompt):
        raise error

    monkeypatch.setattr(builtins, "input", fail)
    assert line.read("?") is None
    assert interrupts == []


def test_a_line_that_waits_is_taken_back(line, waits, interrupts):
    begun = time.monotonic()
    thread = later(waits, line.drop)
    assert line.read("?") is None
    thread.join()
    assert time.monotonic() - begun < 10
    assert interrupts == []
    assert line.read("again?") is None


def test_a_person_who_interrupts_is_told_apart(line, polls, interrupts):
    thread = later(polls, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT))
    assert line.read("?") is None
    thread.join()
    assert interrupts == ["person"]


def test_what_is_taken_back_before_or_after_interrupts_nobody(line, monkeypatch, interrupts):
    monkeypatch.setattr(builtins, "input", lambda _prompt: "y")
    assert line.read("?") == "y"
    line.drop()
    time.sleep(0.02)
    assert line.read("?") is None
    assert interrupts == []


def test_many_races_leave_no_signal_behind(monkeypatch):
    """Whenever it is taken back, no interrupt reaches what comes after."""
    monkeypatch.setattr(builtins, "input", lambda _prompt: time.sleep(0.001) or "y")
    for number in range(300):
        line = InputLine(KERNEL, forced=False, on_interrupt=lambda: pytest.fail("stopped"))
        timer = threading.Timer(number % 30 / 10_000, line.drop)
        timer.start()
        assert line.read("?") in ("y", None)
        timer.join()


def test_a_terminal_that_is_none_is_not_read(monkeypatch, interrupts):
    monkeypatch.setattr("sys.stdin", None)
    shell = SimpleNamespace()
    assert InputLine(shell, forced=False, on_interrupt=interrupts.append).read("?") is None
