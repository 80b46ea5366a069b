"""Making room when things are hard: small windows, huge outputs, failing summaries, stops and disks that fill up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.agent.cached_service import CachedService, Exchange
from tests.agent.long_scenario import SYSTEM, Kernel, Watched, changes, new_agent
from tests.wire.rules import check_anthropic
from zidane_lab.agent.agent import Agent
from zidane_lab.errors import SessionError
from zidane_lab.providers.base import Request
from zidane_lab.session.session import Session
from zidane_lab.turns import ToolCallBlock, Turn
from zidane_lab.wire.cutoff import is_marker

pytestmark = pytest.mark.asyncio


def python(number: int, size: int) -> ToolCallBlock:
    return ToolCallBlock(f"toolu_{number}", "run_python", {"code": f"step {number}", "size": size})


def steps(sizes: Sequence[int], calls: int = 1) -> Iterator[list[Any]]:
    """Yield answers that call for outputs of these sizes, again and again; every fifth makes none."""
    number = 0
    while True:
        number += 1
        size = sizes[number % len(sizes)]
        asked = [] if number % 5 == 0 else [python(number * 10 + each, size) for each in range(calls)]
        yield [f"Step {number}.", *asked]


@pytest.fixture
def new(tmp_path):
    """Make agents on sessions of their own, and close those."""
    sessions: list[Session] = []

    def make(window: int, plan: Iterator[list[Any]], **options: Any) -> tuple[Agent, CachedService, Watched]:
        counts_answer = options.pop("counts_answer", False)
        service = CachedService(lambda _: next(plan), window, counts_answer=counts_answer, inspect=check_anthropic)
        sessions.append(Session.create(tmp_path / "sessions"))
        agent = new_agent(service, sessions[-1], tmp_path, **options)
        watched = Watched(service)
        agent.hooks.on("*", watched)
        return agent, service, watched

    yield make
    for session in sessions:
        session.close()


async def talk(agent: Agent, runs: int) -> None:
    for number in range(runs):
        await agent.run(f"Question {number}.")


def pairs(service: CachedService) -> Iterator[tuple[Exchange, Exchange]]:
    yield from zip(service.answered, service.answered[1:], strict=False)


def with_files(folder: Path, plan: Iterator[list[Any]]) -> Iterator[list[Any]]:
    """Read eight long files first."""
    for number in range(8):
        (folder / f"file_{number}.txt").write_text("a line of a file that is long\n" * 1_500, encoding="utf-8")
        yield [f"Reading {number}.", ToolCallBlock(f"toolu_f{number}", "read_file", {"path": f"file_{number}.txt"})]
    yield from plan


# --- windows and outputs --------------------------------------------------------------------------


async def test_one_batch_of_huge_outputs_near_the_threshold(new):
    agent, service, watched = new(100_000, steps([2_000, 2_000, 2_000, 60_000], calls=3))
    await talk(agent, 10)
    assert {event.status for event in watched.of("compact:end")} == {"compacted"}
    assert not any(each.refused for each in service.answered)


@pytest.mark.parametrize("window", [32_000, 40_000, 64_000])
async def test_a_small_window_has_room_for_what_is_put_back(new, tmp_path, window):
    agent, _, watched = new(window, with_files(tmp_path, steps([2_000, 4_000])))
    await talk(agent, 20)
    assert {event.status for event in watched.of("compact:end")} == {"compacted"}
    usable = window - 20_000
    assert all(event.after < 0.85 * usable for event in watched.of("compact:end"))


async def test_where_the_answer_counts_too_the_summary_still_comes_from_the_cache(new):
    agent, service, watched = new(100_000, steps([14_000]), counts_answer=True)
    await talk(agent, 12)
    assert watched.of("compact:end")
    assert not any(each.refused for each in service.exchanges if each.is_summary)


# --- what tidying costs ---------------------------------------------------------------------------


async def test_tidying_makes_the_service_read_no_more_anew_than_the_little_behind_it(new):
    def plan() -> Iterator[list[Any]]:
        number = 0
        while True:
            for _ in range(12):
                number += 1
                empty = ToolCallBlock(f"toolu_g{number}", "glob", {"pattern": f"none{number}"})
                yield [f"Step {number}.", python(number, 1_500), *([empty] if number % 12 == 1 else [])]
            yield ["Done."]

    agent, service, watched = new(200_000, plan())
    await talk(agent, 8)
    costs = [
        before.tokens - after.usage.cache_read
        for before, after in pairs(service)
        if any(changes(event) for event in watched.declared(before, after))
    ]
    assert costs
    assert max(costs) <= 8_000 + 1_000


# --- failures -------------------------------------------------------------------------------------


async def test_a_new_run_tries_again_to_summarise(new):
    agent, service, watched = new(40_000, steps([3_000]))
    service.summary = " "  # which no summary is
    while len(watched.of("compact:end")) < 2:
        await agent.run("Go on.")
    service.summary = "All is well. "
    await agent.run("Go on.")
    assert watched.of("compact:end")[-1].status == "compacted"


async def test_a_stop_while_things_are_put_back_is_told_as_it_was(new, monkeypatch):
    agent, _, watched = new(200_000, steps([20_000]))
    await talk(agent, 2)

    async def stop(*_: Any, **__: Any) -> str:
        agent.abort()
        await asyncio.sleep(10)
        return ""

    monkeypatch.setattr(Kernel, "inspect_variable", stop)
    agent.tools = {name: each for name, each in agent.tools.items() if name != "read_file"}
    with pytest.raises(Exception, match="stopped"):
        await agent.compact()
    marked = any(map(is_marker, agent.session.turns))
    assert marked == (watched.of("compact:end")[-1].status == "compacted")


async def test_a_full_disk_at_the_summary_is_told_as_it_is(new, monkeypatch):
    agent, service, watched = new(40_000, steps([3_000]))
    append, failed = Session.append, []

    def full(session: Session, turn: Turn) -> Turn:
        stored = append(session, turn)
        if is_marker(turn) and not failed:
            failed.append(turn)
            raise SessionError("The disk is full.")  # as the real one: in memory it is complete
        return stored

    monkeypatch.setattr(Session, "append", full)
    while not failed:
        await agent.run("Go on.")
    before, after = next((b, a) for b, a in pairs(service) if a.pieces[: len(b.pieces)] != b.pieces)
    assert watched.declared(before, after), "what is sent was changed, and nobody was told"


# --- what the model and hooks are told ------------------------------------------------------------


async def test_a_placeholder_names_no_tool_the_agent_does_not_have(new):
    agent, _, watched = new(130_000, steps([20_000]))
    agent.tools.pop("read_output")
    while not watched.of("context:pruned"):
        await agent.run("Go on.")
    assert not any("read_output" in text for text in agent.session.wire_state.elided.values())


async def test_the_turns_of_a_request_are_put_to_hooks_once(new):
    agent, service, _ = new(100_000, steps([2_000]))
    seen: list[Any] = []
    agent.hooks.on("context:transform", seen.append)
    await talk(agent, 2)
    assert len(seen) == len(service.answered)
