"""One digest of a run, from its events."""

from __future__ import annotations

import pytest

from tests.agent.support import echo, simple_tool
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.run_summary import (
    RunSummaryCollector,
    SummaryBlocked,
    SummaryBudget,
    SummaryError,
    SummaryGuard,
)
from zidane_lab.events import (
    AgentDone,
    AgentStart,
    BudgetReached,
    BudgetWarning,
    CompactEnd,
    GuardHit,
    Ids,
    ToolAfter,
    TurnAfter,
    UserTurn,
)
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.turns import CompactSummaryBlock, TextBlock, ToolResultBlock, Turn, Usage

pytestmark = pytest.mark.asyncio

IDS = Ids("run_1")
CHILD = Ids("run_9", depth=1)


async def digest(*events):
    hooks, collector = HookBus(), RunSummaryCollector()
    hooks.use(collector)
    for event in events:
        await hooks.emit(event)
    return collector.summary


def answered(ids=IDS, model="a/x", **usage):
    return TurnAfter(ids, 0, Turn("assistant", (), usage=Usage(**usage), model=model), "stop")


def blocked(tool, text):
    return ToolAfter(IDS, tool, {}, ToolResultBlock("c", (TextBlock(text),), is_error=True), "blocked", 0.1)


async def test_nothing_before_the_first_run():
    assert await digest() is None


async def test_a_run_is_summed_up():
    summary = await digest(
        AgentStart(IDS, "hi", "a/x"),
        answered(input=10, output=1, cost=0.5),
        blocked("run_python", "Blocked: it deletes files"),
        ToolAfter(IDS, "look", {}, ToolResultBlock("c"), "ok", 0.1),
        GuardHit(IDS, "repeat", "look", "again"),
        GuardHit(IDS, "repeat", "look", "and again"),
        BudgetWarning(IDS, "cost", "run", 1.0, 0.8),
        BudgetReached(IDS, "cost", "run", 1.0, 1.1),
        answered(model="b/y", input=20),
        UserTurn(IDS, Turn("user", (TextBlock("wrong"),), injected="validation"), "injected"),
        AgentDone(IDS, "error", "stop", Usage(), 2, 3.5, "broke"),
    )
    assert (summary.run_id, summary.model, summary.status, summary.finish) == ("run_1", "a/x", "error", "stop")
    assert (summary.turns, summary.seconds, summary.usage) == (2, 3.5, Usage(30, 1, cost=0.5))
    assert [(each.model, each.usage.input) for each in summary.models] == [("a/x", 10), ("b/y", 20)]
    assert summary.outcomes == (("blocked", 1), ("ok", 1))
    assert summary.blocked == (SummaryBlocked("run_python", "it deletes files"),)
    assert summary.guards == (SummaryGuard("repeat", "look", 2),)
    assert summary.budgets == (SummaryBudget("cost", "run", 1.0, 1.1, is_reached=True),)
    assert summary.errors == (SummaryError("run", "broke"),)
    assert summary.corrections == 1


async def test_children_count_for_what_they_used_and_do_not_begin_or_end_the_run():
    summary = await digest(
        AgentStart(IDS, "hi", "a/x"),
        AgentStart(CHILD, "look", "b/y"),
        answered(CHILD, "b/y", input=5),
        AgentDone(CHILD, "completed", "stop", Usage(), 1, 1.0),
        answered(input=1),
    )
    assert (summary.run_id, summary.status, summary.turns, summary.usage.input) == ("run_1", None, 1, 6)


async def test_a_compaction_adds_its_cost_and_no_turn():
    turn = Turn("user", (CompactSummaryBlock("so far"),), usage=Usage(50, 5), model="a/small")
    summary = await digest(
        AgentStart(IDS, "hi", "a/x"),
        CompactEnd(IDS, "auto", "compacted", "a/small", 1.0, summary_turn=turn),
        CompactEnd(IDS, "auto", "failed", "a/small", 1.0, error="no"),
    )
    assert (summary.compactions, summary.turns, summary.usage) == (1, 0, Usage(50, 5))
    assert [(each.model, each.turns) for each in summary.models] == [("a/small", 0)]


async def test_the_newest_run_is_the_one_that_counts_and_uninstalling_ends_it():
    hooks, collector = HookBus(), RunSummaryCollector()
    uninstall = hooks.use(collector)
    await hooks.emit(AgentStart(IDS, "hi", "a/x"))
    await hooks.emit(answered(input=1))
    await hooks.emit(AgentStart(Ids("run_2"), "more", "a/x"))
    await hooks.emit(answered(input=10))
    uninstall()
    await hooks.emit(answered(input=100))
    assert (collector.summary.run_id, collector.summary.usage.input) == ("run_2", 10)


async def test_a_real_run_agrees_with_its_result():
    provider = ScriptedProvider([[call("echo", text="x")], "done"], usage=Usage(10, 2))
    collector = RunSummaryCollector()
    agent = Agent(provider, tools=[simple_tool("echo", echo)])
    agent.hooks.use(collector)
    result = await agent.run("go")
    summary = collector.summary
    assert (summary.usage, summary.turns, summary.status) == (result.usage, 2, "completed")
    assert result.usage == Usage(20, 4)
    assert summary.outcomes == (("ok", 1),)
