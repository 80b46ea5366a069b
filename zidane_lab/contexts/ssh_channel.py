"""One process on another machine, over a channel of an SSH connection. Imported only when a connection is made."""

from __future__ import annotations

import asyncio
import contextlib
import signal as signals
from collections import deque
from typing import Any, Final

import asyncssh

from zidane_lab.contexts.base import ContextLostError, OutputStream

__all__ = ["SshChannel"]

BUFFERED: Final = 262_144
"""Bytes read ahead of whoever listens; beyond them, and SSH's own window, the process has to wait."""


class SshChannel(asyncssh.SSHClientSession[bytes]):
    """The :class:`~zidane_lab.contexts.channels.Channel`; made by :meth:`open`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._channel: Any = None
        self._pieces: deque[tuple[OutputStream, bytes]] = deque()
        self._size = 0
        self._news = asyncio.Event()
        self._at_end = False
        self._exit: asyncio.Future[tuple[int | None, int | None]] = asyncio.get_running_loop().create_future()
        self._exit.add_done_callback(_seen)

    @classmethod
    async def open(cls, connection: Any, line: str, *, name: str, stdin: bytes = b"") -> SshChannel:
        """Run a command line and feed it; whatever the library raises is left as it is."""
        channel, session = await connection.create_session(lambda: cls(name), line, encoding=None, request_pty=False)
        with contextlib.suppress(OSError):  # it has ended already
            if stdin:
                channel.write(stdin)
            channel.write_eof()
        found: SshChannel = session
        return found

    async def receive(self) -> tuple[OutputStream, bytes] | None:
        """Return the next piece of output, ``None`` at its end."""
        while not self._pieces:
            if self._at_end:
                return None
            self._news.clear()
            await self._news.wait()
        piece = self._pieces.popleft()
        was_full = self._size >= BUFFERED
        self._size -= len(piece[1])
        if was_full and self._size < BUFFERED:
            self._channel.resume_reading()
        return piece

    async def exited(self) -> tuple[int | None, int | None]:
        """Wait for its end."""
        return await asyncio.shield(self._exit)

    async def close(self) -> None:
        """Let go of the channel."""
        self._pieces.clear()
        self._end()
        with contextlib.suppress(OSError):
            self._channel.abort()

    def signal(self, name: str) -> None:
        """Ask the other side's server to send a signal; older ones do not know how."""
        with contextlib.suppress(OSError):
            self._channel.send_signal(name)

    # --- called by the library ----------------------------------------------------------------

    def connection_made(self, chan: Any) -> None:
        """Take the channel."""
        self._channel = chan

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Keep a piece of output."""
        if self._at_end:
            return
        self._pieces.append(("stdout" if datatype is None else "stderr", data))
        self._size += len(data)
        if self._size >= BUFFERED:
            self._channel.pause_reading()
        self._news.set()

    def eof_received(self) -> bool:
        """Take note of the end of the output; the exit code may still come."""
        self._end()
        return True

    def exit_status_received(self, status: int) -> None:
        """Take the exit code."""
        if not self._exit.done():
            self._exit.set_result((status, None))

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        """Take the signal that ended it."""
        del core_dumped, msg, lang
        number = getattr(signals, f"SIG{signal}", None)
        if not self._exit.done():
            self._exit.set_result((None, int(number) if number is not None else None))

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note of the channel's end; without an exit code the connection broke, or nobody will ever tell."""
        self._end()
        if not self._exit.done():
            why = f": {exc}" if exc is not None else ", and did not say how its command ended"
            self._exit.set_exception(ContextLostError(f"{self._name} has closed the connection{why}."))

    def _end(self) -> None:
        self._at_end = True
        self._news.set()


def _seen(future: asyncio.Future[Any]) -> None:
    """Look at a failure, so that one nobody waits for is not reported as forgotten."""
    if not future.cancelled():
        future.exception()
