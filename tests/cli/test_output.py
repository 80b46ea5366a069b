"""Where things are said: streams that go away, lines of progress, refusals."""

from __future__ import annotations

import io
import json
import os

import pytest

from zidane_lab.agent.hooks import HookBus
from zidane_lab.cli.output import EventLines, Pipe, Progress, Refusals
from zidane_lab.events import EVENTS, Ids, StreamText, ToolAfter, ToolBefore, ToolGate
from zidane_lab.turns import TextBlock, ToolResultBlock

IDS = Ids("run_1", "turn_1", "call_1")


def after(text, outcome, **metadata):
    result = ToolResultBlock("call_1", (TextBlock(text),), is_error=outcome != "ok", metadata=metadata)
    return ToolAfter(IDS, "run_python", {"intent": "look"}, result, outcome, 1.25)


async def told(bundle, *events):
    hooks = HookBus()
    uninstall = hooks.use(bundle)
    for event in events:
        assert await hooks.emit(event) == []
    uninstall()
    for event in events:
        await hooks.emit(event)


def test_what_is_written_after_the_reader_left_is_dropped():
    read, write = os.pipe()
    stream = os.fdopen(write, "w")
    pipe = Pipe(stream)
    pipe.line("first")
    assert os.read(read, 100) == b"first\n"
    os.close(read)
    pipe.line("x" * 100_000)
    assert pipe.broken
    pipe.line("more")
    stream.close()


def test_text_cannot_drive_the_terminal_and_any_character_can_be_written():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Pipe(stream).text("a\x1b[31m\x07é\udc80\r\nb")
    assert raw.getvalue().decode() == "a[31mé\\udc80\nb\n"


@pytest.mark.asyncio
async def test_events_are_lines_of_json_and_questions_to_subscribers_are_left_out():
    out = io.StringIO()
    events = [StreamText(IDS, 0, "two\nlines \u2028"), ToolGate(IDS, "t", {}), ToolBefore(IDS, "t", {"odd": {1}})]
    await told(EventLines(Pipe(out)), *events)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["stream:text", "tool:before"]
    assert lines[0]["text"] == "two\nlines \u2028"
    assert {"run_id", "turn_id", "call_id"} <= set(lines[1])
    assert {"context:transform", "system:transform", "tool:gate", "tool:transform"} <= set(EVENTS)


@pytest.mark.asyncio
async def test_progress_names_each_call_once_and_says_how_it_ended():
    out = io.StringIO()
    before = ToolBefore(IDS, "run_python", {"intent": "look\n\x1b[2Jhere " + "x" * 500})
    error = {"name": "KeyError", "message": "'b'\nmore"}
    await told(Progress(Pipe(out)), before, after("traceback…", "error", execution={"error": error}))
    first, second = out.getvalue().splitlines()
    assert first.startswith("▸ run_python: look [2Jhere xxx")
    assert len(first) < 250
    assert second == "  ✗ run_python failed, 1.2 s: KeyError: 'b'"
    out = io.StringIO()
    await told(Progress(Pipe(out)), after("Blocked: not allowed\nmore", "blocked"))
    assert out.getvalue().splitlines() == ["▸ run_python: look", "  ⊘ run_python refused, 1.2 s: not allowed"]


@pytest.mark.asyncio
async def test_refusals_are_counted_and_nothing_else():
    refusals = Refusals()
    await told(refusals, after("Blocked: no", "blocked"), after("fine", "ok"), after("bad", "error"))
    assert refusals.calls == [{"call_id": "call_1", "tool": "run_python", "reason": "no"}]
