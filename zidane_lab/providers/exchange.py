"""One exchange with a service: from the bytes of its answer to stream events, for every wire format.

A wire format brings a :class:`Decoder`, which is fed the answer's JSON payloads and knows when the answer is
complete. Everything about framing, broken connections and broken JSON is here, once.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from typing import Any, Final, Protocol

from zidane_lab.errors import StreamInterruptedError
from zidane_lab.providers.base import StreamEvent
from zidane_lab.providers.http import MAX_REFUSAL_BYTES, HttpReply
from zidane_lab.providers.sse import SseParser

__all__ = ["DONE", "Decoder", "exchange", "mapping"]

DRAIN_SECONDS: Final = 0.05
"""How long the end of a complete answer's body is waited for."""

_FRAME: Final = re.compile(rb":|(?:event|id|retry|data)(?::|$)")
"""How a line of a stream starts: a comment, or a field."""

DONE: Final[Mapping[str, Any]] = {"type": "[DONE]"}
"""The payload that stands for ``[DONE]``, the chat format's last word, which is not JSON."""


class Decoder(Protocol):
    """Understands one wire format; used for one answer."""

    provider: str
    """Name of the provider, for messages."""

    is_complete: bool
    """Whether the service has said that the answer is complete; numbers may still follow."""

    is_over: bool
    """Whether nothing more will follow, so that reading can stop."""

    def feed(self, payload: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Take the payload of one event of a stream."""
        ...

    def feed_whole(self, payload: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Take an answer that came in one piece, from a server that does not stream."""
        ...

    def finish(self) -> Iterator[StreamEvent]:
        """Give what is left to say once the answer is complete; the last event is ``Finish``."""
        ...


async def exchange(
    answer: AbstractAsyncContextManager[HttpReply], decoder: Decoder
) -> AsyncGenerator[StreamEvent, None]:
    """Send a request and yield the events of its answer.

    The connection is closed as soon as the iterator is, or the task that reads it is cancelled.

    Raises
    ------
    StreamInterruptedError
        The answer ended before it said so, or is not JSON.
    ProviderError
        The service refused, before or in the middle of the stream.
    """
    async with answer as reply:
        if reply.is_event_stream:
            async with aclosing(_stream(reply, decoder)) as events:
                async for event in events:
                    yield event
        else:
            for event in decoder.feed_whole(_parse(await reply.body(), decoder.provider)):
                yield event
    if not decoder.is_complete:
        raise StreamInterruptedError(
            f"{decoder.provider}: the answer stopped before its end was announced.", provider=decoder.provider
        )
    for event in decoder.finish():
        yield event


def mapping(value: Any) -> Mapping[str, Any]:
    """Return ``value`` if it is a JSON object, else an empty one: what comes from a service may have any shape."""
    return value if isinstance(value, Mapping) else {}


async def _stream(reply: HttpReply, decoder: Decoder) -> AsyncGenerator[StreamEvent, None]:
    unframed = bytearray()
    try:
        async with aclosing(_payloads(reply, decoder.provider, unframed)) as payloads:
            async for payload in payloads:
                for event in decoder.feed(payload):
                    yield event
                if decoder.is_over:
                    await _drain(payloads)
                    return
        if unframed.strip():
            for event in _without_frame(reply, decoder, bytes(unframed)):
                yield event
    except StreamInterruptedError:
        # A server that drops the connection after its last word has still said it.
        if not decoder.is_complete:
            raise


async def _drain(payloads: AsyncGenerator[Mapping[str, Any], None]) -> None:
    """Read the end of the body, so that the connection can serve the next turn; one kept open is given up."""
    with suppress(TimeoutError, StreamInterruptedError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in payloads:
                continue


async def _payloads(reply: HttpReply, provider: str, unframed: bytearray) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yield the payloads; leave in ``unframed`` the start of a body that turned out to hold no event at all."""
    parser = SseParser()
    seen = False
    async with aclosing(reply.chunks()) as chunks:
        async for chunk in chunks:
            if not seen and len(unframed) <= MAX_REFUSAL_BYTES:
                unframed += chunk
            for event in parser.feed(chunk):
                seen = True
                unframed.clear()
                yield _payload(event.data, provider)
    for event in parser.close():
        unframed.clear()
        yield _payload(event.data, provider)


def _without_frame(reply: HttpReply, decoder: Decoder, body: bytes) -> Iterator[StreamEvent]:
    """Read a body that is no stream though it was to be read as one: JSON under another name, or an error's words.

    Raises
    ------
    ProviderError
        The body is an error.
    """
    words = b"\n".join(line for line in body.splitlines() if not _FRAME.match(line)).strip()
    if not words:
        return
    try:
        value = json.loads(words)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, Mapping):
        yield from decoder.feed_whole(value)
    if not decoder.is_complete:
        raise reply.refusal(words)


def _payload(data: str, provider: str) -> Mapping[str, Any]:
    return DONE if data.strip() == "[DONE]" else _parse(data, provider)


def _parse(data: str | bytes, provider: str) -> Mapping[str, Any]:
    if not data.strip():
        raise StreamInterruptedError(f"{provider}: the answer is empty.", provider=provider)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StreamInterruptedError(
            f"{provider}: a piece of the answer is not JSON; it was damaged on the way.", provider=provider
        ) from error
    if not isinstance(value, Mapping):
        raise StreamInterruptedError(
            f"{provider}: a piece of the answer is no JSON object but {type(value).__name__}.", provider=provider
        )
    return value
