"""The bus: order, isolation, bundles."""

from __future__ import annotations

import asyncio

import pytest

from zidane_lab.agent.hooks import HookBus
from zidane_lab.errors import AbortedError, ConfigurationError
from zidane_lab.events import EVENTS, AgentStart, HookFailed, Ids

pytestmark = pytest.mark.asyncio
START = AgentStart(Ids("run_1"), "hi", "offline")


async def test_handlers_run_in_order_sync_and_async_alike():
    hooks, seen = HookBus(), []

    async def slow(_event):
        await asyncio.sleep(0.01)
        seen.append("slow")

    hooks.on(AgentStart, slow)
    hooks.on("agent:start", lambda _event: seen.append("quick"))
    hooks.on("*", lambda event: seen.append(event.name))
    assert await hooks.emit(START) == []
    assert seen == ["slow", "quick", "agent:start"]


async def test_a_failing_handler_is_reported_and_the_rest_still_run():
    hooks, seen, failures = HookBus(), [], []

    def broken(_event):
        raise ValueError("oops")

    hooks.on(AgentStart, broken)
    hooks.on(AgentStart, lambda _event: seen.append("after"))
    hooks.on(HookFailed, failures.append)
    hooks.on(HookFailed, broken)  # must not feed itself
    (failure,) = await hooks.emit(START)
    assert seen == ["after"]
    assert failures == [failure]
    assert (failure.about, failure.error, failure.ids) == ("agent:start", "ValueError: oops", START.ids)
    assert "broken" in failure.handler


@pytest.mark.parametrize("stop", [AbortedError("stop"), asyncio.CancelledError()])
async def test_stops_pass_through(stop):
    hooks = HookBus()

    async def stopping(_event):
        raise stop

    hooks.on(AgentStart, stopping)
    with pytest.raises(type(stop)):
        await hooks.emit(START)


async def test_uninstalling_is_exact_and_repeatable():
    hooks, seen = HookBus(), []
    handler = seen.append
    off = hooks.on(AgentStart, handler)
    off()
    off()
    await hooks.emit(START)
    assert seen == []


async def test_a_bundle_installs_and_uninstalls_as_one():
    seen = []

    class Bundle:
        def install(self, hooks):
            offs = [hooks.on(AgentStart, seen.append), hooks.on("agent:done", seen.append)]
            return lambda: [off() for off in offs]

    hooks = HookBus()
    off = hooks.use(Bundle())
    await hooks.emit(START)
    off()
    await hooks.emit(START)
    assert seen == [START]


async def test_unknown_events_are_refused():
    with pytest.raises(ConfigurationError, match="no event 'agent:begin'"):
        HookBus().on("agent:begin", print)


async def test_every_event_has_a_dotted_name_of_its_own():
    assert len({cls.name for cls in EVENTS.values()}) == len(EVENTS)
    assert all(":" in name for name in EVENTS)


async def test_a_handler_added_twice_is_two_subscriptions():
    hooks, seen = HookBus(), []
    first = hooks.on(AgentStart, seen.append)
    hooks.on(AgentStart, seen.append)
    first()
    await hooks.emit(START)
    assert seen == [START]


async def test_the_order_of_subscription_counts_also_for_those_who_hear_everything():
    hooks, seen = HookBus(), []
    hooks.on("*", lambda _event: seen.append("star"))
    hooks.on(AgentStart, lambda _event: seen.append("named"))
    await hooks.emit(START)
    assert seen == ["star", "named"]
