"""Making room when things are hard: small windows, huge outputs, a cache that looks back only so far, a restart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.agent.cached_service import CachedService, Exchange
from tests.agent.long_scenario import Watched, changes, new_agent
from tests.wire.rules import check_anthropic
from zidane_lab.agent.agent import Agent
from zidane_lab.session.session import Session
from zidane_lab.turns import ToolCallBlock, Turn

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
    agent, service, watched = new(100_000, steps([60_000]), counts_answer=True)
    await talk(agent, 2)
    assert {event.status for event in watched.of("compact:end")} == {"compacted"}
    assert not any(each.refused for each in service.exchanges if each.is_summary)


# --- what tidying costs ---------------------------------------------------------------------------


async def test_tidying_makes_the_service_read_no_more_anew_than_the_little_behind_it(new):
    def plan() -> Iterator[list[Any]]:
        number = 0
        while True:
            for _ in range(12):
                number += 1
                empty = ToolCallBlock(f"toolu_g{number}", "glob", {"pattern": f"none{number}"})
                yield [f"Step {number}.", python(number, 1_500), *([empty] if number % 12 in {1, 11} else [])]
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


# --- what the model is told -----------------------------------------------------------------------


async def test_a_placeholder_names_no_tool_the_agent_does_not_have(new):
    agent, _, watched = new(130_000, steps([20_000]))
    agent.tools.pop("read_output")
    while not watched.of("context:pruned"):
        await agent.run("Go on.")
    assert not any("read_output" in text for text in agent.session.wire_state.elided.values())


# --- taken up again -------------------------------------------------------------------------------


async def test_a_session_taken_up_again_is_judged_by_what_the_service_counted(new):
    agent, service, watched = new(130_000, steps([20_000]))
    while not watched.of("context:pruned"):
        await agent.run("Go on.")
    await agent.run("Go on.")
    newest = agent.session.turns[-1]
    again = new_agent(service, agent.session, agent.cwd)
    assert again.continuity.measured == agent.continuity.measured == (newest.id, _size(newest))


def _size(answer: Turn) -> int:
    assert answer.usage is not None
    return answer.usage.context + answer.usage.output
