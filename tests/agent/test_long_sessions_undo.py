"""A compaction undone gives back what was sent before it, word for word, and the provider still knows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.agent.cached_service import CachedService
from tests.agent.long_scenario import SYSTEM, Watched, new_agent, tools
from tests.wire.rules import check_anthropic
from zidane_lab.agent.agent import Agent
from zidane_lab.providers.anthropic_request import RequestEncoder
from zidane_lab.providers.base import Request
from zidane_lab.session.session import Session
from zidane_lab.turns import ThinkingBlock, ToolCallBlock, Turn
from zidane_lab.wire.build import wire_turns

pytestmark = pytest.mark.asyncio

WINDOW = 200_000


def steps() -> Iterator[list[Any]]:
    number = 0
    while True:
        for _ in range(2):
            number += 1
            code = ToolCallBlock(f"toolu_{number}", "run_python", {"code": f"step {number}", "size": 40_000})
            yield [ThinkingBlock("Hm.", f"seal {number}", "anthropic"), f"Step {number}.", code]
        yield [f"That was {number}."]


@pytest.fixture
def new(tmp_path):
    """Make agents on sessions of their own, and close those."""
    sessions: list[Session] = []

    def make(**compaction: Any) -> tuple[Agent, CachedService, Watched]:
        plan = steps()
        service = CachedService(lambda _: next(plan), WINDOW, inspect=check_anthropic)
        sessions.append(Session.create(tmp_path / "sessions"))
        agent = new_agent(service, sessions[-1], tmp_path, **compaction)
        watched = Watched(service)
        agent.hooks.on("*", watched)
        return agent, service, watched

    yield make
    for session in sessions:
        session.close()


def sent(session: Session, turns: tuple[Turn, ...] | None = None) -> bytes:
    """The body of the request that the conversation would be continued with."""
    turns = wire_turns(session.turns if turns is None else turns, state=session.wire_state)
    return RequestEncoder("anthropic").encode(
        Request(CachedService.default_model, SYSTEM, turns, tuple(each.spec for each in tools()))
    )


async def talk(agent: Agent, runs: int) -> None:
    for _ in range(runs):
        await agent.run("And then?")


@pytest.mark.parametrize("scope", ["tail", "tail 0", "full"])
async def test_undone_at_once_the_next_request_is_the_one_before(new, scope):
    agent, _, _ = new(restore=False)
    await talk(agent, 3)
    before = sent(agent.session)
    await agent.compact(scope)
    assert sent(agent.session) != before
    agent.undo_compaction()
    assert sent(agent.session) == before
    with Session.branch(agent.session.path) as again:
        assert sent(again) == before


@pytest.mark.parametrize("restore", [True, False])
async def test_undone_later_what_was_sent_before_comes_first_and_from_the_cache(new, restore):
    agent, service, watched = new(restore=restore)
    await talk(agent, 3)
    last = service.answered[-1]
    await agent.compact()
    await talk(agent, 1)
    assert service.answered[-1].usage.cache_read < last.tokens
    agent.undo_compaction()
    await talk(agent, 1)
    first = service.answered[-3]
    assert first.pieces[: len(last.pieces)] == last.pieces
    assert first.usage.cache_read >= last.tokens
    assert not watched.of("cache:break")


async def test_one_by_one_the_summaries_of_summaries_give_back_each_wire(new):
    agent, _, _ = new(restore=False)
    await talk(agent, 2)
    wires = [sent(agent.session)]
    for _ in range(3):
        await agent.compact("tail 2")
        wires.append(sent(agent.session))
        said = len(agent.session.turns)
        await talk(agent, 1)
    for before in reversed(wires[:-1]):
        agent.undo_compaction()
        now = sent(agent.session)
        # What was said since follows; the rest is the wire of then, up to its made-up end.
        head = before[: before.rindex(b'{"role":"user"')].replace(b',"cache_control":{"type":"ephemeral"}', b"")
        assert now.replace(b',"cache_control":{"type":"ephemeral"}', b"").startswith(head)
    assert said < len(agent.session.turns)


async def test_undone_after_memory_let_go_of_large_results(new):
    agent, _, _ = new(restore=False, release=True)
    await talk(agent, 3)
    before = sent(agent.session)
    await agent.compact("tail 2")
    agent.undo_compaction()
    assert sent(agent.session) == before
