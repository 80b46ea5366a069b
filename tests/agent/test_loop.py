"""Between two answers: what the model is told in the person's place, and that no call is left without a result."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.runs import QUICK, FullDisk, cut, open_calls, others
from tests.agent.support import Recorder, Slow, echo, simple_tool, texts
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.budgets import Budgets
from zidane_lab.agent.resume import CONTINUE_LENGTH, CONTINUE_PAUSE, RETRY_REFUSAL, ResumePolicy
from zidane_lab.errors import AbortedError, LengthResumeExhaustedError, SessionError
from zidane_lab.events import Injection, TurnBoundary
from zidane_lab.providers.base import Finish, ThinkingDelta, ToolCallEnd, ToolCallStart
from zidane_lab.providers.scripted import ScriptedProvider, call, say
from zidane_lab.turns import TextBlock, Turn, Usage
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.markers import INTERRUPTED

pytestmark = pytest.mark.asyncio

ECHO = [simple_tool("echo", echo)]


def agent_with(*answers, resume=None, **options):
    behavior = Behavior(retry=QUICK, resume=resume or ResumePolicy())
    return Agent(ScriptedProvider(answers), behavior=options.pop("behavior", behavior), **options)


def injected(agent):
    return [(turn.text, turn.injected) for turn in agent.session.turns if turn.injected]


def inject_once(agent, *injections):
    """Have a handler add something to the first boundary."""
    waiting = list(injections)

    def add(event: TurnBoundary) -> None:
        event.inject += waiting
        waiting.clear()

    agent.hooks.on(TurnBoundary, add)


# --- abnormal ends --------------------------------------------------------------------------------


async def test_an_answer_that_was_cut_is_continued():
    agent = agent_with(cut("The first half", "length"), cut(" and the second", "stop"))
    seen = Recorder(agent.hooks)
    result = await agent.run("go")
    assert texts(agent)[1:] == [
        ("assistant", "The first half"), ("user", CONTINUE_LENGTH), ("assistant", " and the second"),
    ]  # fmt: skip
    assert injected(agent) == [(CONTINUE_LENGTH, "length-resume")]
    assert (result.finish, [event.how for event in seen.of("turn:user")]) == ("stop", ["prompt", "injected"])
    assert [event.index for event in seen.of("turn:before")] == [0, 1]
    assert seen.of("agent:done")[0].turns == 2


async def test_continuations_come_to_an_end_with_what_there_is():
    agent = agent_with(*[cut(str(n), "length") for n in range(4)], resume=ResumePolicy(most_length_resumes=2))
    result = await agent.run("go")
    assert (result.status, result.finish, len(agent.provider.requests)) == ("completed", "length", 3)


async def test_a_model_that_spends_its_output_on_nothing_is_an_error():
    spin = [ThinkingDelta("hm"), Finish("length")]
    agent = agent_with(*[spin] * 9)
    with pytest.raises(LengthResumeExhaustedError) as caught:
        await agent.run("go")
    assert (caught.value.consecutive_empty_turns, len(agent.provider.requests)) == (3, 3)
    assert (caught.value.result.status, agent.session.runs[-1].status) == ("error", "error")
    assert wire_turns(agent.session.turns)[-1].role == "user"
    agent.provider = ScriptedProvider(["fine"])
    assert (await agent.run("again")).text == "fine"


async def test_a_call_that_was_cut_is_answered_and_not_continued():
    torn = [ToolCallStart(0, "c1", "echo"), ToolCallEnd(0, "c1", "echo", {}, '{"te'), Finish("length")]
    agent = agent_with(torn, "ok", tools=ECHO)
    await agent.run("go")
    assert (injected(agent), open_calls(agent)) == ([], set())


async def test_a_refused_request_is_put_once_more():
    agent = agent_with(cut("No.", "refusal"), cut("Still no.", "refusal"))
    result = await agent.run("go")
    assert injected(agent) == [(RETRY_REFUSAL, "refusal-retry")]
    assert (result.status, result.finish, result.text) == ("completed", "refusal", "Still no.")


async def test_a_paused_answer_goes_on():
    agent = agent_with(cut("Searching…", "pause"), cut("", "pause"), "Found it.")
    result = await agent.run("go")
    assert injected(agent) == [(CONTINUE_PAUSE, "pause-resume")] * 2
    assert (result.text, result.finish) == ("Found it.", "stop")


async def test_nothing_is_continued_where_that_was_not_asked_for():
    policy = ResumePolicy(on_length=False, refusal_retries=0, pause_resumes=0)
    for reason in ("length", "refusal", "pause", "other"):
        agent = agent_with(cut("half", reason), resume=policy)
        assert (await agent.run("go")).finish == reason
        assert injected(agent) == []


# --- what handlers say ----------------------------------------------------------------------------


async def test_a_handler_may_let_a_finished_run_go_on():
    agent = agent_with("I am done.", "Now I really am.")
    inject_once(agent, Injection("validation", "The answer lacks a number."), Injection("progress-nudge", "Go on."))
    seen = Recorder(agent.hooks)
    result = await agent.run("go")
    assert injected(agent) == [("The answer lacks a number.", "validation"), ("Go on.", "progress-nudge")]
    assert result.text == "Now I really am."
    assert [(event.index, event.turn.text) for event in seen.of("turn:boundary")] == [
        (0, "I am done."), (1, "Now I really am."),
    ]  # fmt: skip
    assert [request.turns[-1].text for request in agent.provider.requests] == ["go", "Go on."]


async def test_what_is_said_behind_a_batch_comes_after_its_results():
    agent = agent_with([call("echo", text="x")], "ok", tools=ECHO)
    boundaries = []
    agent.hooks.on(TurnBoundary, boundaries.append)
    inject_once(agent, Injection("tool-output-budget", "Keep outputs short."))
    await agent.run("go")
    assert texts(agent)[2:4] == [("user", "echo x"), ("user", "Keep outputs short.")]
    assert [event.results for event in boundaries] == [agent.session.turns[2], None]


async def test_a_handler_sees_what_the_loop_would_say_and_may_withdraw_it():
    agent = agent_with(cut("half", "length"), "never")
    agent.hooks.on(TurnBoundary, lambda event: event.inject.clear())
    assert (await agent.run("go")).finish == "length"


async def test_a_steering_message_comes_before_anything_else_is_said():
    slow = Slow()
    agent = agent_with([call("slow")], "As you wish.", tools=[simple_tool("slow", slow)])
    inject_once(agent, Injection("progress-nudge", "Go on."))
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    agent.steer("look at b")
    slow.release.set()
    await run
    assert injected(agent) == []
    assert texts(agent)[-2:] == [("user", "look at b"), ("assistant", "As you wish.")]


async def test_follow_ups_wait_until_nothing_else_is_to_be_said():
    agent = agent_with("one", "two", "three")
    agent.follow_up("then b")
    inject_once(agent, Injection("validation", "Check it."))
    await agent.run("a")
    said = [turn.text for turn in agent.session.turns]
    assert said == ["a", "one", "Check it.", "two", "then b", "three"]


async def test_a_broken_handler_of_the_boundary_does_not_end_the_run():
    agent = agent_with("ok")
    agent.hooks.on(TurnBoundary, lambda _event: 1 / 0)
    seen = Recorder(agent.hooks)
    assert (await agent.run("go")).text == "ok"
    assert seen.of("hook:failed")[0].about == "turn:boundary"


# --- no call without a result ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["turn:after", "stream:end", "tool:gate", "tool:before", "tool:after", "turn:boundary"]
)
async def test_a_stop_at_any_event_leaves_every_call_answered(name):
    agent = agent_with([say("Looking."), call("echo", text="1"), call("echo", text="2")], "never", tools=ECHO)
    reached = asyncio.Event()

    async def linger(_event):
        reached.set()
        await asyncio.Event().wait()

    agent.hooks.on(name, linger)
    run = asyncio.create_task(agent.run("go"))
    await reached.wait()
    agent.abort()
    result = await asyncio.wait_for(run, 0.5)
    assert result.status == "aborted"
    assert open_calls(agent) == set()
    assert result.turns == agent.session.turns
    assert wire_turns(agent.session.turns, strict=True)
    assert not others()


@pytest.mark.parametrize("name", ["turn:after", "budget:reached"])
async def test_a_handler_that_stops_the_run_leaves_every_call_answered(name):
    behavior = Behavior(budgets=Budgets.of(tokens=5))
    counted = Turn("assistant", (call("echo", text="1"),), usage=Usage(input=10))
    agent = agent_with(counted, "never", tools=ECHO, behavior=behavior)

    def stop(_event):
        raise AbortedError("Enough.")

    agent.hooks.on(name, stop)
    assert (await agent.run("go")).status == "aborted"
    assert open_calls(agent) == set()


async def test_a_stop_while_somebody_is_asked_for_more_leaves_every_call_answered():
    counted = Turn("assistant", (call("echo", text="1"),), usage=Usage(input=10))
    agent = agent_with(counted, "never", tools=ECHO, behavior=Behavior(budgets=Budgets.of(tokens=5)))
    asked = asyncio.Event()

    async def think_it_over(_event):
        asked.set()
        await asyncio.Event().wait()

    agent.hooks.on("budget:reached", think_it_over)
    run = asyncio.create_task(agent.run("go"))
    await asked.wait()
    agent.abort()
    assert (await asyncio.wait_for(run, 0.5)).status == "aborted"
    assert [result.text for result in agent.session.turns[-1].tool_results] == [INTERRUPTED]


@pytest.mark.parametrize("trips", ["tool_call", "tool_result"])
async def test_a_full_disk_ends_the_run_with_every_call_answered(trips):
    session = FullDisk.session(trips)
    agent = agent_with([call("echo", text="1")], "never", tools=ECHO, session=session)
    with pytest.raises(SessionError):
        await agent.run("go")
    assert open_calls(agent) == set()
    assert session.runs[-1].status == "error"
    agent.provider = ScriptedProvider(["fine"])
    assert (await agent.run("go on")).text == "fine"


async def test_blocks_are_kept_as_they_were_said():
    agent = agent_with("ok")
    await agent.run([TextBlock("Look"), TextBlock("[attached]")])
    assert agent.session.turns[0].blocks == (TextBlock("Look"), TextBlock("[attached]"))
