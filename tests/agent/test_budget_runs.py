"""Budgets in whole runs: when a run ends, what it leaves, who may extend it, and whose time counts."""

from __future__ import annotations

import functools

import pytest

from tests.agent.runs import QUICK, Service, counted, fill, open_calls
from tests.agent.support import Recorder, echo, simple_tool, texts
from zidane_lab.agent import agent as agent_module
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.budgets import Budgets, Spent
from zidane_lab.agent.ledger import BudgetLedger
from zidane_lab.errors import BudgetExceededError, ConfigurationError, OverloadedError
from zidane_lab.events import BudgetReached
from zidane_lab.providers.base import UsageUpdate
from zidane_lab.providers.scripted import call
from zidane_lab.session.session import Session
from zidane_lab.turns import Usage
from zidane_lab.wire.build import wire_turns

pytestmark = pytest.mark.asyncio


def agent_with(*answers, tools=(), behavior=None, session=None, **limits):
    notebook = limits.pop("notebook_spent", None)
    return Agent(
        Service("main", answers),
        tools=[simple_tool("echo", echo), *tools],
        session=session,
        behavior=behavior or Behavior(retry=QUICK, budgets=Budgets.of(**limits)),
        notebook_spent=notebook,
    )


def step(context=90, output=10, **fields):
    return counted(call("echo", text="x"), context=context, output=output, **fields)


def reached(seen):
    return [(e.kind, e.scope, e.limit, e.spent) for e in seen.of("budget:reached")]


class Clock:
    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(agent_module, "BudgetLedger", functools.partial(BudgetLedger, clock=self))

    def __call__(self):
        return self.now


# --- a limit is reached ---------------------------------------------------------------------------


async def test_calls_are_refused_with_the_reason_and_the_conversation_is_valid():
    agent = agent_with(counted(call("echo", text="1"), call("echo", text="2"), context=90), "never", tokens=100)
    seen = Recorder(agent.hooks)
    with pytest.raises(BudgetExceededError) as caught:
        await agent.run("go")
    refusal = "Not run: The tokens budget of this run is used up: 100 of 100 tokens used."
    assert [(r.text, r.is_error) for r in agent.session.turns[-1].tool_results] == [(refusal, True)] * 2
    assert wire_turns(agent.session.turns, strict=True) is agent.session.turns
    assert seen.of("tool:before") == []
    assert (caught.value.kind, caught.value.scope, caught.value.used) == ("tokens", "run", 100)
    assert (caught.value.result.status, caught.value.result.usage) == ("error", Usage(input=90, output=10))
    assert agent.session.runs[-1].usage == Usage(input=90, output=10)


async def test_the_answer_that_reaches_a_limit_is_kept_and_a_finished_run_is_not_failed():
    agent = agent_with(counted("All of it.", context=500), tokens=100)
    assert (await agent.run("go")).text == "All of it."


async def test_the_limit_on_turns_lets_the_last_calls_run():
    agent = agent_with(step(), step(), "never", behavior=Behavior(max_turns=2))
    with pytest.raises(BudgetExceededError, match="2 of 2 turns"):
        await agent.run("go")
    assert texts(agent)[-1] == ("user", "echo x")


async def test_attempts_that_fail_count():
    lost = [UsageUpdate(Usage(input=95)), OverloadedError("x")]
    agent = agent_with(lost, step(context=1, output=4), "never", tokens=100)
    with pytest.raises(BudgetExceededError):
        await agent.run("go")


async def test_a_warning_comes_once():
    agent = agent_with(*[step(context=9, output=1)] * 9, "done", tokens=100)
    seen = Recorder(agent.hooks)
    await agent.run("go")
    assert [(e.kind, e.scope, e.limit, e.spent) for e in seen.of("budget:warning")] == [("tokens", "run", 100, 80)]
    assert reached(seen) == []


async def test_a_handler_may_extend_it_and_the_run_goes_on():
    agent = agent_with(*[step()] * 3, counted("done", context=90), tokens=100)
    seen = Recorder(agent.hooks)

    def extend(event: BudgetReached) -> None:
        event.extend_to = event.limit + 150

    agent.hooks.on(BudgetReached, extend)
    assert (await agent.run("go")).text == "done"
    assert reached(seen) == [("tokens", "run", 100, 100), ("tokens", "run", 250, 300)]
    assert not open_calls(agent)
    assert agent.behavior.budgets == Budgets.of(tokens=100)  # the extension is this run's


@pytest.mark.parametrize("to", [100, 0, -5, float("nan"), float("inf")])
async def test_an_extension_that_is_none_is_a_refusal(to):
    agent = agent_with(step(), "never", tokens=100)
    agent.hooks.on(BudgetReached, lambda event: setattr(event, "extend_to", to))
    with pytest.raises(BudgetExceededError):
        await agent.run("go")


# --- whose spending -------------------------------------------------------------------------------


async def test_what_the_session_spent_before_counts():
    session = Session.memory()
    limits = {"tokens": 250, "scope": "session"}
    await agent_with(counted("one", context=190), session=session, **limits).run("a")
    agent = agent_with(step(context=40), "never", session=session, **limits)
    seen = Recorder(agent.hooks)
    with pytest.raises(BudgetExceededError, match="budget of this session") as caught:
        await agent.run("b")
    assert "/budget session tokens" in caught.value.hint
    assert reached(seen) == [("tokens", "session", 250, 250)]
    agent = agent_with("never", session=session, **limits)
    with pytest.raises(BudgetExceededError):
        await agent.run("c")
    assert agent.provider.requests == []


async def test_what_other_sessions_of_the_notebook_spent_counts():
    limits = {"tokens": 1_000, "scope": "notebook", "notebook_spent": lambda: Spent(usage=Usage(input=950))}
    agent = agent_with(step(), "never", **limits)
    with pytest.raises(BudgetExceededError, match="budget of this notebook") as caught:
        await agent.run("go")
    assert caught.value.used == 1_050


async def test_what_children_spend_counts_while_they_run_and_ends_them_too():
    async def ask_child(_context):
        child = agent.ledger.child()
        assert child.left("tokens") == 100
        child.add(Usage(input=100), turns=3)
        assert child.left("tokens") == 0
        return "done"

    agent = agent_with(
        counted(call("ask_child"), context=190), "never", tools=[simple_tool("ask_child", ask_child)], tokens=300
    )
    with pytest.raises(BudgetExceededError) as caught:
        await agent.run("go")
    assert caught.value.result.usage == Usage(input=290, output=10)
    assert texts(agent)[-1] == ("user", "done")
    assert agent.ledger is None


# --- time and money -------------------------------------------------------------------------------


async def test_time_at_work_counts_and_time_a_person_takes_does_not(monkeypatch):
    clock = Clock(monkeypatch)

    async def work(_context):
        clock.now += 20
        return "done"

    def decide(_event):
        clock.now += 1_000

    agent = agent_with(call("work"), call("work"), "never", tools=[simple_tool("work", work)], seconds=40)
    agent.hooks.on("tool:gate", decide)
    seen = Recorder(agent.hooks)
    with pytest.raises(BudgetExceededError, match="40 of 40 seconds"):
        await agent.run("go")
    assert reached(seen) == [("time", "run", 40, 40)]
    assert len(agent.provider.requests) == 2


async def test_time_stands_still_while_a_person_is_asked_for_more(monkeypatch):
    clock = Clock(monkeypatch)

    async def work(_context):
        clock.now += 20
        return "done"

    def think_it_over(event):
        clock.now += 1_000
        event.extend_to = 30

    agent = agent_with(call("work"), "ok", tools=[simple_tool("work", work)], seconds=20)
    agent.hooks.on(BudgetReached, think_it_over)
    assert (await agent.run("go")).text == "ok"


async def test_money_is_limited_by_what_calls_cost():
    service = Service("main", [step(cost=0.6), step(cost=0.6), "never"], metered=True, priced=True)
    agent = Agent(service, tools=[simple_tool("echo", echo)], behavior=Behavior(max_cost=1))
    seen = Recorder(agent.hooks)
    with pytest.raises(BudgetExceededError, match=r"\$1\.2000 of \$1\.0000"):
        await agent.run("go")
    assert open_calls(agent) == set()
    assert [event.kind for event in seen.of("budget:reached")] == ["cost"]


async def test_a_call_that_came_without_its_cost_ends_a_run_whose_money_is_limited():
    service = Service("main", [step(), "never"], metered=True, priced=True)
    agent = Agent(service, tools=[simple_tool("echo", echo)], behavior=Behavior(max_cost=1))
    with pytest.raises(ConfigurationError, match="price of main/script is not known"):
        await agent.run("go")
    assert open_calls(agent) == set()


async def test_several_limits_hold_at_once_and_the_first_one_reached_is_told():
    session = Session.memory()
    fill(session, 1, context=80)
    budgets = Budgets.of(tokens=1_000).with_limit("tokens", "session", 150)
    agent = agent_with(step(), "never", session=session, behavior=Behavior(budgets=budgets, max_cost=5))
    seen = Recorder(agent.hooks)
    with pytest.raises(BudgetExceededError) as caught:
        await agent.run("go")
    assert (caught.value.scope, caught.value.used) == ("session", 190)
    assert len(reached(seen)) == 1
