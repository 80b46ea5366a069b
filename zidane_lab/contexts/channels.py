"""Byte channels to a process somewhere else, and the command that runs at the other end of one."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from zidane_lab.contexts.base import Command, Completed, ContextLostError, OnOutput, OutputStream
from zidane_lab.contexts.launching import end_argv, living_argv, read_header
from zidane_lab.contexts.said_errors import os_error

__all__ = ["Answer", "Ask", "Channel", "RemoteCommand", "answer", "start_or_end"]

HEADER_BYTES: Final = 65_536
"""Most that start-up files may print before the command's own first line."""
HEADER_SECONDS: Final = 60.0
QUIET_SECONDS: Final = 1.0
"""How long nothing may come after the command's end until its output counts as over: something it left running may
hold the channel open for ever."""
STUCK_SECONDS: Final = 2.0
"""How long a slow listener may hold up the end of a command that was stopped."""
GIVEN_UP_SECONDS: Final = 5.0
"""How long a stop waits for the end of a command that was just being started."""
END_SECONDS: Final = 10.0
"""How long the place may take to say that it has ended a command, beyond the command's grace."""


class Channel(Protocol):
    """A process somewhere else, with its output. Reading slowly makes it wait."""

    async def receive(self) -> tuple[OutputStream, bytes] | None:
        """Return the next piece of output, ``None`` at its end."""
        ...

    async def exited(self) -> tuple[int | None, int | None]:
        """Wait for its end and return exit code and signal, as far as they are told.

        Raises
        ------
        ContextLostError
            The place is gone.
        """
        ...

    async def close(self) -> None:
        """Let go of it; output that has not been received is lost."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """How a short program of ours ended."""

    code: int | None
    stdout: bytes
    stderr: bytes

    def check(self, path: str) -> bytes:
        """Return what it printed.

        Raises
        ------
        OSError
            It failed; what it said tells why.
        """
        if self.code != 0:
            raise os_error(self.stderr.decode("utf-8", "replace"), path)
        return self.stdout


Ask: TypeAlias = Callable[[Sequence[str]], Awaitable[Answer]]
"""Runs a short program in the place."""


async def answer(channel: Channel) -> Answer:
    """Read a channel to its end and close it."""
    output: dict[OutputStream, list[bytes]] = {"stdout": [], "stderr": []}
    try:
        while (piece := await channel.receive()) is not None:
            output[piece[0]].append(piece[1])
        code, _ = await channel.exited()
    finally:
        await channel.close()
    return Answer(code, b"".join(output["stdout"]), b"".join(output["stderr"]))


_GIVEN_UP: Final[set[asyncio.Task[None]]] = set()
"""Commands that are being ended because nobody waited for their start."""


async def start_or_end(
    start: Callable[[OnOutput], Coroutine[Any, Any, RemoteCommand]], on_output: OnOutput
) -> RemoteCommand:
    """Start a command; one whose start is given up is ended, as it may run there already.

    A cancellation waits some seconds for that, no more; it goes on in any case.

    Parameters
    ----------
    start
        Starts it, given where its output goes.
    on_output
        Where it goes; nothing of a command that was given up.
    """
    is_wanted = True

    async def hear(stream: OutputStream, data: bytes) -> None:
        if is_wanted:
            await on_output(stream, data)

    starting = asyncio.ensure_future(start(hear))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        is_wanted = False
        ending = asyncio.ensure_future(_end_once_begun(starting))
        _GIVEN_UP.add(ending)
        ending.add_done_callback(_GIVEN_UP.discard)
        await asyncio.wait({ending}, timeout=GIVEN_UP_SECONDS)
        raise


async def _end_once_begun(starting: asyncio.Future[RemoteCommand]) -> None:
    with contextlib.suppress(ContextLostError, OSError, asyncio.CancelledError):  # then there is nothing to end
        running = await starting
        await running.stop(grace=0.0)


class RemoteCommand:
    """A command that has been started through a channel; made by :meth:`begin`."""

    def __init__(self, channel: Channel, ask: Ask, on_output: OnOutput, token: str) -> None:
        self._channel, self._ask, self._on_output, self._token = channel, ask, on_output, token
        self._loop = asyncio.get_running_loop()
        self._begun: asyncio.Future[int | str] = self._loop.create_future()
        self._done: asyncio.Future[Completed] = self._loop.create_future()
        self._done.add_done_callback(_seen)
        self._eof = asyncio.Event()
        self._pieces = self._delivering = 0
        self._trouble: Exception | None = None
        self._stopped = self._timed_out = self._has_exited = False
        self._session = 0
        self._left: tuple[int, ...] = ()
        self._started = time.monotonic()
        self._noise: dict[OutputStream, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._timer: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._pumping = self._loop.create_task(self._pump())
        self._watching: asyncio.Task[None] | None = None

    @classmethod
    async def begin(
        cls, channel: Channel, ask: Ask, command: Command, on_output: OnOutput, *, token: str, folder: str
    ) -> RemoteCommand:
        """Take over a channel in which :func:`~zidane_lab.contexts.launching.launch_argv` was started.

        Raises
        ------
        OSError
            The command could not be started: no such folder, no shell.
        ContextLostError
            The place is gone.
        """
        running = cls(channel, ask, on_output, token)
        try:
            async with asyncio.timeout(HEADER_SECONDS):
                found = await asyncio.shield(running._begun)
        except BaseException as error:
            running._pumping.cancel()
            await channel.close()
            if isinstance(error, TimeoutError):
                raise OSError(f"no shell answered within {HEADER_SECONDS:g} s") from error
            raise
        if isinstance(found, str):
            running._pumping.cancel()
            await channel.close()
            raise os_error(found, folder)
        running._session = found
        running._started = time.monotonic()
        if command.timeout is not None:
            running._timer = running._loop.call_later(command.timeout, running._expire)
        running._watching = running._loop.create_task(running._watch())
        return running

    @property
    def id(self) -> str:
        """Its process id there."""
        return str(self._session)

    @property
    def is_over(self) -> bool:
        """Whether it has ended, all output has been taken, and nothing it started still runs."""
        return self._done.done() and not self._left

    async def wait(self) -> Completed:
        """Wait for its end and the last of its output.

        Raises
        ------
        ContextLostError
            The place is gone; whether the command goes on there cannot be told.
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

    def lose(self, error: ContextLostError) -> None:
        """Take note that the place is gone."""
        if not self._done.done():
            self._has_exited, self._left = True, ()
            self._done.set_exception(error)
        if self._timer is not None:
            self._timer.cancel()

    async def _end(self, grace: float) -> None:
        if self.is_over:
            return
        known = self._left if self._has_exited else ()
        still: tuple[int, ...] = ()
        ending = asyncio.ensure_future(self._ask(end_argv(self._session, grace=grace, known=known)))
        try:
            await asyncio.wait({ending}, timeout=grace + STUCK_SECONDS)
            if not ending.done():  # output that nobody takes may hold up the place's answers too
                await self._channel.close()
            async with asyncio.timeout(END_SECONDS):
                still = _numbers((await ending).stdout)
        except ContextLostError as error:
            self.lose(error)
        except (TimeoutError, OSError):
            pass  # it may still run, but the place does not answer: nobody is kept waiting for that
        if not self._has_exited:
            await asyncio.wait({self._done}, timeout=STUCK_SECONDS)
        if not self._has_exited:  # its output is not taken, so its end is not told either
            await self._channel.close()
            self._finish(None, None, time.monotonic() - self._started, ())
        if self._done.done():
            self._left = still

    def _expire(self) -> None:
        if not self._has_exited and self._stopping is None:
            self._timed_out = self._stopped = True
            self._stopping = self._loop.create_task(self._end(2.0))

    async def _pump(self) -> None:
        """Take the output; the first line is the launcher's."""
        try:
            while (piece := await self._channel.receive()) is not None:
                await self._take(*piece)
            if not self._begun.done():
                await self._channel.exited()  # says if the place is gone
                said = b"".join(self._noise.values())
                self._begun.set_result(said.decode("utf-8", "replace") or "no shell started")
        except (ContextLostError, OSError) as error:
            if not self._begun.done():
                self._begun.set_exception(error)
        finally:
            self._eof.set()

    async def _take(self, stream: OutputStream, data: bytes) -> None:
        if (noise := self._noise.get(stream)) is not None:
            noise += data
            found = read_header(self._token, bytes(noise))
            if found is None:
                if len(noise) > HEADER_BYTES and not self._begun.done():
                    self._begun.set_result("the shell there prints too much before it begins")
                return
            del self._noise[stream]
            if stream == "stdout" and not self._begun.done():
                self._begun.set_result(found[0])
            data = found[1]
        if not data or self._trouble is not None or self._done.done():
            return
        self._pieces += 1
        self._delivering += 1
        try:
            await self._on_output(stream, data)
        except Exception as error:  # noqa: BLE001 - raised again by wait()
            self._trouble = error
        finally:
            self._delivering -= 1

    async def _watch(self) -> None:
        """Wait for the end, then for the rest of the output, see what was left running, and say that it is over."""
        try:
            code, signal = await self._channel.exited()
            self._has_exited = True
            if self._timer is not None:
                self._timer.cancel()
            seconds = time.monotonic() - self._started
            await self._settle()
            await self._channel.close()
            left = await self._living()
        except ContextLostError as error:
            await self._channel.close()
            self.lose(error)
        else:
            self._finish(code, signal, seconds, left)
        if not self._eof.is_set():
            self._pumping.cancel()

    async def _settle(self) -> None:
        patience = time.monotonic() + STUCK_SECONDS
        while not self._eof.is_set():
            before = self._pieces
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._eof.wait(), QUIET_SECONDS)
            if self._stopped and time.monotonic() > patience:
                break
            if self._pieces == before and not self._delivering:
                break

    async def _living(self) -> tuple[int, ...]:
        try:
            found = await self._ask(living_argv(self._session))
        except OSError:  # there is no saying
            return ()
        return _numbers(found.stdout)

    def _finish(self, code: int | None, signal: int | None, seconds: float, left: tuple[int, ...]) -> None:
        if self._done.done():
            return
        self._has_exited, self._left = True, left
        self._done.set_result(
            Completed(
                exit_code=code if not self._stopped else None,
                signal=signal,
                timed_out=self._timed_out,
                seconds=seconds,
                left_running=len(left),
            )
        )


def _numbers(data: bytes) -> tuple[int, ...]:
    return tuple(int(pid) for pid in data.split() if pid.isdigit())


def _seen(future: asyncio.Future[Completed]) -> None:
    """Look at a failure, so that one nobody waits for is not reported as forgotten."""
    if not future.cancelled():
        future.exception()
