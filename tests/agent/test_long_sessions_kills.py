"""Killed in the middle of a compaction, or with a torn file: the session opens, goes on, and nothing said is lost."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.agent.cached_service import CachedService
from tests.agent.long_scenario import Watched, entries, new_agent
from tests.wire.rules import check_anthropic
from zidane_lab.session.session import Session
from zidane_lab.turns import ToolCallBlock, Turn
from zidane_lab.wire.cutoff import is_marker

WINDOW = 40_000
"""The effective half of it is full after some twelve of the answers below."""

STAGES = ("summary is written", "before marker", "marker", "restored calls", "restored results")


def steps() -> Iterator[list[Any]]:
    """Yield answers without end: three of calls, then one that ends the run. Ids come again in every process."""
    number = 0
    while True:
        for _ in range(3):
            number += 1
            code = ToolCallBlock(f"toolu_p{number}", "run_python", {"code": f"step {number}", "size": 4_500})
            read = ToolCallBlock(f"toolu_r{number}", "read_file", {"path": f"notes_{number % 3}.txt"})
            yield [f"Step {number}.", code, read]
        yield [f"That was {number}. " * 5]


def make_notes(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(3):
        (folder / f"notes_{number}.txt").write_text(f"note {number}\n" * 80, encoding="utf-8")


def service() -> CachedService:
    plan = steps()
    return CachedService(lambda _: next(plan), WINDOW, inspect=check_anthropic)


def work(path: str, folder: str, stage: str, pipe: Connection) -> None:
    """Run an agent until it has come to ``stage``; tell the parent what a person was told, and wait to be killed."""

    def stop() -> None:
        pipe.send(("stopped", ""))
        time.sleep(600)

    async def main() -> None:
        session = Session.open(Path(path)) if path else Session.create(Path(folder) / "sessions")
        append = session.append

        def watched_append(turn: Turn) -> Turn:
            if stage == "before marker" and is_marker(turn):
                stop()
            stored = append(turn)
            kind = "marker" if is_marker(turn) else "other"
            if turn.injected == "restore":
                kind = "restored calls" if turn.tool_calls else "restored results"
            if kind == stage:
                stop()
            return stored

        session.append = watched_append  # type: ignore[method-assign]
        agent = new_agent(service(), session, Path(folder) / "work")
        if stage == "summary is written":
            agent.hooks.on("compact:progress", lambda _: stop())
        agent.hooks.on("turn:user", lambda event: pipe.send((event.turn.id, str(session.path))))
        agent.hooks.on("turn:after", lambda event: pipe.send((event.turn.id, str(session.path))))
        agent.hooks.on("turn:boundary", lambda event: event.results and pipe.send((event.results.id, "")))
        while True:
            await agent.run("Go on.")

    asyncio.run(main())


def killed_at(stage: str, path: str, folder: Path) -> tuple[Path, set[str]]:
    """Have a child come to a stage and kill it there; return the session's file, and what had been told."""
    spawn = multiprocessing.get_context("forkserver")
    spawn.set_forkserver_preload(["tests.agent.test_long_sessions_kills"])
    ours, theirs = spawn.Pipe()
    child = spawn.Process(target=work, args=(path, str(folder), stage, theirs), daemon=True)
    child.start()
    theirs.close()
    told: list[tuple[str, str]] = []
    while not told or told[-1][0] != "stopped":
        told.append(ours.recv())
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    ours.close()
    return Path(next(where for _, where in told if where)), {turn_id for turn_id, _ in told[:-1]}


async def go_on(session: Session, folder: Path, runs: int = 1) -> Watched:
    """Let a new agent work on; every request is looked at by the checker and must fit."""
    agent = new_agent(service(), session, folder / "work")
    watched = Watched(agent.provider)  # type: ignore[arg-type]
    agent.hooks.on("*", watched)
    for _ in range(runs):
        await agent.run("Where were we?")
    assert not any(each.refused for each in watched.service.exchanges)
    assert not watched.of("hook:failed")
    return watched


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_a_kill_in_a_compaction_costs_at_most_that_compaction(stage, tmp_path):
    make_notes(tmp_path / "work")
    path, told = killed_at(stage, "", tmp_path)
    before = entries(path)
    assert told <= {line["turn"]["id"] for line in before}, "a turn that was told is lost"
    with Session.open(path) as session:
        assert session.runs[-1].status == "interrupted"
        marked = any(map(is_marker, session.turns))
        assert marked == (stage not in {"summary is written", "before marker"})
        seen = asyncio.run(go_on(session, tmp_path, runs=6))
        first = seen.service.answered[0]
        made_first = sum(at <= seen.service.exchanges.index(first) for at, _ in _compactions(seen))
        assert made_first <= (0 if marked else 1)
        assert len(_compactions(seen)) >= 1
        assert {event.status for _, event in _compactions(seen)} == {"compacted"}
        after = session.turns
    assert entries(path)[: len(before)] == before
    with Session.open(path) as again:
        assert again.turns == after
        assert again.repairs == ()


@pytest.mark.slow
def test_kill_after_kill_the_conversation_grows(tmp_path):
    make_notes(tmp_path / "work")
    path, told = "", set()
    for stage in (*STAGES, *STAGES[::-1]):
        found, new = killed_at(stage, path, tmp_path)
        path, told = str(found), told | new
        assert told <= {line["turn"]["id"] for line in entries(found)}
    with Session.open(Path(path)) as session:
        marks = sum(map(is_marker, session.turns))
        assert marks >= 6
        asyncio.run(go_on(session, tmp_path, runs=3))


@pytest.fixture(scope="module")
def compacted(tmp_path_factory) -> Path:
    """A session's file that ends soon after a compaction, with the folder it belongs to."""
    folder = tmp_path_factory.mktemp("torn")
    make_notes(folder / "work")

    async def talk() -> Path:
        session = Session.create(folder / "sessions")
        agent = new_agent(service(), session, folder / "work")
        while not any(map(is_marker, session.turns)):
            await agent.run("Go on.")
        await agent.aclose()
        return session.path

    return asyncio.run(talk())


def test_a_file_torn_anywhere_round_a_compaction_opens_and_goes_on(compacted, tmp_path):
    data = compacted.read_bytes()
    lines = data.splitlines(keepends=True)
    marker = next(at for at, line in enumerate(lines) if b'"kind":"compact-summary"' in line)
    folder = compacted.parent.parent
    for at in range(marker - 2, min(marker + 4, len(lines))):
        start, size = sum(map(len, lines[:at])), len(lines[at])
        for cut in (0, 1, size // 2, size - 2, size - 1):
            torn = tmp_path / f"{at}-{cut}" / compacted.name
            torn.parent.mkdir()
            torn.write_bytes(data[: start + cut])
            with Session.open(torn) as session:
                whole = at if cut < size - 1 else at + 1  # without its last byte, the end of the line, a line is whole
                kept = [line["turn"]["id"] for line in entries(compacted)]
                turns_before = sum(b'"type":"turn"' in line for line in lines[:whole])
                assert [turn.id for turn in session.turns] == kept[:turns_before]
                asyncio.run(go_on(session, folder))
            shutil.rmtree(torn.parent)


def _compactions(seen: Watched) -> list[tuple[int, Any]]:
    return [(at, event) for at, event in seen.events if event.name == "compact:end"]
