"""Server-Sent Events: bytes in, events out.

An incremental parser of the ``text/event-stream`` format of the HTML standard
(https://html.spec.whatwg.org/multipage/server-sent-events.html). It knows nothing of HTTP or of models. How
the bytes were cut into chunks never matters: a chunk may end inside a character or between CR and LF.

It differs from the standard in one way: an event that the end of the stream cuts off before its blank line is
still delivered, because several model servers leave that blank line out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from zidane_lab.errors import ProviderError

__all__ = ["MAX_EVENT_BYTES", "ServerSentEvent", "SseParser"]

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""Longest event accepted, in bytes; far above any honest one, so that a runaway stream cannot fill the memory."""

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its ``data`` lines joined by newlines, and its ``event`` type (empty when not named)."""

    data: str
    event: str = ""


class SseParser:
    """Parse a stream chunk by chunk.

    Parameters
    ----------
    max_event_bytes
        Longest event accepted, in bytes.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self._line = bytearray()
        self._data: list[str] = []
        self._event = ""
        self._size = 0
        self._at_start = True
        self._after_cr = False

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """Take the next bytes and yield the events they complete.

        Raises
        ------
        ProviderError
            An event is longer than allowed.
        """
        if self._after_cr and chunk:
            # The line already ended at the CR; an LF that follows belongs to the same line end.
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return
        self._after_cr = chunk.endswith(b"\r")
        *lines, rest = _LINE_END.split(chunk)
        for line in lines:
            self._extend(line)
            yield from self._end_line()
        self._extend(rest)

    def close(self) -> Iterator[ServerSentEvent]:
        """Say that the stream has ended; yield the event it cut off, if any."""
        yield from self._end_line()
        yield from self._dispatch()

    def _extend(self, piece: bytes) -> None:
        self._line += piece
        if self._size + len(self._line) > self._limit:
            raise ProviderError(
                f"The service sent one event of more than {self._limit} bytes.",
                hint="This is no model's answer; look at what stands behind the base URL.",
            )

    def _end_line(self) -> Iterator[ServerSentEvent]:
        raw = bytes(self._line)
        self._line.clear()
        if self._at_start:
            raw = raw.removeprefix(_BOM)
            self._at_start = False
        if not raw:
            yield from self._dispatch()
            return
        if raw.startswith(b":"):
            return
        name, _, value = raw.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._size += len(raw)
        elif name == "event":
            self._event = value

    def _dispatch(self) -> Iterator[ServerSentEvent]:
        data, event = "\n".join(self._data), self._event
        self._data.clear()
        self._event, self._size = "", 0
        if data:
            yield ServerSentEvent(data, event)
