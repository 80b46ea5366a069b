"""Connections are kept between turns, and a kept one that has died is replaced without a word."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from zidane_lab.errors import NetworkError
from zidane_lab.providers.base import Finish, Request, TextDelta
from zidane_lab.providers.openai_chat import OpenAIChatProvider
from zidane_lab.turns import TextBlock, Turn

BODY = (
    b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":null}]}\n\n'
    b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


class Server:
    """Answers each request on a socket in chunks; ``hang_up`` closes the connection after an answer, unannounced."""

    def __init__(self, *, hang_up: bool = False) -> None:
        self.hang_up = hang_up
        self.connections = self.requests = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1]) for line in head.lower().splitlines() if line.startswith(b"content-length")
                )
                await reader.readexactly(length)
                self.requests += 1
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                )
                writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY))
                await writer.drain()
                if self.hang_up:
                    break
        except asyncio.IncompleteReadError:
            return
        finally:
            writer.close()


@asynccontextmanager
async def running(server: Server):
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    provider = OpenAIChatProvider(base_url=f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1")
    try:
        yield provider
    finally:
        await provider.aclose()
        listener.close()


async def ask(provider) -> str:
    request = Request("m", "", (Turn("user", (TextBlock("hi"),)),))
    events = [event async for event in provider.stream(request)]
    assert events[-1] == Finish("stop")
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.asyncio
async def test_a_connection_serves_many_turns():
    server = Server()
    async with running(server) as provider:
        assert [await ask(provider) for _ in range(5)] == ["hi"] * 5
    assert (server.connections, server.requests) == (1, 5)


@pytest.mark.asyncio
async def test_a_kept_connection_that_the_server_closed_is_replaced():
    server = Server(hang_up=True)
    async with running(server) as provider:
        for _ in range(3):
            assert await ask(provider) == "hi"
            await asyncio.sleep(0.02)
    assert server.requests == 3


@pytest.mark.asyncio
async def test_a_new_connection_that_is_closed_is_a_failure_not_a_loop():
    tried = 0

    async def slam(_reader, writer):
        nonlocal tried
        tried += 1
        writer.close()

    listener = await asyncio.start_server(slam, "127.0.0.1", 0)
    provider = OpenAIChatProvider(base_url=f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1")
    with pytest.raises(NetworkError):
        await ask(provider)
    await provider.aclose()
    listener.close()
    assert tried == 1


def test_one_provider_works_from_one_loop_after_another():
    async def once() -> str:
        server = Server()
        async with running(server) as fresh:
            nonlocal provider
            provider = provider or fresh
            provider._base_url = fresh._base_url
            answer = await ask(provider)
            await provider.aclose()
            return answer

    provider = None
    assert [asyncio.run(once()) for _ in range(3)] == ["hi"] * 3


@pytest.mark.asyncio
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("whole", [True, False])
async def test_a_key_quoted_in_the_middle_of_an_answer_is_not_repeated(wire, whole):
    import json

    import httpx

    from zidane_lab.errors import ProviderError
    from zidane_lab.providers.anthropic import AnthropicProvider

    key = "sk-secret-0123456789"
    payload = {"type": "error", "error": {"type": "overloaded_error", "message": f"Incorrect key {key}", "code": "401"}}
    body = json.dumps(payload) if whole else f"event: error\ndata: {json.dumps(payload)}\n\n"
    kind = "application/json" if whole else "text/event-stream"
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body, headers={"content-type": kind}))
    provider = (AnthropicProvider if wire == "anthropic" else OpenAIChatProvider)(key, transport=transport)
    with pytest.raises(ProviderError) as caught:
        await ask(provider)
    assert key not in str(caught.value)
    await provider.aclose()
