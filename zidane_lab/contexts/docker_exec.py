"""One process in a container, over the connection the daemon hands over for it.

Output and errors come in one stream of frames: a byte for the stream, three of padding, four for the length.
The end of the input cannot be told (over TLS the connection has no half), so a program is told how much it gets.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from zidane_lab.contexts.base import ContextLostError, OutputStream

__all__ = ["DockerExec", "Frames"]

CHUNK_BYTES: Final = 65_536
LOOK_SECONDS: Final = 2.0
"""How often the daemon is asked about a process that says nothing: its output may have been kept open by another."""
SOON_SECONDS: Final = 0.05
QUEUED: Final = 8
"""Pieces read ahead of whoever listens."""
_KILLED: Final = (None, 137, 143)
"""Exit codes that may mean that the whole container was ended."""


class Frames:
    """Takes the stream apart; a piece of a frame is handed on as it comes."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._stream: OutputStream = "stdout"
        self._left = 0

    def feed(self, data: bytes) -> list[tuple[OutputStream, bytes]]:
        """Return the pieces of output in some more bytes of the stream."""
        pieces: list[tuple[OutputStream, bytes]] = []
        at = 0
        while at < len(data):
            if self._left == 0:
                need = 8 - len(self._header)
                self._header += data[at : at + need]
                at += need
                if len(self._header) < 8:
                    break
                self._stream = "stderr" if self._header[0] == 2 else "stdout"
                self._left = int.from_bytes(self._header[4:8], "big")
                self._header.clear()
                continue
            piece = data[at : at + self._left]
            at += len(piece)
            self._left -= len(piece)
            pieces.append((self._stream, piece))
        return pieces


class DockerExec:
    """The :class:`~zidane_lab.contexts.channels.Channel`; made by :meth:`open`."""

    def __init__(
        self, api: Any, exec_id: str, handle: Any, *, is_up: Callable[[], bool], name: str, stdin: bytes
    ) -> None:
        self._api, self._id, self._is_up, self._name = api, exec_id, is_up, name
        self._handle, self._socket = handle, getattr(handle, "_sock", handle)
        self._loop = asyncio.get_running_loop()
        self._pieces: asyncio.Queue[tuple[OutputStream, bytes] | None] = asyncio.Queue(QUEUED)
        self._eof = asyncio.Event()
        self._ended = self._closed = False
        work: list[tuple[Callable[..., None], tuple[Any, ...]]] = [(self._read, ())]
        if stdin:
            work.append((self._feed, (stdin,)))
        for function, arguments in work:
            threading.Thread(target=function, args=arguments, name=f"zidane-exec-{exec_id[:8]}", daemon=True).start()

    @classmethod
    async def open(
        cls,
        api: Any,
        container: str,
        argv: Sequence[str],
        *,
        name: str,
        user: str,
        env: Mapping[str, str],
        is_up: Callable[[], bool],
        stdin: bytes = b"",
    ) -> DockerExec:
        """Start a process in a container; whatever the SDK raises is left as it is."""

        def start() -> tuple[str, Any]:
            created = api.exec_create(
                container, list(argv), stdin=bool(stdin), stdout=True, stderr=True, user=user, environment=dict(env)
            )
            return created["Id"], api.exec_start(created["Id"], socket=True)

        exec_id, handle = await asyncio.to_thread(start)
        with contextlib.suppress(AttributeError, OSError):
            getattr(handle, "_sock", handle).settimeout(None)  # the client's limit is for its own requests
        return cls(api, exec_id, handle, is_up=is_up, name=name, stdin=stdin)

    async def receive(self) -> tuple[OutputStream, bytes] | None:
        """Return the next piece of output, ``None`` at its end."""
        if self._ended:
            return None
        piece = await self._pieces.get()
        self._ended = piece is None
        return piece

    async def exited(self) -> tuple[int | None, int | None]:
        """Wait for its end; of a process ended by a signal the code is 128 more than it, as shells have it."""
        while (found := await asyncio.to_thread(self._look)) is None:
            if self._eof.is_set():
                await asyncio.sleep(SOON_SECONDS)
            else:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._eof.wait(), LOOK_SECONDS)
        return found

    async def close(self) -> None:
        """Let go of the connection."""
        self._closed = True
        with contextlib.suppress(OSError, AttributeError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
        while not self._pieces.empty():  # and one that waits for room
            self._pieces.get_nowait()

    def _look(self) -> tuple[int | None, int | None] | None:
        """Ask the daemon; ``None`` while the process runs. Blocks."""
        try:
            found = self._api.exec_inspect(self._id)
        except Exception as error:
            raise ContextLostError(f"{self._name} is gone: {error}.") from error
        if found.get("Running"):
            return None
        code = found.get("ExitCode")
        if code in _KILLED and not self._is_up():
            raise ContextLostError(f"{self._name} has ended.")
        return code, None

    # --- in threads ---------------------------------------------------------------------------

    def _read(self) -> None:
        """Read to the end, then close the connection: no other thread may do that while this one reads."""
        read, frames = _reader(self._handle), Frames()
        try:
            while data := read(CHUNK_BYTES):
                if not all(map(self._put, frames.feed(data))):
                    break
        except (OSError, ValueError):
            pass  # the connection was closed: that is the end of it
        finally:
            _close(self._handle)
        self._soon(self._eof.set)
        self._put(None)

    def _put(self, piece: tuple[OutputStream, bytes] | None) -> bool:
        """Hand a piece to the loop and wait until there is room for it; whether anybody may still want more."""
        putting = self._pieces.put(piece)
        try:
            asyncio.run_coroutine_threadsafe(putting, self._loop).result()
        except (RuntimeError, concurrent.futures.CancelledError):  # the loop is closed, or about to be
            putting.close()
            return False
        return not self._closed

    def _soon(self, function: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)

    def _feed(self, data: bytes) -> None:
        """Write the input; the process may end before it has read it."""
        with contextlib.suppress(OSError, ValueError):
            self._socket.sendall(data)


def _close(handle: Any) -> None:
    """Close a connection with all that holds it: the reply, its reader, the socket."""
    for each in (getattr(handle, "_response", None), handle, getattr(handle, "_sock", None)):
        with contextlib.suppress(OSError, ValueError):
            if each is not None:
                each.close()


def _reader(handle: Any) -> Callable[[int], bytes]:
    """Return what reads the connection.

    The HTTP library may have read the first output together with the reply's head; then it is in its buffer, which the
    SDK passes over.
    """
    buffered = getattr(getattr(getattr(getattr(handle, "_response", None), "raw", None), "_fp", None), "fp", None)
    if buffered is not None and hasattr(buffered, "read1"):
        read1: Callable[[int], bytes] = buffered.read1
        return read1
    receive: Callable[[int], bytes] = getattr(handle, "_sock", handle).recv
    return receive
