"""The chat format: streams understood, at OpenAI and at its many imitators."""

from __future__ import annotations

import json

import httpx
import pytest

from zidane_lab.errors import (
    AuthError,
    ContextExceededError,
    OverloadedError,
    ProviderError,
    RateLimitError,
    StreamInterruptedError,
)
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
    ToolSpec,
    UsageUpdate,
)
from zidane_lab.providers.openai_chat import BASE_URL, OpenAIChatProvider
from zidane_lab.providers.openai_request import build_request
from zidane_lab.turns import (
    ImageBlock,
    TextBlock,
    Turn,
    Usage,
)

PNG = ImageBlock("image/png", b"\x89PNG\r\n")
PNG_URL = "data:image/png;base64,iVBORw0K"
LOCAL = "http://localhost:11434/v1"
TOOL = ToolSpec("f", "does it", {"type": "object", "properties": {}})


def user(*blocks):
    return Turn("user", tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks))


def assistant(*blocks):
    return Turn("assistant", tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks))


def ask(*turns, **options):
    return Request(options.pop("model", "gpt-4o"), options.pop("system", ""), turns or (user("hi"),), **options)


def body_of(*turns, base_url=LOCAL, **options):
    return build_request(ask(*turns, **options), base_url=base_url)


def chunk(delta=None, finish=None, **more):
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}],
        **more,
    }


def sse(*payloads, done=True):
    lines = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    return "".join(f"data: {line}\n\n" for line in (*lines, *(["[DONE]"] if done else []))).encode()


def provider_of(content, *, size=11, base_url=BASE_URL, headers=None, seen=None):
    async def pieces():
        for at in range(0, len(content), size):
            yield content[at : at + size]

    def handler(request):
        if seen is not None:
            seen.append(request)
        return httpx.Response(200, headers=headers or {"content-type": "text/event-stream"}, content=pieces())

    return OpenAIChatProvider("key", base_url=base_url, transport=httpx.MockTransport(handler))


async def events_of(provider, **options):
    return [event async for event in provider.stream(ask(**options))]


async def drain(stream, into):
    async for event in stream:
        into.append(event)


async def play(*payloads, done=True, base_url=BASE_URL, size=11, **options):
    return await events_of(provider_of(sse(*payloads, done=done), base_url=base_url, size=size), **options)


def usage_of(events):
    return [event.usage for event in events if isinstance(event, UsageUpdate)][-1]


# --- streams --------------------------------------------------------------------------------------


def test_it_is_a_provider():
    assert isinstance(OpenAIChatProvider("key"), Provider)


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [1, 3, 64, 100_000])
async def test_text_however_it_is_cut(size):
    events = await play(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Grüße, "}),
        chunk({"content": "世界"}),
        chunk(finish="stop"),
        size=size,
    )
    assert events == [TextDelta("Grüße, "), TextDelta("世界"), Finish("stop")]


@pytest.mark.asyncio
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_ends_where_the_answer_begins(field):
    events = await play(
        chunk({field: "Let me "}), chunk({field: "see."}), chunk({"content": "42"}), chunk(finish="stop")
    )
    assert events == [ThinkingDelta("Let me "), ThinkingDelta("see."), ThinkingEnd(), TextDelta("42"), Finish("stop")]


@pytest.mark.asyncio
async def test_reasoning_given_under_both_names_counts_once_and_ends_with_the_answer():
    assert await play(chunk({"reasoning": "hm", "reasoning_content": "hm"}), chunk(finish="length")) == [
        ThinkingDelta("hm"),
        ThinkingEnd(),
        Finish("length"),
    ]


@pytest.mark.asyncio
async def test_content_as_a_list_of_parts():
    assert await play(
        chunk({"content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]}), chunk(finish="stop")
    ) == [TextDelta("Hello"), Finish("stop")]


@pytest.mark.asyncio
async def test_a_call_in_pieces_after_text():
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}
    events = await play(
        chunk({"content": "Now."}),
        chunk({"tool_calls": [first]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]}),
        chunk(finish="tool_calls"),
    )
    assert events == [
        TextDelta("Now."),
        ToolCallStart(0, "call_1", "f"),
        ToolCallDelta(0, '{"a"'),
        ToolCallDelta(0, ": 1}"),
        ToolCallEnd(0, "call_1", "f", {"a": 1}),
        Finish("tool-calls"),
    ]


CALL = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("delta", "reason", "finish"),
    [
        ({"content": "x"}, "stop", "stop"),
        ({"content": "x"}, "length", "length"),
        ({"content": "x"}, "content_filter", "refusal"),
        ({"content": "x"}, "eos", "stop"),
        ({"content": "x"}, "brand_new", "other"),
        ({"content": "x"}, "tool_calls", "stop"),
        ({"refusal": "I cannot."}, "stop", "refusal"),
        (CALL, "tool_calls", "tool-calls"),
        (CALL, "function_call", "tool-calls"),
        (CALL, "stop", "tool-calls"),
        (CALL, "brand_new", "tool-calls"),
        (CALL, "length", "length"),
    ],
)
async def test_why_an_answer_ended(delta, reason, finish):
    assert (await play(chunk(delta), chunk(finish=reason)))[-1] == Finish(finish)


@pytest.mark.asyncio
async def test_a_refusal_is_shown():
    assert TextDelta("I cannot.") in await play(chunk({"refusal": "I cannot."}), chunk(finish="stop"))


@pytest.mark.asyncio
async def test_usage_counts_cached_tokens_apart():
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "total_tokens": 1050,
        "prompt_tokens_details": {"cached_tokens": 800},
        "completion_tokens_details": {"reasoning_tokens": 20},
    }
    events = await play(chunk({"content": "x"}), chunk(finish="stop"), {"choices": [], "usage": usage})
    found = usage_of(events)
    assert (found.input, found.cache_read, found.output, found.reasoning, found.context) == (200, 800, 50, 20, 1000)
    # GPT-4o: $2.50, $1.25 cached and $10 for a million.
    assert found.cost == pytest.approx((200 * 2.5 + 800 * 1.25 + 50 * 10) / 1e6)
    assert isinstance(events[-1], Finish)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": None}, Usage(9, 1)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}, Usage(5, 1, cache_read=4)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
            },
            Usage(2, 1, 4, 3),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 1,
                "total_tokens": 17,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            Usage(9, 8, reasoning=7),
        ),
        (
            {"prompt_tokens": 3, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}},
            Usage(0, 1, cache_read=5),
        ),
        ({"prompt_tokens": "9", "completion_tokens": 1.5, "total_tokens": True}, None),
        ({}, None),
    ],
)
async def test_usage_as_servers_spell_it(raw, usage):
    events = await play(
        chunk({"content": "x"}), chunk(finish="stop", usage=None), {"choices": [], "usage": raw}, base_url=LOCAL
    )
    assert [event.usage for event in events if isinstance(event, UsageUpdate)] == ([usage] if usage else [])


@pytest.mark.asyncio
async def test_running_totals_replace_each_other():
    events = await play(
        *(chunk({"content": "x"}, usage={"prompt_tokens": 5, "completion_tokens": n}) for n in (1, 2, 3)),
        chunk(finish="stop"),
        base_url=LOCAL,
    )
    assert usage_of(events) == Usage(5, 3)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("base_url", "cost"),
    [("https://openrouter.ai/api/v1", 0.25), ("https://proxy.example.com/v1", None), (LOCAL, None)],
)
async def test_only_a_router_that_bills_in_dollars_is_believed(base_url, cost):
    events = await play(
        chunk({"content": "x"}),
        chunk(finish="stop"),
        {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1, "cost": 0.25}},
        base_url=base_url,
    )
    assert usage_of(events).cost == cost


@pytest.mark.asyncio
@pytest.mark.parametrize("done", [True, False])
async def test_the_final_word_may_be_missing_once_the_reason_is_known(done):
    assert (await play(chunk({"content": "x"}), chunk(finish="stop"), done=done))[-1] == Finish("stop")


@pytest.mark.asyncio
async def test_the_reason_may_be_missing_once_the_final_word_came():
    assert (await play(chunk({"content": "x"})))[-1] == Finish("stop")
    assert (await play(chunk(CALL)))[-1] == Finish("tool-calls")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "payloads",
    [
        (),
        (chunk({"content": "x"}),),
        (chunk({"content": "x"}), chunk(CALL)),
        ({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}},),
    ],
)
async def test_neither_reason_nor_final_word_is_an_interruption(payloads):
    got = []
    with pytest.raises(StreamInterruptedError, match="before its end was announced"):
        await drain(provider_of(sse(*payloads, done=False)).stream(ask()), got)
    assert not any(isinstance(event, (Finish, ToolCallEnd)) for event in got)


@pytest.mark.asyncio
@pytest.mark.parametrize("complete", [True, False])
async def test_a_connection_that_breaks(complete):
    async def broken():
        yield sse(chunk({"content": "x"}), *([chunk(finish="stop")] if complete else []), done=False)
        raise httpx.RemoteProtocolError("peer closed connection")

    provider = OpenAIChatProvider("key", transport=httpx.MockTransport(lambda _: httpx.Response(200, content=broken())))
    if complete:
        assert (await events_of(provider))[-1] == Finish("stop")
    else:
        with pytest.raises(StreamInterruptedError, match="broke in the middle"):
            await events_of(provider)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"error": {"message": "Rate limit exceeded", "code": 429}}, RateLimitError),
        (
            chunk(
                {"content": ""},
                "error",
                error={"code": "server_error", "message": "Provider disconnected unexpectedly"},
            ),
            OverloadedError,
        ),
        (
            {"object": "error", "message": "This model's maximum context length is 4096 tokens.", "code": 400},
            ContextExceededError,
        ),
        ({"error": "odd"}, ProviderError),
    ],
)
async def test_an_error_in_the_stream(payload, kind):
    with pytest.raises(kind):
        await play(chunk({"content": "x"}), payload)


@pytest.mark.asyncio
@pytest.mark.parametrize("junk", ["{broken", "[1]", "null"])
async def test_a_damaged_piece_is_an_interruption(junk):
    with pytest.raises(StreamInterruptedError):
        await play(chunk({"content": "x"}), junk)


@pytest.mark.asyncio
async def test_keep_alives_and_chunks_of_odd_form_are_passed_over():
    content = b": OPENROUTER PROCESSING\n\n" + sse(
        {"choices": []},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"delta": None}]},
        chunk({"content": None, "tool_calls": None, "role": "assistant"}),
        chunk(finish="stop"),
    )
    assert await events_of(provider_of(content)) == [Finish("stop")]


@pytest.mark.asyncio
async def test_an_answer_in_one_piece():
    whole = {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "reasoning_content": "hm",
                    "content": "Both.",
                    "tool_calls": [
                        {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
                        {"id": "2", "type": "function", "function": {"name": "f", "arguments": '{"a": 2}'}},
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 4, "completion_tokens": 5},
    }
    events = await events_of(
        provider_of(json.dumps(whole).encode(), headers={"content-type": "application/json"}, base_url=LOCAL)
    )
    assert [event for event in events if not isinstance(event, (ToolCallStart, ToolCallDelta))] == [
        ThinkingDelta("hm"),
        ThinkingEnd(),
        TextDelta("Both."),
        UsageUpdate(Usage(4, 5)),
        ToolCallEnd(0, "1", "f", {"a": 1}),
        ToolCallEnd(1, "2", "f", {"a": 2}),
        Finish("tool-calls"),
    ]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("whole", "kind"),
    [
        ({"error": {"message": "no", "code": "401", "type": "authentication_error"}}, AuthError),
        ({"hello": "world"}, StreamInterruptedError),
    ],
)
async def test_one_piece_that_is_no_answer(whole, kind):
    with pytest.raises(kind):
        await events_of(provider_of(json.dumps(whole).encode(), headers={"content-type": "application/json"}))


# --- asking -----------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize("key", ["secret", None])
async def test_where_and_how_it_asks(key):
    seen = []

    def handler(request):
        seen.append(request)
        return httpx.Response(200, content=sse(chunk(finish="stop")))

    provider = OpenAIChatProvider(key, base_url=LOCAL + "/", transport=httpx.MockTransport(handler))
    await events_of(provider)
    await provider.aclose()
    assert str(seen[0].url) == "http://localhost:11434/v1/chat/completions"
    assert seen[0].headers.get("authorization") == (f"Bearer {key}" if key else None)
    assert json.loads(seen[0].content)["stream_options"] == {"include_usage": True}
    assert not provider.capabilities.metered
    assert provider.capabilities.thinking
    assert OpenAIChatProvider("k").capabilities.metered
