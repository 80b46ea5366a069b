"""A command on this machine: its process group, its output as it comes, its end.

The pipes are read in threads of their own, so that it works on any event loop of any system. A thread reads on only
when what it read has been taken, so nothing piles up in memory: a command that prints faster than that waits.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import errno
import os
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine
from typing import IO, Any, Final

from zidane_lab.contexts import owned
from zidane_lab.contexts.base import Completed, OnOutput, OutputStream
from zidane_lab.contexts.process_groups import Process, end_family, members

__all__ = ["LocalCommand", "launch"]

CHUNK_BYTES: Final = 65_536
QUIET_SECONDS: Final = 0.2
"""How long nothing may come after the command's end until output counts as over: something it left running may hold
the pipe open for ever."""
STUCK_SECONDS: Final = 2.0
"""How long a listener that does not return may hold up the end of a command that was stopped, and how long something
that a command left running may go on printing until the output counts as over all the same."""
PIECES_IN_PIPES: Final = 40
"""Pieces that may still be in the two pipes when a command ends; what comes after them was written by others."""
LINGER_SECONDS: Final = 0.05
"""A pipeline's members may need a moment longer than its last one."""


def launch(
    argv: list[str],
    *,
    label: str,
    cwd: str,
    env: dict[str, str],
    stdin: bytes,
    timeout: float | None,
    on_output: OnOutput,
    session_id: str | None = None,
) -> LocalCommand:
    """Start a command in a session and process group of its own.

    Raises
    ------
    OSError
        It cannot be started: no such folder or program, too long a command line.
    """
    windows = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if os.name == "nt" else {}  # type: ignore[attr-defined]
    try:
        process = subprocess.Popen(  # noqa: S603 - running what was asked for is the point; approval comes before
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name != "nt",
            bufsize=0,
            **windows,
        )
    except ValueError as error:  # a NUL byte in the text, the folder or the environment
        raise OSError(errno.EINVAL, str(error)) from error
    owned.own(process.pid, label, session_id=session_id)
    try:
        return LocalCommand(process, on_output, stdin=stdin, timeout=timeout)
    except RuntimeError as error:  # no more threads: nobody would read its output or see its end
        end_family(process.pid, grace=0)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        owned.disown(process.pid)
        raise OSError(errno.EAGAIN, str(error)) from error


class LocalCommand:
    """A command that has been started; made by :func:`launch`."""

    def __init__(
        self, process: subprocess.Popen[bytes], on_output: OnOutput, *, stdin: bytes = b"", timeout: float | None = None
    ) -> None:
        self._process, self._on_output = process, on_output
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[Completed] = self._loop.create_future()
        self._started = time.monotonic()
        self._pieces, self._delivering, self._open = 0, 0, 2
        self._eof = asyncio.Event()
        self._deaf = False
        self._trouble: BaseException | None = None
        self._stopped = self._timed_out = self._has_exited = False
        self._left: list[Process] = []
        self._settling: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(timeout, self._expire) if timeout is not None else None
        work: list[tuple[str, Callable[..., None], tuple[Any, ...]]] = [
            ("stdout", self._read, ("stdout", process.stdout)),
            ("stderr", self._read, ("stderr", process.stderr)),
            ("end", self._wait_for_exit, ()),
        ]
        if process.stdin is not None:
            work.append(("stdin", _feed, (process.stdin, stdin)))
        for name, function, arguments in work:
            threading.Thread(target=function, args=arguments, name=f"zidane-{process.pid}-{name}", daemon=True).start()

    @property
    def id(self) -> str:
        """Its process id."""
        return str(self._process.pid)

    @property
    def is_over(self) -> bool:
        """Whether it has ended, all output has been taken, and nothing it started still runs."""
        return self._done.done() and not self._left

    async def wait(self) -> Completed:
        """Wait for its end and the last of its output.

        Raises
        ------
        Exception
            Whatever ``on_output`` raised; nothing more was given to it then.
        """
        completed = await asyncio.shield(self._done)
        if self._trouble is not None:
            raise self._trouble
        return completed

    async def stop(self, *, grace: float = 2.0) -> Completed:
        """End it and everything it started, also what it left running when it ended by itself."""
        if self._stopping is None or (self._stopping.done() and not self.is_over):
            self._stopped = self._stopped or not self._has_exited
            self._stopping = self._loop.create_task(self._end(grace))
        await asyncio.shield(self._stopping)
        return await asyncio.shield(self._done)

    def kill(self) -> None:
        """End it and everything it started, from any thread and without waiting for its output."""
        end_family(self._process.pid, grace=0, known=self._known())

    def _known(self) -> list[Process] | None:
        """Return what there is to end of a command that has ended; ``None`` for one that runs. Blocks for a moment."""
        if not self._has_exited:
            return None
        return self._left if self._done.done() else members(self._process.pid)

    async def _end(self, grace: float) -> None:
        known = await asyncio.to_thread(self._known)
        await asyncio.to_thread(end_family, self._process.pid, grace=grace, known=known)
        if self._done.done():
            self._left = []
            owned.disown(self._process.pid)

    def _expire(self) -> None:
        if not self._has_exited and self._stopping is None:
            self._timed_out = self._stopped = True
            self._stopping = self._loop.create_task(self._end(2.0))

    # --- on the loop --------------------------------------------------------------------------

    async def _take(self, stream: OutputStream, data: bytes) -> None:
        if self._done.done() or self._trouble is not None:
            return
        self._pieces += 1
        self._delivering += 1
        try:
            await self._on_output(stream, data)
        except Exception as error:  # noqa: BLE001 - raised again by wait()
            self._trouble = error
        finally:
            self._delivering -= 1

    def _closed(self) -> None:
        self._open -= 1
        if self._open == 0:
            self._eof.set()

    def _exited(self, code: int) -> None:
        self._has_exited = True
        if self._timer is not None:
            self._timer.cancel()
        seconds = time.monotonic() - self._started
        self._settling = self._loop.create_task(self._settle(code, seconds))

    async def _settle(self, code: int, seconds: float) -> None:
        """Take the rest of the output, see what was left running, and say that it is over."""
        patience, at_exit = time.monotonic() + STUCK_SECONDS, self._pieces
        while not self._eof.is_set():
            before = self._pieces
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._eof.wait(), QUIET_SECONDS)
            is_late = time.monotonic() > patience
            if self._pieces == before and (not self._delivering or (is_late and self._stopped)):
                break
            if is_late and (not self._delivering or self._pieces > at_exit + PIECES_IN_PIPES):
                break
        left = await asyncio.to_thread(members, self._process.pid)
        if left:
            await asyncio.sleep(LINGER_SECONDS)
            left = await asyncio.to_thread(members, self._process.pid)
        self._left, self._deaf = left, True
        if left:
            owned.leave(self._process.pid, left)
        else:
            owned.disown(self._process.pid)
        self._done.set_result(
            Completed(
                exit_code=code if code >= 0 and not self._stopped else None,
                signal=-code if code < 0 else None,
                timed_out=self._timed_out,
                seconds=seconds,
                left_running=len(left),
            )
        )

    # --- in threads ---------------------------------------------------------------------------

    def _read(self, stream: OutputStream, pipe: IO[bytes]) -> None:
        """Read a pipe to its end; once nobody listens, only so that nothing that writes to it is held up."""
        # What goes wrong here (the pipe was closed at the command's end) ends the stream, as its end would.
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(pipe.fileno(), CHUNK_BYTES):
                if not self._deaf:
                    self._hand_over(stream, data)
        pipe.close()
        self._soon(self._closed)

    def _hand_over(self, stream: OutputStream, data: bytes) -> None:
        """Give a piece to the loop and wait until it has been taken."""
        taking: Coroutine[Any, Any, None] = self._take(stream, data)
        try:
            future = asyncio.run_coroutine_threadsafe(taking, self._loop)
        except RuntimeError:  # the loop is closed
            taking.close()
            self._deaf = True
            return
        try:
            future.result()
        except (concurrent.futures.CancelledError, RuntimeError):  # the loop is about to be
            self._deaf = True

    def _wait_for_exit(self) -> None:
        code = self._process.wait()
        if not self._soon(self._exited, code):
            owned.disown(self._process.pid)

    def _soon(self, function: Callable[..., object], *arguments: object) -> bool:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return False
        return True


def _feed(pipe: IO[bytes], data: bytes) -> None:
    """Write all of ``data``; a command may end, or close its input, before it has read it."""
    with contextlib.suppress(OSError):
        view = memoryview(data)
        while view:
            view = view[os.write(pipe.fileno(), view) :]
    with contextlib.suppress(OSError):
        pipe.close()
