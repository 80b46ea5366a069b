"""Whatever breaks between us and a model, over real HTTP and in both formats: what it is called, and what is done."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time

import pytest
import pytest_asyncio

from zidane_lab.agent.retry import RetryPolicy, shows_answer, with_retries
from zidane_lab.errors import (
    AuthError,
    BadRequestError,
    ContextExceededError,
    NetworkError,
    OverloadedError,
    ProviderError,
    QuotaError,
    RateLimitError,
    StreamInterruptedError,
)
from zidane_lab.providers.anthropic import AnthropicProvider
from zidane_lab.providers.base import Finish, Request, TextDelta
from zidane_lab.providers.openai_chat import OpenAIChatProvider
from zidane_lab.turns import TextBlock, Turn

pytestmark = [pytest.mark.asyncio, pytest.mark.parametrize("wire", ["anthropic", "openai"])]

PROVIDERS = {"anthropic": AnthropicProvider, "openai": OpenAIChatProvider}
KEY = "sk-secret-0123456789"


def sse(*payloads):
    return b"".join(
        b"data: %s\n\n" % (payload if isinstance(payload, bytes) else json.dumps(payload).encode())
        for payload in payloads
    )


THINKING = {
    "anthropic": (
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    ),
    "openai": ({"choices": [{"delta": {"reasoning_content": "hm"}}]},),
}
TEXT = {
    "anthropic": (
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half an"}},
    ),
    "openai": ({"choices": [{"delta": {"content": "half an"}}]},),
}
CALL = {
    "anthropic": (
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "add"}},
    ),
    "openai": (
        {
            "choices": [
                {"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "add", "arguments": ""}}]}}
            ]
        },
    ),
}
END = {
    "anthropic": (
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ),
    "openai": ({"choices": [{"delta": {}, "finish_reason": "stop"}]}, b"[DONE]"),
}
WHOLE = {
    "anthropic": {"type": "message", "content": [{"type": "text", "text": "half an"}], "stop_reason": "end_turn"},
    "openai": {"choices": [{"message": {"content": "half an"}, "finish_reason": "stop"}]},
}


def good(wire):
    return reply(sse(*TEXT[wire], *END[wire]))


def reply(body, *, status=200, kind="text/event-stream", **headers):
    """Return the bytes of an HTTP answer; underscores in names of headers stand for hyphens."""
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}"]
    lines += [f"content-type: {kind}"] if kind else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Server:
    """Gives each request the next of its answers, byte for byte, and repeats the last one for ever.

    An answer that is a tuple is sent and then the line stays silent.
    """

    def __init__(self):
        self.answers, self.requests = [], 0

    async def serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().splitlines() if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
            answer = self.answers[min(self.requests, len(self.answers) - 1)]
            self.requests += 1
            writer.write(b"".join(answer) if isinstance(answer, tuple) else answer)
            await writer.drain()
            if isinstance(answer, tuple):
                await reader.read()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@pytest_asyncio.fixture
async def server():
    server = Server()
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    yield server
    listener.close()


class Asking:
    """Asks one provider, as the loop does: again after a failure that passes, unless an answer was shown."""

    def __init__(self, wire, url, *, idle=5.0):
        self.provider = PROVIDERS[wire](KEY, base_url=url, idle=idle)
        self.slept, self.events = [], []

    async def once(self, _retries=0):
        self.events = []
        async for event in self.provider.stream(Request("m", "", (Turn("user", (TextBlock("hi"),)),))):
            self.events.append(event)
        assert isinstance(self.events[-1], Finish)
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    async def with_retries(self):
        async def sleep(seconds):
            self.slept.append(seconds)

        return await with_retries(
            self.once, RetryPolicy(), may_retry=lambda: not any(map(shows_answer, self.events)), sleep=sleep
        )

    async def fails(self):
        """Ask once and return the failure, which quotes no key."""
        with pytest.raises(ProviderError) as caught:
            await self.once()
        assert KEY not in str(caught.value)
        return caught.value


@pytest_asyncio.fixture
async def ask(wire, server):
    asking = Asking(wire, server.url)
    yield asking
    await asking.provider.aclose()


# --- what each fault is called --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (reply(b""), StreamInterruptedError, "stopped before its end"),
        (reply(b"", kind="application/json"), StreamInterruptedError, "the answer is empty"),
        (reply(b"", kind=None), StreamInterruptedError, "stopped before its end"),
        (reply(b": keep-alive\n\n: keep-alive\n\n"), StreamInterruptedError, "stopped before its end"),
        (reply(b"upstream request timeout", kind="text/plain"), NetworkError, "upstream request timeout"),
        (reply(b"upstream request timeout"), NetworkError, "upstream request timeout"),
        (reply(b": ping\n\nToo many requests, slow down\n", kind="text/plain"), RateLimitError, None),
        (reply(b"Welcome to nginx!", kind="text/plain"), BadRequestError, "Welcome to nginx!"),
        (reply(b"No such key: " + KEY.encode(), kind=None), BadRequestError, r"No such key: \[key\]"),
        (
            reply(b'{"error": {"type": "overloaded_error", "message": "busy"}}', kind="text/plain"),
            OverloadedError,
            "is overloaded",
        ),
        (reply(b'["what is this?"]', kind="text/plain"), BadRequestError, "what is this"),
        (reply(b"{not json", kind="application/json"), StreamInterruptedError, "not JSON"),
        (reply(b"[1, 2]", kind="application/json"), StreamInterruptedError, "no JSON object but list"),
        (reply(sse(b"{not json")), StreamInterruptedError, "not JSON"),
        (
            reply(b"<html><title>Sign in</title><body>x</body></html>", kind="text/html; charset=utf-8"),
            BadRequestError,
            r"a web page came back instead of an answer \(Sign in\)",
        ),
        (reply(b"<!DOCTYPE html><title>Hello</title>", kind="text/plain"), BadRequestError, "web page"),
        (
            reply(b"<html><title>502 Bad Gateway</title></html>", status=502, kind="text/html"),
            OverloadedError,
            r"the service failed \(502\): a web page",
        ),
        (reply(b"<html><title>413</title></html>", status=413, kind="text/html"), ContextExceededError, "too long"),
        (reply(b"", status=500), OverloadedError, r"the service failed \(500\)\."),
        (reply(b"nope", status=401, kind="text/plain"), AuthError, r"the key was refused \(401\): nope"),
        (reply(b'{"error": "spent"}', status=402, kind="application/json"), QuotaError, "quota reached"),
        (
            reply(b'{"message": "prompt is too long: 9 tokens > 8 maximum"}', status=400, kind="application/json"),
            ContextExceededError,
            "too long for the model",
        ),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\ndata: {", StreamInterruptedError, "broke in the middle"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", NetworkError, "cannot be reached"),
        (b"", NetworkError, "cannot be reached"),
    ],
)
async def test_a_fault_has_a_name_and_the_words_of_the_service(ask, server, answer, kind, words):
    server.answers = [answer]
    error = await ask.fails()
    assert type(error) is kind
    if words is not None:
        assert re.search(words, error.message), error.message


async def test_a_stream_cut_anywhere_is_an_interruption(ask, server, wire):
    whole = sse(*TEXT[wire], *END[wire])
    for end in range(0, whole.rindex(b"data: ") - 60, 37):
        server.answers, server.requests = [reply(whole[:end])], 0
        error = await ask.fails()
        assert isinstance(error, StreamInterruptedError), (end, error)
        assert error.retryable


async def test_an_error_in_the_middle_of_a_stream(ask, server, wire):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.answers = [reply(sse(*TEXT[wire], error))]
    failure = await ask.fails()
    assert type(failure) is OverloadedError
    assert failure.message == f"{wire} is overloaded."
    assert [event for event in ask.events if shows_answer(event)]


async def test_an_answer_under_a_wrong_name_is_still_an_answer(ask, server, wire):
    server.answers = [reply(json.dumps(WHOLE[wire]).encode(), kind="text/plain")]
    assert await ask.once() == "half an"


@pytest.mark.parametrize("when", ["before the answer", "in the answer"])
async def test_silence_is_given_up(wire, server, when):
    start = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + sse(*TEXT[wire])
    server.answers = [(start if when == "in the answer" else b"",)]
    asking = Asking(wire, server.url, idle=0.2)
    since = time.monotonic()
    error = await asking.fails()
    assert time.monotonic() - since < 2
    assert type(error) is (StreamInterruptedError if when == "in the answer" else NetworkError)
    assert error.retryable
    await asking.provider.aclose()


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({"retry_after": "6300"}, "rate limit reached. Resets in 1 h 45 min."),
        ({"retry_after_ms": "1500"}, "rate limit reached. Resets in 2 s."),
        (
            {"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "6m0s"},
            "rate limit reached. Resets in 6 min.",
        ),
        (
            {"anthropic_ratelimit_unified_status": "rejected", "anthropic_ratelimit_unified_reset": "1700000000"},
            "rate limit reached.",
        ),
        (
            {
                "date": "Mon, 30 Nov 2026 12:00:00 GMT",
                "anthropic_ratelimit_requests_remaining": "0",
                "anthropic_ratelimit_requests_reset": "2026-11-30T12:00:42Z",
            },
            "rate limit reached. Resets in 42 s.",
        ),
        ({}, "rate limit reached."),
    ],
)
async def test_a_rate_limit_says_when_it_resets(ask, server, wire, headers, sentence):
    server.answers = [reply(b'{"error": {"message": "slow down"}}', status=429, kind="application/json", **headers)]
    error = await ask.fails()
    assert type(error) is RateLimitError
    assert error.message == f"{wire} {sentence}"
    assert error.said == "slow down"


# --- what is done about it ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        reply(b"", status=500),
        reply(b"<html></html>", status=503, kind="text/html"),
        reply(b"", status=529),
        reply(b"", status=429, retry_after="0"),
        reply(b""),
        reply(b"upstream request timeout", kind="text/plain"),
        reply(sse(b"{not json")),
        b"",
    ],
)
async def test_a_fault_that_passes_is_survived(ask, server, wire, fault):
    server.answers = [fault, fault, good(wire)]
    assert await ask.with_retries() == "half an"
    assert server.requests == 3
    assert len(ask.slept) == 2


async def test_a_stated_wait_is_kept(ask, server, wire):
    server.answers = [reply(b"", status=429, retry_after="17"), good(wire)]
    assert await ask.with_retries() == "half an"
    assert 17 <= ask.slept[0] < 18


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (reply(b"", status=429, retry_after="90"), RateLimitError),
        (reply(b"", status=402), QuotaError),
        (reply(b"", status=401), AuthError),
        (reply(b"", status=400), BadRequestError),
        (reply(b"", status=413), ContextExceededError),
        (reply(b"", status=500, x_should_retry="false"), OverloadedError),
    ],
)
async def test_a_fault_that_stays_is_told_at_once(ask, server, fault, kind):
    server.answers = [fault]
    with pytest.raises(kind):
        await ask.with_retries()
    assert server.requests == 1


@pytest.mark.parametrize(("shown", "requests"), [(THINKING, 2), (TEXT, 1), (CALL, 1)], ids=["thinking", "text", "call"])
async def test_an_answer_that_was_shown_is_not_asked_for_again(ask, server, wire, shown, requests):
    server.answers = [reply(sse(*shown[wire])), good(wire)]
    with contextlib.suppress(StreamInterruptedError):
        await ask.with_retries()
    assert server.requests == requests


async def test_in_the_end_the_last_failure_is_told_with_the_number_of_attempts(ask, server):
    server.answers = [reply(b"", status=500)] * 3 + [reply(b"", status=529)]
    with pytest.raises(OverloadedError, match="is overloaded") as caught:
        await ask.with_retries()
    assert caught.value.hint.endswith("It was tried 4 times.")
    assert server.requests == 4


# --- the same against a mock that nobody here wrote -----------------------------------------------


@pytest_asyncio.fixture
async def mocked(wire, llmock):
    asking = Asking(wire, llmock.base_url(wire), idle=0.5)
    yield asking
    await asking.provider.aclose()


def one_request_fails(llmock, how):
    match how:
        case "truncate" | "disconnect" | "corrupt":
            getattr(llmock, how)(after_chunks=0)
        case "stall":
            llmock.stall(after_chunks=0, seconds=20)
        case "rate limit":
            llmock.rate_limit(retry_after=1.5)
        case _:
            llmock.fail(int(how))


@pytest.mark.parametrize("how", ["500", "503", "529", "rate limit", "truncate", "disconnect", "corrupt", "stall"])
async def test_the_mock_fails_once_and_then_answers(mocked, llmock, how):
    one_request_fails(llmock, how)
    llmock.reply("at last", times=None)
    assert await mocked.with_retries() == "at last"
    assert len(llmock.requests) == 2
    assert len(mocked.slept) == 1
    assert how != "rate limit" or mocked.slept[0] >= 1.5


async def test_the_mocks_words_for_a_prompt_that_is_too_long(mocked, llmock):
    llmock.context_overflow(times=None)
    with pytest.raises(ContextExceededError):
        await mocked.with_retries()
    assert len(llmock.requests) == 1
