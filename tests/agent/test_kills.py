"""Killed at any moment, a hundred times over: the conversation stays whole and valid."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.agent.support import echo, simple_tool
from zidane_lab.agent import partials
from zidane_lab.agent.agent import Agent
from zidane_lab.providers.scripted import ScriptedProvider, call, say
from zidane_lab.session.session import Session
from zidane_lab.wire.build import wire_turns

KILLS = 100


def work(path: str, folder: str, pipe: Connection) -> None:
    """Run an agent until killed; tell the parent what a person has seen so far."""
    partials.SECONDS = 0.0  # type: ignore[misc]  # record every piece, so that everything shown counts

    async def main() -> None:
        session = Session.open(Path(path)) if path else Session.create(Path(folder))
        answers = [
            [say("Looking at it now. " * 5), call("echo", text="a"), call("echo", text="b")],
            "And here it is. " * 10,
        ]
        agent = Agent(
            ScriptedProvider(answers, loop=True, delay=0.0005), tools=[simple_tool("echo", echo)], session=session
        )
        agent.hooks.on("turn:user", lambda event: pipe.send(("turn", event.turn.id, str(session.path))))
        agent.hooks.on("stream:text", lambda event: pipe.send(("text", event.ids.turn_id, event.text)))
        agent.hooks.on("turn:after", lambda event: pipe.send(("turn", event.turn.id, str(session.path))))
        agent.hooks.on("tool:after", lambda event: pipe.send(("call", event.ids.call_id, event.result.text)))
        while True:
            await agent.run("Go on.")

    asyncio.run(main())


@pytest.mark.slow
def test_a_hundred_random_kills_lose_nothing_that_was_shown(tmp_path):
    chance = random.Random(20261130)
    spawn = multiprocessing.get_context("forkserver")
    spawn.set_forkserver_preload(["tests.agent.test_kills"])
    path, turns_seen, reached = "", set(), 0
    for kill in range(KILLS):
        ours, theirs = spawn.Pipe()
        child = spawn.Process(target=work, args=(path, str(tmp_path), theirs), daemon=True)
        child.start()
        theirs.close()
        told: list[tuple[str, str, str]] = []
        for _ in range(chance.randint(1, 60)):
            told.append(ours.recv())
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        try:
            while True:
                told.append(ours.recv())
        except (EOFError, ConnectionResetError):
            ours.close()
        path = next(where for kind, _, where in told if kind == "turn")
        turns_seen |= {key for kind, key, _ in told if kind == "turn"}

        session = Session.open(Path(path))
        partials.recover(session)
        turns = session.turns
        stored = {turn.id: turn for turn in turns}
        assert turns_seen <= set(stored), f"kill {kill}: a turn was lost"
        unfinished = [key for kind, key, _ in told if kind == "text"]
        if unfinished:
            shown = "".join(text for kind, key, text in told if kind == "text" and key == unfinished[-1])
            kept = stored[unfinished[-1]].text if unfinished[-1] in stored else ""
            # The last piece may have been shown in the very moment of death, before it was recorded.
            assert kept.startswith(shown[: max(0, len(shown) - 16)]), f"kill {kill}: {shown!r} / {kept!r}"
            reached += 1
        check_wire(wire_turns(turns))
        session.close()
    assert reached > KILLS // 4
    assert len(turns_seen) > KILLS


def check_wire(turns) -> None:
    """What every provider insists on: starts and ends with the user, each call answered in the next turn."""
    assert turns[0].role == "user"
    assert turns[-1].role == "user"
    for turn, following in zip(turns, (*turns[1:], None), strict=True):
        calls = [block.id for block in turn.tool_calls]
        if turn.role == "assistant" and calls:
            assert following is not None
            assert [result.call_id for result in following.tool_results] == calls
        if turn.role == "assistant":
            assert turn.blocks


@pytest.mark.asyncio
async def test_text_of_a_turn_that_was_completed_is_not_recovered_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(partials, "SECONDS", 0.0)
    session = Session.create(tmp_path)
    agent = Agent(ScriptedProvider(["Hello there, this is long."]), session=session)
    await agent.run("hi")
    assert session.records("partial-text")
    session.close()
    again = Session.open(session.path)
    assert partials.recover(again) is None
    assert [turn.text for turn in again.turns] == ["hi", "Hello there, this is long."]


@pytest.mark.asyncio
async def test_a_memory_session_records_nothing():
    agent = Agent(ScriptedProvider(["Hello."]))
    await agent.run("hi")
    assert agent.session.records("partial-text") == ()


@pytest.mark.asyncio
async def test_text_of_a_branch_left_behind_is_not_recovered(tmp_path, monkeypatch):
    monkeypatch.setattr(partials, "SECONDS", 0)
    session = Session.create(tmp_path)
    agent = Agent(ScriptedProvider(["a first answer", "a second one"], chunk_size=4), session=session)
    await agent.run("hi")
    session.move_to(session.turns[0].id)
    await agent.run("again")
    assert [turn.text for turn in session.turns] == ["hi", "again", "a second one"]
    session.close()
