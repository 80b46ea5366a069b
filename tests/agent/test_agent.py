"""The loop: order of events, batches, failures, and what each of them leaves in the conversation."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.agent.support import Recorder, Slow, echo, simple_tool, texts
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.errors import (
    BudgetExceededError,
    ConfigurationError,
    NetworkError,
    RateLimitError,
    StreamInterruptedError,
    ToolError,
)
from zidane_lab.events import ContextTransform, SystemTransform, ToolGate, ToolTransform
from zidane_lab.providers.base import TextDelta, ThinkingDelta
from zidane_lab.providers.scripted import ScriptedProvider, call, say, think
from zidane_lab.turns import TextBlock, ThinkingBlock, ToolResultBlock, Usage

pytestmark = pytest.mark.asyncio


def agent_with(*answers, tools=(), **options):
    return Agent(ScriptedProvider(answers, usage=options.pop("usage", None)), tools=tools, **options)


async def test_a_plain_answer_is_streamed_stored_and_returned():
    agent = agent_with("Hello, world.")
    seen = Recorder(agent.hooks)
    result = await agent.run("Hi")
    assert (result.status, result.finish, result.text) == ("completed", "stop", "Hello, world.")
    assert texts(agent) == [("user", "Hi"), ("assistant", "Hello, world.")]
    assert "".join(event.text for event in seen.of("stream:text")) == "Hello, world."
    names = seen.names()
    assert names[:3] == ["agent:start", "system:transform", "turn:user"]
    assert names[-4:] == ["stream:end", "turn:after", "turn:boundary", "agent:done"]


async def test_every_event_of_a_run_carries_its_ids():
    agent = agent_with([call("echo", text="x")], "done", tools=[simple_tool("echo", echo)], name="scout", depth=2)
    seen = Recorder(agent.hooks)
    result = await agent.run("go")
    assert {(e.ids.run_id, e.ids.depth, e.ids.agent_name) for e in seen.events} == {(result.run_id, 2, "scout")}
    call_id = agent.session.turns[1].tool_calls[0].id
    for name in ("tool:gate", "tool:before", "tool:after", "tool:transform"):
        (event,) = seen.of(name)
        assert (event.ids.call_id, event.ids.turn_id) == (call_id, agent.session.turns[1].id)


async def test_a_tool_is_called_and_its_result_goes_back_to_the_model():
    agent = agent_with([say("Looking."), call("echo", text="x")], "It says echo x.", tools=[simple_tool("echo", echo)])
    result = await agent.run("go")
    assert texts(agent)[1:3] == [("assistant", "Looking."), ("user", "echo x")]
    request = agent.provider.requests[1]
    assert request.turns[-1].tool_results[0].text == "echo x"
    assert [spec.name for spec in request.tools] == ["echo"]
    assert result.turns == agent.session.turns


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ValueError("no such column"), "ValueError: no such column"),
        (ToolError("The file is gone.", hint="List the folder."), "The file is gone. List the folder."),
        (KeyError("x"), "KeyError: 'x'"),
    ],
)
async def test_a_raising_tool_is_an_error_result_and_the_run_goes_on(raised, expected):
    async def broken(_context):
        raise raised

    agent = agent_with([call("broken")], "I see.", tools=[simple_tool("broken", broken)])
    result = await agent.run("go")
    (outcome,) = agent.session.turns[2].tool_results
    assert (outcome.is_error, outcome.text, result.text) == (True, expected, "I see.")


async def test_an_unknown_tool_names_near_ones():
    agent = agent_with([call("ecko")], "sorry", tools=[simple_tool("echo", echo)])
    await agent.run("go")
    assert agent.session.turns[2].tool_results[0].text == "There is no tool named 'ecko'. Did you mean echo?"


async def test_shared_calls_overlap_and_exclusive_ones_do_not():
    running, most = 0, {"shared": 0, "exclusive": 0}

    def counted(kind):
        async def body(_context):
            nonlocal running
            running += 1
            most[kind] = max(most[kind], running)
            await asyncio.sleep(0.01)
            running -= 1
            return kind

        return simple_tool(kind, body, concurrency=kind)

    tools = [counted("shared"), counted("exclusive")]
    batch = [call("shared"), call("shared"), call("exclusive"), call("exclusive"), call("shared")]
    agent = agent_with(batch, "ok", tools=tools)
    await agent.run("go")
    assert most == {"shared": 2, "exclusive": 1}
    assert [r.text for r in agent.session.turns[2].tool_results] == [
        "shared", "shared", "exclusive", "exclusive", "shared",
    ]  # fmt: skip
    agent = agent_with(batch, "ok", tools=tools, behavior=Behavior(tool_execution="sequential"))
    most["shared"] = 0
    await agent.run("go")
    assert most["shared"] == 1


async def test_the_gate_can_block_rewrite_or_answer():
    tools = [simple_tool("echo", echo)]
    agent = agent_with([call("echo", text="a"), call("echo", text="b"), call("echo", text="c")], "ok", tools=tools)

    def gate(event: ToolGate) -> None:
        if event.input["text"] == "a":
            event.block = "not today"
        elif event.input["text"] == "b":
            event.input = {"text": "B"}
        else:
            event.result = ToolResultBlock("", (TextBlock("from the gate"),))

    agent.hooks.on(ToolGate, gate)
    seen = Recorder(agent.hooks)
    await agent.run("go")
    results = agent.session.turns[2].tool_results
    assert [(r.text, r.is_error) for r in results] == [
        ("Blocked: not today", True), ("echo B", False), ("from the gate", False),
    ]  # fmt: skip
    assert [event.outcome for event in seen.of("tool:after")] == ["blocked", "ok", "ok"]
    assert len(seen.of("tool:before")) == 1


async def test_a_gate_that_raises_fails_closed():
    agent = agent_with([call("echo", text="x")], "ok", tools=[simple_tool("echo", echo)])
    agent.hooks.on(ToolGate, lambda _event: 1 / 0)
    seen = Recorder(agent.hooks)
    await agent.run("go")
    (outcome,) = agent.session.turns[2].tool_results
    assert outcome.is_error
    assert "permission check itself failed" in outcome.text
    assert seen.of("hook:failed")[0].error == "ZeroDivisionError: division by zero"
    assert not seen.of("tool:before")


async def test_transforms_change_what_is_sent_but_not_what_is_stored():
    agent = agent_with([call("echo", text="secret")], "ok", tools=[simple_tool("echo", echo)], system="Be kind.")

    def more(event: SystemTransform) -> None:
        event.system += " Be brief."

    def shout(event: ContextTransform) -> None:
        first = event.turns[0]
        event.turns = (replace(first, blocks=(TextBlock(first.text.upper()),)), *event.turns[1:])

    async def redact(event: ToolTransform) -> None:
        event.result = replace(event.result, parts=(TextBlock(event.result.text.replace("secret", "***")),))

    agent.hooks.on(SystemTransform, more)
    agent.hooks.on(ContextTransform, shout)
    agent.hooks.on(ToolTransform, redact)
    await agent.run("go")
    first, second = agent.provider.requests
    assert (first.system, first.turns[0].text) == ("Be kind. Be brief.", "GO")
    assert second.turns[-1].tool_results[0].text == "echo ***"
    assert agent.session.turns[0].text == "go"
    assert agent.session.turns[2].tool_results[0].text == "echo ***"


async def test_thinking_is_kept_with_its_producer():
    agent = agent_with([think("hm"), say("yes")])
    await agent.run("go")
    thinking, said = agent.session.turns[1].blocks
    assert isinstance(thinking, ThinkingBlock)
    assert (thinking.text, thinking.producer, said) == ("hm", "scripted", TextBlock("yes"))


async def test_max_turns_ends_the_run_with_a_valid_conversation():
    agent = agent_with(*[[call("echo", text=str(n))] for n in range(5)], tools=[simple_tool("echo", echo)])
    with pytest.raises(BudgetExceededError, match="turns budget") as caught:
        await agent.run("go", behavior=Behavior(max_turns=2))
    result = caught.value.result
    assert (result.status, len(agent.provider.requests)) == ("error", 2)
    assert agent.session.turns[-1].tool_results[0].text == "echo 1"
    assert agent.session.runs[-1].status == "error"


async def test_max_cost_ends_the_run_before_more_is_spent():
    class Metered(ScriptedProvider):
        capabilities = replace(ScriptedProvider.capabilities, metered=True)

        def price_known(self, model):
            return True

    provider = Metered([[call("echo", text="x")], "never asked"], usage=Usage(input=10, output=5, cost=0.02))
    agent = Agent(provider, tools=[simple_tool("echo", echo)], behavior=Behavior(max_cost=0.01))
    seen = Recorder(agent.hooks)
    with pytest.raises(BudgetExceededError, match="cost budget"):
        await agent.run("go")
    assert len(provider.requests) == 1
    assert "Not run: The cost budget" in agent.session.turns[-1].tool_results[0].text
    (done,) = seen.of("agent:done")
    assert (done.error_code, done.usage.cost) == ("budget_exceeded", 0.02)


async def test_an_answer_that_is_complete_is_not_failed_for_its_cost():
    class Metered(ScriptedProvider):
        capabilities = replace(ScriptedProvider.capabilities, metered=True)

        def price_known(self, model):
            return True

    agent = Agent(Metered(["done"], usage=Usage(output=5, cost=0.5)), behavior=Behavior(max_cost=0.01))
    result = await agent.run("go")
    assert (result.status, result.usage.cost) == ("completed", 0.5)


async def test_what_is_attached_is_no_part_of_what_was_asked():
    agent = agent_with("ok")
    seen = Recorder(agent.hooks)
    await agent.run([TextBlock("Look at @df"), TextBlock("[attached] df: …")])
    assert seen.of("agent:start")[0].prompt == "Look at @df"
    assert agent.session.runs[0].prompt == "Look at @df"


async def test_max_cost_is_refused_where_no_price_is_known():
    class Metered(ScriptedProvider):
        capabilities = replace(ScriptedProvider.capabilities, metered=True)

    agent = Agent(Metered(["x", "y"], usage=Usage(input=10, output=5)), behavior=Behavior(max_cost=1))
    with pytest.raises(ConfigurationError, match="price of scripted/script is not known"):
        await agent.run("go")
    assert agent.provider.requests == []  # nothing was spent
    assert agent.session.turns == ()


@pytest.mark.parametrize("error", [RateLimitError("Too fast."), NetworkError("No route.")])
async def test_a_provider_failure_is_raised_recorded_and_keeps_what_was_shown(error):
    agent = agent_with([TextDelta("So far "), TextDelta("so good"), error])
    seen = Recorder(agent.hooks)
    with pytest.raises(type(error)) as caught:
        await agent.run("go")
    assert texts(agent) == [("user", "go"), ("assistant", "So far so good")]
    assert caught.value.result.text == "So far so good"
    (done,) = seen.of("agent:done")
    assert (done.status, done.error_code, done.error) == ("error", error.code, str(error))
    assert agent.session.runs[-1].error == str(error)


async def test_a_stream_that_just_ends_is_an_error():
    agent = agent_with([ThinkingDelta("…"), TextDelta("half")])
    with pytest.raises(StreamInterruptedError):
        await agent.run("go")


async def test_a_broken_provider_is_reported_once_and_the_agent_can_go_on():
    agent = agent_with(RuntimeError("bug"), "fine")
    seen = Recorder(agent.hooks)
    with pytest.raises(RuntimeError, match="bug"):
        await agent.run("go")
    assert len(seen.of("agent:done")) == 1
    assert (await agent.run("again")).text == "fine"


async def test_an_empty_prompt_and_a_second_run_are_refused():
    agent = agent_with([call("slow")], "ok")
    slow = Slow()
    agent.tools["slow"] = simple_tool("slow", slow)
    with pytest.raises(ConfigurationError, match="empty"):
        await agent.run("  ")
    assert agent.session.turns == ()
    run = asyncio.create_task(agent.run("go"))
    await slow.started.wait()
    with pytest.raises(ConfigurationError, match="already running"):
        await agent.run("me too")
    slow.release.set()
    assert (await run).text == "ok"


async def test_usage_is_summed_over_turns():
    usage = Usage(input=10, output=4, cache_read=100)
    agent = agent_with([call("echo", text="x")], "ok", tools=[simple_tool("echo", echo)], usage=usage)
    result = await agent.run("go")
    assert result.usage == Usage(input=20, output=8, cache_read=200)
    assert result.usage.context == 220


async def test_two_runs_share_the_conversation_and_have_ids_of_their_own():
    agent = agent_with("one", "two")
    first, second = await agent.run("a"), await agent.run("b")
    assert (first.run_id, second.run_id) == ("run_1", "run_2")
    assert [turn.text for turn in agent.provider.requests[1].turns] == ["a", "one", "b"]
    assert [turn.text for turn in second.turns] == ["b", "two"]


async def test_arguments_that_are_no_object_never_reach_the_tool():
    from zidane_lab.providers.base import Finish, ToolCallEnd, ToolCallStart

    broken = [ToolCallStart(0, "c1", "echo"), ToolCallEnd(0, "c1", "echo", {}, '{"text": "un'), Finish("length")]
    agent = agent_with(broken, "ok", tools=[simple_tool("echo", echo)])
    await agent.run("go")
    (outcome,) = agent.session.turns[2].tool_results
    assert outcome.is_error
    assert "not a JSON object" in outcome.text
