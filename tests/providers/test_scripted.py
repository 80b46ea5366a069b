"""Answers written beforehand."""

from __future__ import annotations

import asyncio
import json

import pytest

from zidane_lab.errors import ConfigurationError, OverloadedError, RateLimitError, StreamInterruptedError
from zidane_lab.providers.base import (
    Finish,
    Provider,
    Request,
    TextDelta,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from zidane_lab.providers.registry import create_provider, split_model
from zidane_lab.providers.script_file import read_script
from zidane_lab.providers.scripted import Script, ScriptedProvider, call, fail, say, stall, think
from zidane_lab.turns import ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, Turn, Usage

pytestmark = pytest.mark.asyncio


def ask(*turns, model="script"):
    return Request(model, "", turns or (Turn("user", (TextBlock("hi"),)),))


async def events_of(provider, request=None):
    return [event async for event in provider.stream(request or ask())]


async def drain(stream, into):
    async for event in stream:
        into.append(event)


async def test_it_is_a_provider_that_costs_nothing():
    provider = ScriptedProvider([])
    assert isinstance(provider, Provider)
    assert not provider.capabilities.metered
    await provider.aclose()


async def test_text_comes_in_pieces():
    assert await events_of(ScriptedProvider(["Hello world"], chunk_size=4)) == [
        TextDelta("Hell"),
        TextDelta("o wo"),
        TextDelta("rld"),
        Finish("stop"),
    ]


async def test_thinking_text_and_calls():
    provider = ScriptedProvider([[think("hm"), say("Now."), call("add", a=1, name="x"), call("now")]])
    assert await events_of(provider) == [
        ThinkingDelta("hm"),
        ThinkingEnd(),
        TextDelta("Now."),
        ToolCallStart(2, "call_1", "add"),
        ToolCallDelta(2, '{"a": 1, "name":'),
        ToolCallDelta(2, ' "x"}'),
        ToolCallEnd(2, "call_1", "add", {"a": 1, "name": "x"}),
        ToolCallStart(3, "call_2", "now"),
        ToolCallDelta(3, "{}"),
        ToolCallEnd(3, "call_2", "now", {}),
        Finish("tool-calls"),
    ]


async def test_a_turn_is_played_with_its_ids_seals_and_usage():
    turn = Turn(
        "assistant",
        (ThinkingBlock("", "data", None, redacted=True), ToolCallBlock("mine", "f", {}, raw="{oops")),
        usage=Usage(5, 6),
    )
    events = await events_of(ScriptedProvider([turn], usage=Usage(1, 1)))
    assert events == [
        ThinkingEnd("data", redacted=True),
        ToolCallStart(1, "mine", "f"),
        ToolCallDelta(1, "{oops"),
        ToolCallEnd(1, "mine", "f", {}, "{oops"),
        UsageUpdate(Usage(5, 6)),
        Finish("tool-calls"),
    ]


async def test_usage_is_reported_when_given():
    assert await events_of(ScriptedProvider(["x"], usage=Usage(3, 4, cost=0.5))) == [
        TextDelta("x"),
        UsageUpdate(Usage(3, 4, cost=0.5)),
        Finish("stop"),
    ]


async def test_a_stream_of_events_is_played_as_it_is():
    events = [TextDelta("a"), UsageUpdate(Usage(1)), Finish("length")]
    assert await events_of(ScriptedProvider([events], usage=Usage(9, 9))) == events


async def test_a_stream_without_its_end_is_cut_off():
    got = []
    with pytest.raises(StreamInterruptedError, match="cuts the answer off"):
        await drain(ScriptedProvider([[TextDelta("par"), say("tial")]]).stream(ask()), got)
    assert got == [TextDelta("par"), TextDelta("tial")]


@pytest.mark.parametrize(
    "answer", [OverloadedError("busy"), [say("par"), OverloadedError("busy")], lambda request: OverloadedError("busy")]
)
async def test_failures(answer):
    provider = ScriptedProvider([answer, "then fine"])
    with pytest.raises(OverloadedError, match="busy"):
        await events_of(provider)
    assert (await events_of(provider))[0] == TextDelta("then fine")


async def test_failing_so_many_times_and_then_answering():
    provider = ScriptedProvider([*fail(RateLimitError("slow", retry_after=3), "half", times=2), "whole"])
    for _ in range(2):
        got = []
        with pytest.raises(RateLimitError, match="slow") as caught:
            await drain(provider.stream(ask()), got)
        assert got == [TextDelta("half")]
        assert caught.value.retry_after == 3
    assert await events_of(provider) == [TextDelta("whole"), Finish("stop")]


async def test_a_failure_is_a_new_one_each_time():
    cause = ValueError("why")
    error = OverloadedError("busy", hint="Wait.")
    error.__cause__ = cause
    provider = ScriptedProvider([error], loop=True)
    for _ in range(3):
        with pytest.raises(OverloadedError) as caught:
            await events_of(provider)
        caught.value.add_hint("Tried.")
        assert (str(caught.value), caught.value.__cause__) == ("busy Wait. Tried.", cause)
    assert error.hint == "Wait."


async def test_silence_in_the_middle_of_an_answer():
    provider = ScriptedProvider([["one", stall(0.0), "two"], ["half", stall(60)]])
    assert await events_of(provider) == [TextDelta("one"), TextDelta("two"), Finish("stop")]
    got = []
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(drain(provider.stream(ask()), got), 0.1)
    assert got == [TextDelta("half")]


async def test_a_function_answers_the_request():
    async def later(request):
        await asyncio.sleep(0)
        return lambda again: [say(f"{request.model}!"), call("f")]

    provider = ScriptedProvider([lambda request: request.turns[-1].text.upper(), later])
    assert (await events_of(provider))[0] == TextDelta("HI")
    assert (await events_of(provider))[0] == TextDelta("script!")


async def test_every_request_is_kept():
    provider = ScriptedProvider(["a", OverloadedError("x")])
    first, second = ask(), ask(model="other")
    await events_of(provider, first)
    with pytest.raises(OverloadedError):
        await events_of(provider, second)
    assert provider.requests == [first, second]


async def test_a_script_that_is_used_up_says_so():
    provider = ScriptedProvider(["only"])
    await events_of(provider)
    with pytest.raises(ConfigurationError, match=r"used up: it has 1 answer\(s\), and this is request 2"):
        await events_of(provider)
    with pytest.raises(ConfigurationError, match=r"has 0 answer\(s\)"):
        await events_of(ScriptedProvider([], loop=True))


async def test_a_loop_starts_again_and_ids_go_on():
    provider = ScriptedProvider([call("f")], loop=True)
    ids = [event.id for _ in range(3) for event in await events_of(provider) if isinstance(event, ToolCallEnd)]
    assert ids == ["call_1", "call_2", "call_3"]


async def test_ids_are_new_to_a_conversation_that_was_resumed():
    old = (
        Turn("user", (TextBlock("x"),)),
        Turn("assistant", (ToolCallBlock("call_1", "f"), ToolCallBlock("call_2", "f"))),
        Turn("user", (ToolResultBlock("call_1"), ToolResultBlock("call_2"))),
    )
    events = await events_of(ScriptedProvider([call("f")]), ask(*old))
    assert events[0] == ToolCallStart(0, "call_3", "f")


async def test_what_no_model_answers_is_refused():
    with pytest.raises(ConfigurationError, match="cannot answer with a ImageBlock"):
        await events_of(ScriptedProvider([ImageBlock("image/png", b"")]))


async def test_a_slow_answer_can_be_stopped_at_once():
    provider = ScriptedProvider(["x" * 1000], chunk_size=1, delay=0.01)
    got = []

    async def read():
        async for event in provider.stream(ask()):
            got.append(event)

    task = asyncio.create_task(read())
    while len(got) < 3:
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(got) < 100


async def test_without_delay_a_reader_can_still_be_cancelled():
    provider = ScriptedProvider(["x" * 100_000], chunk_size=1)
    task = asyncio.create_task(events_of(provider))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# --- files ----------------------------------------------------------------------------------------

SCRIPT = {
    "answers": [
        {
            "thinking": "hm",
            "text": "Now.",
            "calls": [{"name": "add", "arguments": {"a": 1}}, {"name": "now"}],
            "usage": {"input": 7, "cost": 0.25},
        },
        "Done.",
        {"text": "par", "error": {"code": "rate_limit", "message": "slow down", "retry_after": 1.5}},
        {"error": {"code": "stream_interrupted"}},
    ],
    "chunk_size": 3,
    "usage": {"input": 1, "output": 2},
}


@pytest.fixture
def script(tmp_path):
    def write(content):
        path = tmp_path / "answers.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


async def test_a_file_is_played(script):
    provider = ScriptedProvider.from_file(script(SCRIPT))
    events = await events_of(provider)
    assert events[:3] == [ThinkingDelta("hm"), ThinkingEnd(), TextDelta("Now")]
    assert [event for event in events if isinstance(event, ToolCallEnd)] == [
        ToolCallEnd(2, "call_1", "add", {"a": 1}),
        ToolCallEnd(3, "call_2", "now", {}),
    ]
    assert events[-2:] == [UsageUpdate(Usage(7, cost=0.25)), Finish("tool-calls")]
    assert await events_of(provider) == [TextDelta("Don"), TextDelta("e."), UsageUpdate(Usage(1, 2)), Finish("stop")]
    with pytest.raises(RateLimitError, match="slow down") as caught:
        await events_of(provider)
    assert caught.value.retry_after == 1.5
    with pytest.raises(StreamInterruptedError):
        await events_of(provider)


async def test_a_list_of_answers_is_a_script_and_a_loop_works(script):
    assert read_script(script(["a"])) == Script(["a"], chunk_size=16, delay=0, usage=None, loop=False)
    assert (await events_of(ScriptedProvider.from_file(script(["a"]))))[0] == TextDelta("a")
    provider = ScriptedProvider.from_file(script({"answers": ["a"], "loop": True, "delay": 0}))
    assert await events_of(provider) == await events_of(provider)


async def test_a_model_may_name_the_file(script, monkeypatch):
    path = script(["one", "two"])
    name, model = split_model(f"scripted/{path}")
    provider = create_provider(name, env={})
    assert (await events_of(provider, ask(model=model)))[0] == TextDelta("one")
    assert (await events_of(provider, ask(model=model)))[0] == TextDelta("two")
    monkeypatch.chdir(path.parent)
    assert (await events_of(create_provider("scripted"), ask(model="answers.json")))[0] == TextDelta("one")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{broken", "cannot be read"),
        ("3", "the script is no JSON object"),
        ({}, "answers should be a list"),
        ({"answers": [], "speed": 3}, "the script has the unknown key 'speed'; known are answers, chunk_size"),
        ({"answers": [3]}, "answer 1 is no JSON object"),
        ({"answers": ["a", {"txt": "b"}]}, "answer 2 has the unknown key 'txt'"),
        ({"answers": [{"text": 3}]}, "'text' of answer 1 should be a text"),
        ({"answers": [{"calls": {}}]}, "calls of answer 1 should be a list"),
        ({"answers": [{"calls": [{}]}]}, "'name' of a call of answer 1 should be a text"),
        (
            {"answers": [{"calls": [{"name": "f", "arguments": [1]}]}]},
            "the arguments of a call of answer 1 are no object",
        ),
        ({"answers": [{"error": {"code": "tired"}}]}, "has an unknown code; known are auth, rate_limit"),
        ({"answers": [{"usage": {"tokens": 3}}]}, "the usage of answer 1 has the unknown key"),
        ({"answers": [], "chunk_size": 0}, "'chunk_size' of the script should be a number of at least 1"),
        ({"answers": [], "delay": "slow"}, "'delay' of the script should be a number of at least 0"),
    ],
)
async def test_a_file_of_another_form_is_refused_with_the_place(script, content, message):
    path = script(content)
    with pytest.raises(ConfigurationError, match=message) as caught:
        ScriptedProvider.from_file(path)
    assert str(path) in str(caught.value)


async def test_a_file_that_is_not_there():
    with pytest.raises(ConfigurationError, match="'script' cannot be read"):
        await events_of(create_provider("scripted"))
