"""Stop, cancel one tool, steer, follow up, cascade: the four markers, and nothing left running."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.agent.support import Recorder, Slow, echo, simple_tool, texts
from zidane_lab.agent.agent import Agent
from zidane_lab.errors import AbortedError, ConfigurationError, QuotaError
from zidane_lab.events import ToolTransform
from zidane_lab.providers.scripted import ScriptedProvider, call, say
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.markers import CANCELLED, CASCADED, INTERRUPTED, MARKERS, SUPERSEDED

pytestmark = pytest.mark.asyncio


def others() -> set[asyncio.Task]:
    return asyncio.all_tasks() - {asyncio.current_task()}


def results(agent: Agent) -> list[tuple[str, bool]]:
    return [(r.text, r.is_error) for turn in agent.session.turns for r in turn.tool_results]


async def test_the_markers_are_exact():
    assert {
        "[Request interrupted by user for tool use]",
        "[Tool use skipped — superseded by user message]",
        "[Tool call cancelled by user]",
        "Cancelled: a sibling `shell` call in the same batch errored; re-run independently if still needed.",
    } == MARKERS


async def test_stop_while_the_model_writes_keeps_what_was_shown():
    agent = Agent(ScriptedProvider(["word " * 200], delay=0.005))
    seen = Recorder(agent.hooks)
    run = asyncio.create_task(agent.run("go"))
    while len(seen.of("stream:text")) < 3:
        await asyncio.sleep(0.002)
    assert agent.abort()
    result = await asyncio.wait_for(run, 1)
    shown = "".join(event.text for event in seen.of("stream:text"))
    assert result.status == "aborted"
    assert agent.session.turns[-1].text == shown
    assert 0 < len(shown) < 1000
    assert agent.session.runs[-1].status == "aborted"
    assert not others()
    assert seen.names()[-1] == "agent:done"


async def test_stop_in_a_tool_ends_it_and_answers_every_call():
    slow = Slow()
    agent = Agent(
        ScriptedProvider([[call("echo", text="1"), call("slow"), call("echo", text="2")], "next"]),
        tools=[simple_tool("slow", slow), simple_tool("echo", echo)],
    )
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    agent.abort()
    result = await asyncio.wait_for(run, 1)
    assert (result.status, slow.ended) == ("aborted", ["cancelled"])
    assert results(agent) == [("echo 1", False), (INTERRUPTED, True), (INTERRUPTED, True)]
    assert not others()
    assert wire_turns(agent.session.turns) == agent.session.turns  # nothing to repair
    assert (await agent.run("go on")).text == "next"


async def test_stop_with_parallel_calls_under_way():
    first, second = Slow(), Slow()
    agent = Agent(
        ScriptedProvider([[call("a"), call("b")]]),
        tools=[simple_tool("a", first, concurrency="shared"), simple_tool("b", second, concurrency="shared")],
    )
    run = asyncio.create_task(agent.run("go"))
    await asyncio.gather(first.started.wait(), second.started.wait())
    agent.abort()
    assert (await asyncio.wait_for(run, 1)).status == "aborted"
    assert results(agent) == [(INTERRUPTED, True)] * 2
    assert not others()


async def test_cancelling_the_awaiting_task_stops_the_run_and_is_rethrown():
    slow = Slow()
    agent = Agent(ScriptedProvider([[call("slow")]]), tools=[simple_tool("slow", slow)])
    seen = Recorder(agent.hooks)
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert slow.ended == ["cancelled"]
    assert results(agent) == [(INTERRUPTED, True)]
    assert seen.of("agent:done")[0].status == "aborted"
    assert not others()


async def test_a_tool_may_stop_the_run():
    async def quit_(_context):
        raise AbortedError("enough")

    agent = Agent(ScriptedProvider([[call("quit")]]), tools=[simple_tool("quit", quit_)])
    assert (await agent.run("go")).status == "aborted"
    assert results(agent) == [(INTERRUPTED, True)]


async def test_cancelling_one_tool_leaves_the_rest_of_the_batch_alone():
    slow = Slow()
    agent = Agent(
        ScriptedProvider([[call("slow"), call("echo", text="x")], "fine"]),
        tools=[simple_tool("slow", slow), simple_tool("echo", echo)],
    )
    seen = Recorder(agent.hooks)
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    assert agent.cancel_tool(agent.session.turns[-1].tool_calls[0].id)
    assert (await asyncio.wait_for(run, 1)).text == "fine"
    assert results(agent) == [(CANCELLED, True), ("echo x", False)]
    assert [event.outcome for event in seen.of("tool:after")] == ["cancelled", "ok"]


async def test_steering_skips_calls_not_yet_started_and_is_answered_next():
    slow = Slow()
    agent = Agent(
        ScriptedProvider([[call("slow"), call("echo", text="x"), call("echo", text="y")], say("As you wish.")]),
        tools=[simple_tool("slow", slow), simple_tool("echo", echo)],
    )
    seen = Recorder(agent.hooks)
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    agent.steer("never mind, look at b")
    assert agent.queued() == ("never mind, look at b",)
    slow.release.set()
    result = await asyncio.wait_for(run, 1)
    assert results(agent) == [("slow {}", False), (SUPERSEDED, True), (SUPERSEDED, True)]
    assert texts(agent)[-2:] == [("user", "never mind, look at b"), ("assistant", "As you wish.")]
    assert [event.how for event in seen.of("turn:user")] == ["prompt", "steer"]
    assert result.text == "As you wish."
    assert agent.queued() == ()


async def test_steering_while_the_model_writes_its_last_answer_is_not_lost():
    agent = Agent(ScriptedProvider(["first " * 50, "second"], delay=0.002))
    seen = Recorder(agent.hooks)
    run = asyncio.create_task(agent.run("go"))
    while not seen.of("stream:text"):
        await asyncio.sleep(0.001)
    agent.steer("and then?")
    assert (await run).text == "second"


async def test_steering_needs_a_run():
    agent = Agent(ScriptedProvider([]))
    with pytest.raises(ConfigurationError, match="Nothing is running"):
        agent.steer("hello?")
    assert not agent.abort()
    assert not agent.cancel_tool("x")


async def test_follow_ups_are_answered_when_the_run_would_end():
    agent = Agent(ScriptedProvider(["one", "two", "three"]))
    agent.follow_up("then b")
    agent.follow_up("then c")
    result = await agent.run("a")
    assert [turn.text for turn in result.turns] == ["a", "one", "then b", "two", "then c", "three"]


@pytest.mark.parametrize("sequential", [True, False])
async def test_a_failed_shell_call_cancels_its_siblings(sequential):
    slow = Slow()

    async def shell(_context):
        if not sequential:
            await slow.started.wait()
        raise OSError("exit code 1")

    kind = "exclusive" if sequential else "shared"
    agent = Agent(
        ScriptedProvider([[call("shell"), call("slow")], "I see."]),
        tools=[simple_tool("shell", shell, concurrency=kind), simple_tool("slow", slow, concurrency=kind)],
    )
    assert (await asyncio.wait_for(agent.run("go"), 2)).text == "I see."
    assert results(agent) == [("OSError: exit code 1", True), (CASCADED, True)]
    assert slow.ended == ([] if sequential else ["cancelled"])


async def test_abort_from_another_thread():
    slow = Slow()
    agent = Agent(ScriptedProvider([[call("slow")]]), tools=[simple_tool("slow", slow)])
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    await asyncio.to_thread(agent.abort)
    assert (await asyncio.wait_for(run, 1)).status == "aborted"


async def test_a_cascade_reaches_sibling_shell_calls_too():
    slow = Slow()

    async def shell(_context, which):
        if which == "bad":
            await slow.started.wait()
            raise OSError("exit code 1")
        return await slow(_context)

    agent = Agent(
        ScriptedProvider([[call("shell", which="bad"), call("shell", which="long")], "I see."]),
        tools=[simple_tool("shell", shell, concurrency="shared")],
    )
    await asyncio.wait_for(agent.run("go"), 2)
    assert results(agent) == [("OSError: exit code 1", True), (CASCADED, True)]


class Waiting:
    """A gate that takes its time, as a person does."""

    def __init__(self, agent, name):
        self.asked, self.answered, self.name = asyncio.Event(), asyncio.Event(), name
        agent.hooks.on("tool:gate", self)

    async def __call__(self, event):
        if event.tool == self.name:
            self.asked.set()
            await self.answered.wait()


async def test_what_waits_for_permission_does_not_start_after_a_steer():
    agent = Agent(ScriptedProvider([[call("echo", text="x")], "As you wish."]), tools=[simple_tool("echo", echo)])
    gate = Waiting(agent, "echo")
    run = asyncio.create_task(agent.run("go"))
    await gate.asked.wait()
    agent.steer("rather not")
    gate.answered.set()
    assert (await asyncio.wait_for(run, 1)).text == "As you wish."
    assert results(agent) == [(SUPERSEDED, True)]


async def test_what_waits_for_permission_does_not_start_after_a_cascade():
    ran = []

    async def other(_context):
        ran.append("other")
        return "ran"

    async def shell(_context):
        raise OSError("exit code 1")

    agent = Agent(
        ScriptedProvider([[call("shell"), call("other")], "I see."]),
        tools=[simple_tool("shell", shell, concurrency="shared"), simple_tool("other", other, concurrency="shared")],
    )
    gate = Waiting(agent, "other")
    agent.hooks.on("tool:after", lambda _event: gate.answered.set())
    await asyncio.wait_for(agent.run("go"), 2)
    assert (ran, results(agent)) == ([], [("OSError: exit code 1", True), (CASCADED, True)])


async def test_a_call_that_waits_its_turn_can_be_cancelled_and_unknown_ones_cannot():
    slow = Slow()
    agent = Agent(
        ScriptedProvider([[call("slow"), call("echo", text="x")], "fine"]),
        tools=[simple_tool("slow", slow), simple_tool("echo", echo)],
    )
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    assert not agent.cancel_tool("nonsense")
    assert agent.cancel_tool(agent.session.turns[-1].tool_calls[1].id)
    slow.release.set()
    await asyncio.wait_for(run, 1)
    assert results(agent) == [("slow {}", False), (CANCELLED, True)]


async def test_a_steering_message_dies_with_the_run_it_was_meant_for():
    slow = Slow()
    agent = Agent(
        ScriptedProvider([[call("slow")], [call("echo", text="x")], "ok"]),
        tools=[simple_tool("slow", slow), simple_tool("echo", echo)],
    )
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    agent.steer("too late")
    agent.abort()
    await run
    assert agent.queued() == ()
    await agent.run("again")
    assert results(agent)[-1] == ("echo x", False)


async def test_a_tool_that_exits_is_an_error_result():
    async def leaving(_context):
        raise SystemExit(7)

    agent = Agent(ScriptedProvider([[call("leaving")], "I see."]), tools=[simple_tool("leaving", leaving)])
    assert (await agent.run("go")).text == "I see."
    assert results(agent) == [("SystemExit: 7", True)]


async def test_a_steer_after_the_last_word_is_refused_rather_than_lost():
    agent = Agent(ScriptedProvider(["done"]))
    heard = []

    async def say_it_late():
        while not (agent._task is not None and agent._task.done()):
            await asyncio.sleep(0)
        with pytest.raises(ConfigurationError, match="Nothing is running"):
            agent.steer("listen!")
        heard.append(agent.queued())

    late = asyncio.create_task(say_it_late())
    await agent.run("hi")
    await late
    assert heard == [()]


async def test_what_was_said_to_a_run_that_failed_is_handed_back():
    started, go = asyncio.Event(), asyncio.Event()

    class Failing(ScriptedProvider):
        async def stream(self, request):
            started.set()
            await go.wait()
            raise QuotaError("Nothing is left.")
            yield  # an async generator

    agent = Agent(Failing(["never"]))
    seen = Recorder(agent.hooks)
    run = asyncio.create_task(agent.run("go"))
    await started.wait()
    agent.steer("Use the other file")
    agent.follow_up("And then plot it")
    go.set()
    with pytest.raises(QuotaError):
        await run
    (done,) = seen.of("agent:done")
    assert done.unread == ("Use the other file", "And then plot it")
    assert agent.queued() == ()


async def test_what_a_stopped_tool_had_brought_passes_the_handlers_of_results():
    started, seen = asyncio.Event(), []

    async def work(_context):
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "half of it"

    def note(event):
        seen.append(event.result.text)
        event.result = replace(event.result, metadata={"noted": True})

    agent = Agent(ScriptedProvider([call("work")]), tools=[simple_tool("work", work)])
    agent.hooks.on(ToolTransform, note)
    run = asyncio.create_task(agent.run("go"))
    await started.wait()
    agent.abort()
    await run
    assert seen == [f"{INTERRUPTED}\nhalf of it"]
    (kept,) = [result for turn in agent.session.turns for result in turn.tool_results]
    assert kept.metadata == {"noted": True}
