"""Anthropic's format over real HTTP, against a mock server that nobody here wrote."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing

import pytest
import pytest_asyncio
from llmock.scenarios import Reply, ToolCall

from zidane_lab.errors import (
    AuthError,
    BadRequestError,
    ContextExceededError,
    NetworkError,
    OverloadedError,
    RateLimitError,
    StreamInterruptedError,
)
from zidane_lab.providers.anthropic import AnthropicProvider
from zidane_lab.providers.base import Finish, Request, TextDelta, ToolCallEnd, ToolCallStart, ToolSpec, UsageUpdate
from zidane_lab.providers.registry import create_provider
from zidane_lab.turns import ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, Turn

pytestmark = pytest.mark.asyncio

ADD = ToolSpec(
    "add",
    "Add two numbers.",
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
)


def user(*blocks):
    return Turn("user", tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks))


def ask(*turns, **options):
    return Request("claude-sonnet-5-5", "Be kind.", turns or (user("Add 1 and 2"),), **options)


@pytest_asyncio.fixture
async def provider(llmock):
    """The provider as the environment configures it, which the mock has set up."""
    provider = create_provider("anthropic")
    yield provider
    await provider.aclose()


async def events_of(provider, request=None):
    return [event async for event in provider.stream(request or ask())]


async def drain(stream, into):
    async for event in stream:
        into.append(event)


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_an_answer(llmock, provider):
    llmock.reply("Grüße aus der Attrappe, and good-bye.")
    events = await events_of(provider)
    assert text_of(events) == "Grüße aus der Attrappe, and good-bye."
    assert sum(isinstance(event, TextDelta) for event in events) > 3
    assert events[-1] == Finish("stop")
    usage = [event.usage for event in events if isinstance(event, UsageUpdate)][-1]
    assert usage.input > 0
    assert usage.output > 0
    assert usage.cost is None, "a mock is not the vendor's own endpoint"
    assert llmock.last_request.body["stream"] is True
    llmock.assert_resilient(strict=True)


async def test_a_whole_turn_with_a_tool(llmock, provider):
    events = await events_of(provider, ask(tools=(ADD,)))
    call = next(event for event in events if isinstance(event, ToolCallEnd))
    assert call.name == "add"
    assert set(call.input) == {"a", "b"}
    assert events[-1] == Finish("tool-calls")
    answered = (
        user("Add 1 and 2"),
        Turn(
            "assistant",
            (
                ThinkingBlock("hm", "sig", "anthropic"),
                TextBlock("Adding."),
                ToolCallBlock(call.id, call.name, call.input),
            ),
        ),
        user(ToolResultBlock(call.id, (TextBlock("3"), ImageBlock("image/png", b"\x89PNG")))),
    )
    events = await events_of(provider, ask(*answered, tools=(ADD,), thinking="high", max_tokens=9000))
    assert text_of(events)
    assert events[-1] == Finish("stop")
    llmock.assert_resilient(strict=True)


async def test_text_and_parallel_calls_in_one_answer(llmock, provider):
    llmock.add(
        Reply(text="Both at once.", tool_calls=(ToolCall("add", {"a": 1, "b": 2}), ToolCall("add", {"a": 3, "ü": "ß"})))
    )
    events = await events_of(provider, ask(tools=(ADD,)))
    assert text_of(events) == "Both at once."
    assert [event.input for event in events if isinstance(event, ToolCallEnd)] == [{"a": 1, "b": 2}, {"a": 3, "ü": "ß"}]
    assert len({event.id for event in events if isinstance(event, ToolCallStart)}) == 2


async def test_broken_arguments_are_kept_raw(llmock, provider):
    llmock.break_tool_call("malformed_arguments")
    call = next(event for event in await events_of(provider, ask(tools=(ADD,))) if isinstance(event, ToolCallEnd))
    assert call.input == {}
    assert call.raw


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_why_it_ended(llmock, provider, reason):
    llmock.add(Reply(text="well", finish_reason=reason))
    assert (await events_of(provider))[-1] == Finish({"length": "length", "content_filter": "refusal"}[reason])


@pytest.mark.parametrize("after", range(6))
@pytest.mark.parametrize("fault", ["truncate", "disconnect", "corrupt"])
async def test_a_stream_that_breaks_anywhere(llmock, provider, fault, after):
    llmock.reply("one two three four five six")
    getattr(llmock, fault)(after_chunks=after)
    got = []
    with pytest.raises((StreamInterruptedError, NetworkError)) as caught:
        await drain(provider.stream(ask()), got)
    assert caught.value.retryable
    assert not any(isinstance(event, Finish) for event in got)
    assert "one two three four five six".startswith(text_of(got))


async def test_a_server_that_falls_silent_is_given_up(llmock):
    llmock.reply("one two three")
    llmock.stall(after_chunks=3, seconds=20)
    provider = AnthropicProvider("k", base_url=llmock.base_url("anthropic"), idle=0.6)
    since = time.monotonic()
    with pytest.raises(StreamInterruptedError, match="nothing came for 1 s"):
        await events_of(provider)
    assert time.monotonic() - since < 3


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequestError),
        (401, AuthError),
        (403, AuthError),
        (404, BadRequestError),
        (413, ContextExceededError),
        (429, RateLimitError),
        (500, OverloadedError),
        (503, OverloadedError),
        (529, OverloadedError),
    ],
)
async def test_refusals(llmock, provider, status, kind):
    llmock.fail(status)
    with pytest.raises(kind) as caught:
        await events_of(provider)
    assert type(caught.value) is kind
    assert caught.value.status == status
    assert len(llmock.requests) == 1, "trying again is the loop's business"


async def test_a_rate_limit_says_how_long(llmock, provider):
    llmock.rate_limit(retry_after=1.5)
    with pytest.raises(RateLimitError) as caught:
        await events_of(provider)
    assert caught.value.retry_after == 1.5


async def test_a_quota_says_how_long(llmock, provider):
    llmock.limits(rpm=1)
    await events_of(provider)
    with pytest.raises(RateLimitError) as caught:
        await events_of(provider)
    assert 0 < caught.value.retry_after <= 61


async def test_a_prompt_that_is_too_long(llmock, provider):
    llmock.limits(context_window=50)
    with pytest.raises(ContextExceededError, match="prompt is too long"):
        await events_of(provider, ask(user("word " * 500)))


@pytest.mark.parametrize("how", ["cancel", "close"])
async def test_the_server_sees_us_leave_within_a_second(llmock, provider, how):
    llmock.reply("word " * 400).pace(20)
    flowing = asyncio.Event()

    async def read():
        async with aclosing(provider.stream(ask())) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    flowing.set()
                    if how == "close":
                        return

    task = asyncio.create_task(read())
    await flowing.wait()
    if how == "cancel":
        task.cancel()
    left = time.monotonic()
    await asyncio.gather(task, return_exceptions=True)
    record = await asyncio.to_thread(lambda: llmock.last_request)
    assert not record.completed
    assert record.chunks_sent < 200
    assert record.ended_at - left < 1


async def test_asking_again_after_leaving(llmock, provider):
    llmock.reply("word " * 400).pace(20).reply("again")
    async with aclosing(provider.stream(ask())) as events:
        async for _ in events:
            break
    assert text_of(await events_of(provider)) == "again"
