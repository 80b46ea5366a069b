"""Anthropic's format: streams understood, refused reasoning left out."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from zidane_lab.errors import (
    AuthError,
    ContextExceededError,
    OverloadedError,
    ProviderError,
    StreamInterruptedError,
)
from zidane_lab.providers.anthropic import AnthropicProvider
from zidane_lab.providers.anthropic_request import build_request
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
from zidane_lab.turns import (
    TextBlock,
    Turn,
)

PNG = b"\x89PNG\r\n"
MODEL = "claude-sonnet-4-5"


def user(*blocks):
    return Turn("user", tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks))


def assistant(*blocks, producer="anthropic"):
    return Turn("assistant", tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks))


def ask(*turns, **options):
    return Request(options.pop("model", MODEL), options.pop("system", ""), turns or (user("hi"),), **options)


def body_of(*turns, **options):
    return build_request(ask(*turns, **options), producer="anthropic")


def sse(*payloads):
    return "".join(f"event: {payload['type']}\ndata: {json.dumps(payload)}\n\n" for payload in payloads).encode()


def start(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index, **content):
    return {"type": "content_block_delta", "index": index, "delta": content}


def stop(index):
    return {"type": "content_block_stop", "index": index}


def message_start(**usage):
    return {"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [], "usage": usage}}


def message_delta(reason="end_turn", **usage):
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


MESSAGE_STOP = {"type": "message_stop"}
HELLO = [
    message_start(input_tokens=10, output_tokens=1),
    start(0, type="text", text=""),
    delta(0, type="text_delta", text="Hello"),
    stop(0),
]


def provider_of(content, *, size=7, base_url="https://api.anthropic.com", **response):
    """A provider whose service answers with ``content``, cut into pieces of ``size`` bytes."""

    async def pieces():
        for at in range(0, len(content), size):
            yield content[at : at + size]

    headers = response.pop("headers", {"content-type": "text/event-stream"})
    return AnthropicProvider(
        "key",
        base_url=base_url,
        transport=httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=pieces(), **response)),
    )


async def events_of(provider, request=None):
    return [event async for event in provider.stream(request or ask())]


async def drain(stream, into):
    async for event in stream:
        into.append(event)


async def play(*payloads, **options):
    return await events_of(provider_of(sse(*payloads), **options))


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, TextDelta))


# --- streams --------------------------------------------------------------------------------------


def test_it_is_a_provider():
    assert isinstance(AnthropicProvider("key"), Provider)


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [1, 2, 3, 50, 100_000])
async def test_text_however_it_is_cut(size):
    events = await play(
        *HELLO[:2],
        delta(0, type="text_delta", text="Grüße, "),
        {"type": "ping"},
        delta(0, type="text_delta", text="世界"),
        stop(0),
        message_delta(output_tokens=5),
        MESSAGE_STOP,
        size=size,
    )
    assert text_of(events) == "Grüße, 世界"
    assert events[-1] == Finish("stop")


@pytest.mark.asyncio
async def test_thinking_with_its_seal_then_redacted_then_text():
    events = await play(
        message_start(input_tokens=1),
        start(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="Let me "),
        delta(0, type="thinking_delta", thinking="see."),
        delta(0, type="signature_delta", signature="EqQB"),
        stop(0),
        start(1, type="redacted_thinking", data="EmwK"),
        stop(1),
        start(2, type="text", text=""),
        delta(2, type="text_delta", text="42"),
        stop(2),
        message_delta(),
        MESSAGE_STOP,
    )
    kept = [event for event in events if not isinstance(event, UsageUpdate)]
    assert kept == [
        ThinkingDelta("Let me "),
        ThinkingDelta("see."),
        ThinkingEnd("EqQB"),
        ThinkingEnd("EmwK", redacted=True),
        TextDelta("42"),
        Finish("stop"),
    ]


@pytest.mark.asyncio
async def test_sealed_thinking_without_text_keeps_its_seal():
    events = await play(
        message_start(),
        start(0, type="thinking", thinking="", signature=""),
        delta(0, type="signature_delta", signature="S"),
        stop(0),
        message_delta(),
        MESSAGE_STOP,
    )
    assert events == [ThinkingEnd("S"), Finish("stop")]


@pytest.mark.asyncio
async def test_parallel_calls():
    events = await play(
        message_start(input_tokens=1),
        start(0, type="text", text=""),
        delta(0, type="text_delta", text="Both."),
        stop(0),
        start(1, type="tool_use", id="toolu_1", name="add", input={}),
        delta(1, type="input_json_delta", partial_json=""),
        delta(1, type="input_json_delta", partial_json='{"a": 1, '),
        delta(1, type="input_json_delta", partial_json='"b": 2}'),
        stop(1),
        start(2, type="tool_use", id="toolu_2", name="now", input={}),
        stop(2),
        message_delta("tool_use"),
        MESSAGE_STOP,
    )
    assert [event for event in events if not isinstance(event, UsageUpdate)] == [
        TextDelta("Both."),
        ToolCallStart(0, "toolu_1", "add"),
        ToolCallDelta(0, '{"a": 1, '),
        ToolCallDelta(0, '"b": 2}'),
        ToolCallEnd(0, "toolu_1", "add", {"a": 1, "b": 2}),
        ToolCallStart(1, "toolu_2", "now"),
        ToolCallEnd(1, "toolu_2", "now"),
        Finish("tool-calls"),
    ]


@pytest.mark.asyncio
async def test_arguments_that_are_no_object_are_kept_raw():
    events = await play(
        message_start(),
        start(0, type="tool_use", id="t", name="f", input={}),
        delta(0, type="input_json_delta", partial_json='{"a": '),
        stop(0),
        message_delta("max_tokens"),
        MESSAGE_STOP,
    )
    assert events[-2:] == [ToolCallEnd(0, "t", "f", {}, '{"a": '), Finish("length")]


@pytest.mark.asyncio
async def test_arguments_sent_whole_with_the_start_of_a_call():
    events = await play(
        message_start(),
        start(0, type="tool_use", id="t", name="f", input={"a": 1}),
        stop(0),
        message_delta("tool_use"),
        MESSAGE_STOP,
    )
    assert ToolCallEnd(0, "t", "f", {"a": 1}) in events


@pytest.mark.asyncio
async def test_usage_is_split_and_replaced_by_newer_totals():
    events = await play(
        message_start(input_tokens=10, cache_creation_input_tokens=200, cache_read_input_tokens=3000, output_tokens=1),
        *HELLO[1:],
        message_delta(output_tokens=40),
        MESSAGE_STOP,
    )
    usages = [event.usage for event in events if isinstance(event, UsageUpdate)]
    last = usages[-1]
    assert (last.input, last.cache_creation, last.cache_read, last.output, last.context) == (10, 200, 3000, 40, 3210)
    # Sonnet 4.5: $3, $3.75, $0.30 and $15 for a million.
    assert last.cost == pytest.approx((10 * 3 + 200 * 3.75 + 3000 * 0.3 + 40 * 15) / 1e6)
    assert usages[0].output == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("total", [{}, {"cache_creation_input_tokens": 1000}])
async def test_tokens_kept_for_an_hour_are_counted_and_have_their_price(total):
    kept = {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 600}
    events = await play(
        message_start(input_tokens=10, cache_creation=kept, **total),
        *HELLO[1:],
        message_delta(output_tokens=40, **total),
        MESSAGE_STOP,
    )
    last = [event.usage for event in events if isinstance(event, UsageUpdate)][-1]
    assert last.cache_creation == 1000
    # Sonnet 4.5: $3, $3.75 for five minutes, $6 for an hour and $15 for a million.
    assert last.cost == pytest.approx((10 * 3 + 400 * 3.75 + 600 * 6 + 40 * 15) / 1e6)


@pytest.mark.asyncio
@pytest.mark.parametrize("odd", [None, 7, [], {"ephemeral_1h_input_tokens": -5}, {"ephemeral_1h_input_tokens": "many"}])
async def test_an_odd_account_of_the_cache_is_passed_over(odd):
    events = await play(
        message_start(input_tokens=10, cache_creation=odd, cache_creation_input_tokens=7), *HELLO[1:], MESSAGE_STOP
    )
    last = [event.usage for event in events if isinstance(event, UsageUpdate)][-1]
    assert (last.input, last.cache_creation) == (10, 7)


@pytest.mark.asyncio
async def test_usage_may_arrive_at_the_end_only_and_hold_nulls():
    events = await play(
        message_start(input_tokens=0),
        *HELLO[1:],
        message_delta(input_tokens=12, cache_read_input_tokens=None, output_tokens=3),
        MESSAGE_STOP,
    )
    assert [event.usage for event in events if isinstance(event, UsageUpdate)][-1].input == 12


@pytest.mark.asyncio
async def test_behind_a_proxy_the_cost_is_unknown():
    events = await play(*HELLO, message_delta(output_tokens=3), MESSAGE_STOP, base_url="https://proxy.example.com")
    assert all(event.usage.cost is None for event in events if isinstance(event, UsageUpdate))


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("something_new", "other"),
        ("tool_use", "stop"),
    ],
)
async def test_why_an_answer_without_calls_ended(reason, finish):
    assert (await play(*HELLO, message_delta(reason), MESSAGE_STOP))[-1] == Finish(finish)


@pytest.mark.asyncio
@pytest.mark.parametrize("upto", range(len(HELLO) + 1))
async def test_a_stream_cut_anywhere_is_an_interruption(upto):
    got = []
    with pytest.raises(StreamInterruptedError, match="before its end was announced"):
        await drain(provider_of(sse(*HELLO[:upto])).stream(ask()), got)
    assert not any(isinstance(event, Finish) for event in got)


@pytest.mark.asyncio
async def test_an_answer_whose_reason_is_known_is_complete_without_the_last_event():
    assert (await play(*HELLO, message_delta()))[-1] == Finish("stop")


@pytest.mark.asyncio
async def test_the_last_event_may_lack_its_blank_line():
    content = sse(*HELLO, message_delta("max_tokens")).removesuffix(b"\n\n")
    assert (await events_of(provider_of(content)))[-1] == Finish("length")


@pytest.mark.asyncio
async def test_a_connection_that_breaks_after_the_last_word_is_no_failure():
    async def broken():
        yield sse(*HELLO, message_delta())
        raise httpx.ReadError("reset")

    provider = AnthropicProvider("key", transport=httpx.MockTransport(lambda _: httpx.Response(200, content=broken())))
    assert (await events_of(provider))[-1] == Finish("stop")


@pytest.mark.asyncio
async def test_a_server_that_holds_on_after_the_last_event_is_left():
    async def endless():
        yield sse(*HELLO, message_delta(), MESSAGE_STOP)
        await asyncio.sleep(3600)

    provider = AnthropicProvider("key", transport=httpx.MockTransport(lambda _: httpx.Response(200, content=endless())))
    assert (await asyncio.wait_for(events_of(provider), 5))[-1] == Finish("stop")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("overloaded_error", "Overloaded", OverloadedError),
        ("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", ContextExceededError),
        ("odd_error", "hm", ProviderError),
    ],
)
async def test_an_error_in_the_stream(code, message, kind):
    with pytest.raises(kind, match=message):
        await play(*HELLO, {"type": "error", "error": {"type": code, "message": message}})


@pytest.mark.asyncio
@pytest.mark.parametrize("junk", [b"data: {broken\n\n", b"data: [1]\n\n", b"data: 12\n\n"])
async def test_a_damaged_piece_is_an_interruption(junk):
    with pytest.raises(StreamInterruptedError, match=r"not JSON|no JSON object"):
        await events_of(provider_of(sse(*HELLO) + junk))


@pytest.mark.asyncio
async def test_events_of_unknown_or_odd_form_are_passed_over():
    odd = [
        {"type": "brand_new", "x": 1},
        {"type": "content_block_start", "index": 0},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_stop", "index": 9},
    ]
    assert (await play(*odd, message_delta(), MESSAGE_STOP)) == [Finish("stop")]


@pytest.mark.asyncio
async def test_an_answer_in_one_piece():
    whole = {
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "S"},
            {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 4, "output_tokens": 5},
    }
    events = await events_of(
        provider_of(json.dumps(whole).encode(), headers={"content-type": "application/json; charset=utf-8"})
    )
    assert [event for event in events if not isinstance(event, UsageUpdate)] == [
        ThinkingDelta("hm"),
        ThinkingEnd("S"),
        TextDelta("Hello"),
        ToolCallStart(0, "t", "f"),
        ToolCallDelta(0, '{"a": 1}'),
        ToolCallEnd(0, "t", "f", {"a": 1}),
        Finish("tool-calls"),
    ]


@pytest.mark.asyncio
async def test_an_error_in_one_piece():
    with pytest.raises(AuthError, match="bad"):
        await events_of(
            provider_of(
                json.dumps({"type": "error", "error": {"type": "authentication_error", "message": "bad key"}}).encode(),
                headers={"content-type": "application/json"},
            )
        )
