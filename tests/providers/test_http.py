"""Asking over HTTP: limits, broken connections, and stopping at once."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time

import httpx
import pytest

from zidane_lab.errors import (
    AuthError,
    BadRequestError,
    ConfigurationError,
    NetworkError,
    ProviderError,
    RateLimitError,
    StreamInterruptedError,
)
from zidane_lab.providers import http
from zidane_lab.providers.http import HttpClient, is_local

pytestmark = pytest.mark.asyncio

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


class Server:
    """A socket on this machine that answers with given bytes and notes when its clients hang up."""

    def __init__(self, *pieces, hold=False):
        self.pieces, self.hold = pieces, hold
        self.connections = 0
        self.hung_up = asyncio.Event()
        self.requests = []
        self.tasks = []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/x"
        return self

    async def __aexit__(self, *_):
        self.server.close()
        await asyncio.wait_for(asyncio.gather(*self.tasks), 2)

    async def serve(self, reader, writer):
        self.connections += 1
        self.tasks.append(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(
                next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")).split(b":")[1]
            )
            self.requests.append(head + await reader.readexactly(length))
            for piece in self.pieces:
                writer.write(piece)
                await writer.drain()
            if self.hold:
                await reader.read()
                self.hung_up.set()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def ask(client, url, *, key="k"):
    async with client.post(url, headers={"x-api-key": key}, content=b"{}") as reply:
        return b"".join([chunk async for chunk in reply.chunks()])


async def ask_once(url, *, key="k", **options):
    client = HttpClient("p", **options)
    try:
        return await ask(client, url, key=key)
    finally:
        await client.aclose()


def client_of(handler, **options):
    return HttpClient("p", transport=httpx.MockTransport(handler), **options)


async def test_the_body_arrives_in_pieces_and_the_request_is_plain():
    async with Server(HEAD + b"content-length: 6\r\n\r\nabc", b"def") as server:
        assert await ask_once(server.url) == b"abcdef"
    head = server.requests[0].lower()
    assert head.startswith(b"post /x http/1.1\r\n")
    assert b"accept-encoding: identity" in head
    assert b"x-api-key: k" in head


async def test_a_server_that_drops_the_socket_after_an_answer_does_not_spoil_the_next():
    async with Server(HEAD + b"content-length: 3\r\n\r\nabc") as server:
        client = HttpClient("p")
        assert [await ask(client, server.url) for _ in range(3)] == [b"abc"] * 3
        await client.aclose()
    assert server.connections == 3


async def test_an_answer_without_length_that_breaks_off_is_an_interruption():
    async with Server(HEAD + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n") as server:
        with pytest.raises(StreamInterruptedError, match="broke in the middle"):
            await ask_once(server.url)


async def test_silence_before_the_answer_is_given_up():
    async with Server(hold=True) as server:
        with pytest.raises(NetworkError, match="no answer for 1 s") as caught:
            await ask_once(server.url, idle=0.4)
        await asyncio.wait_for(server.hung_up.wait(), 1)
    assert caught.value.retryable
    assert not isinstance(caught.value, StreamInterruptedError)


async def test_silence_in_the_middle_is_an_interruption_and_closes_the_connection():
    async with Server(HEAD + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", hold=True) as server:
        with pytest.raises(StreamInterruptedError, match="nothing came for 1 s"):
            await ask_once(server.url, idle=0.4)
        await asyncio.wait_for(server.hung_up.wait(), 1)


@pytest.mark.parametrize("how", ["cancel", "leave"])
async def test_the_connection_closes_at_once_when_nobody_reads(how):
    async with Server(HEAD + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", hold=True) as server:
        started = asyncio.Event()

        async def read():
            async with HttpClient("p").post(server.url, headers={}, content=b"{}") as reply:
                async for _ in reply.chunks():
                    started.set()
                    if how == "leave":
                        return

        task = asyncio.create_task(read())
        await started.wait()
        if how == "cancel":
            task.cancel()
        since = time.monotonic()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.wait_for(server.hung_up.wait(), 1)
        assert time.monotonic() - since < 1
        assert task.cancelled() == (how == "cancel")


async def test_cancelled_while_waiting_for_the_first_byte():
    async with Server(hold=True) as server:
        task = asyncio.create_task(ask_once(server.url))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.hung_up.wait(), 1)


async def test_nobody_there():
    async with Server() as server:
        url = server.url
    with pytest.raises(NetworkError, match=r"p: 127\.0\.0\.1 cannot be reached \(ConnectError\)") as caught:
        await ask_once(url)
    assert "base URL" in caught.value.hint


@pytest.mark.parametrize("url", ["nonsense", "ftp://x/y", "http://", "http://[bad/"])
async def test_an_address_that_is_none(url):
    with pytest.raises((ConfigurationError, NetworkError)) as caught:
        await ask_once(url)
    assert caught.value.hint


@pytest.mark.parametrize("key", ["sk-secret\nx", "sk-secret-\u201c", "sk-secret\x00"])
async def test_a_key_that_cannot_be_sent_is_not_repeated(key):
    async with Server() as server:
        with pytest.raises(AuthError, match="holds characters that no key has") as caught:
            await ask_once(server.url, key=key)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("status", "kind"), [(401, AuthError), (400, BadRequestError), (429, RateLimitError), (302, BadRequestError)]
)
async def test_refusals_are_classified(status, kind):
    client = client_of(
        lambda request: httpx.Response(status, json={"error": {"message": "no"}}, headers={"retry-after": "3"})
    )
    with pytest.raises(kind) as caught:
        await ask(client, "http://h/x")
    assert (caught.value.status, caught.value.retry_after, caught.value.provider) == (status, 3.0, "p")


async def test_a_web_page_is_no_answer():
    client = client_of(lambda request: httpx.Response(200, html="<html><title>Welcome</title></html>"))
    with pytest.raises(BadRequestError, match="a web page came back"):
        await ask(client, "http://h/x")


async def test_an_endless_refusal_is_read_only_so_far():
    taken = 0

    async def body():
        nonlocal taken
        while True:
            taken += 1024
            yield b"x" * 1024

    client = client_of(lambda request: httpx.Response(500, content=body()))
    with pytest.raises(ProviderError):
        await ask(client, "http://h/x")
    assert taken <= http.MAX_REFUSAL_BYTES + 2048


async def test_a_refusal_that_breaks_off_is_still_one():
    async with Server(b"HTTP/1.1 429 Slow\r\ncontent-length: 99\r\n\r\nslow d") as server:
        with pytest.raises(RateLimitError, match=r"slow d \(the rest of the refusal was lost\)"):
            await ask_once(server.url)


async def test_an_answer_in_one_piece_has_a_limit(monkeypatch):
    monkeypatch.setattr(http, "MAX_BODY_BYTES", 10)
    client = client_of(lambda request: httpx.Response(200, json={"x": "y" * 50}))
    with pytest.raises(ProviderError, match="longer than 10 bytes"):
        async with client.post("http://h/x", headers={}, content=b"") as reply:
            await reply.body()


async def test_closing_twice_and_asking_again_is_harmless():
    client = client_of(lambda request: httpx.Response(200, text="hi"))
    assert await ask(client, "http://h/x") == b"hi"
    await client.aclose()
    await client.aclose()
    assert await ask(client, "http://h/x") == b"hi"


async def test_one_client_serves_several_event_loops():
    async with Server(HEAD + b"content-length: 3\r\n\r\nabc") as server:
        client = HttpClient("p")

        async def once():
            answer = await ask(client, server.url)
            await client.aclose()
            return answer

        answers = [await asyncio.to_thread(lambda: asyncio.run(once())) for _ in range(2)]
    assert answers == [b"abc", b"abc"]


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1:8000", True),
        ("http://[::1]:8000", True),
        ("http://192.168.1.5/v1", True),
        ("http://gpu.local/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://localhost.example.com", False),
        ("https://8.8.8.8/v1", False),
        ("nonsense", False),
    ],
)
async def test_local_addresses(url, local):
    assert is_local(url) is local


async def test_httpx_is_imported_on_first_use_only():
    code = (
        "import sys, zidane_lab.providers.anthropic, zidane_lab.providers.openai_chat, zidane_lab.providers.registry\n"
        "zidane_lab.providers.registry.create_provider('openai', env={'OPENAI_API_KEY': 'k'})\n"
        "print([m for m in ('httpx', 'genai_prices', 'pydantic') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
