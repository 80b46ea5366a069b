"""The messages between us and one kernel that runs in another process.

One task reads each channel, so that nothing piles up between requests, and one watches whether the kernel
lives. A request ends with its reply and, for what it prints, with the *idle* status of that very request:
there is no time limit on code.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from zidane_lab.errors import KernelLostError

__all__ = ["Connection", "Listener"]

Listener: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Hears the type and the content of each message a request causes on the output channel."""

WATCH_SECONDS: Final = 0.5
"""Time between two looks at whether the kernel lives."""

SILENCE_SECONDS: Final = 10.0
"""After a reply, how long the output channel may be silent before its *idle* counts as lost: the sending
side drops messages when a reader is slower than about a thousand of them."""


@dataclass(slots=True)
class _Request:
    listener: Listener | None
    reply: asyncio.Future[Mapping[str, Any]]
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    heard: float = field(default_factory=time.monotonic)


class Connection:
    """A kernel we can talk to.

    Parameters
    ----------
    client
        A ``jupyter_client`` asynchronous client whose channels are started. It belongs to the connection now.
    cause_of_death
        Says how the kernel ended, or ``None`` while it lives.
    interrupt
        Interrupts whatever the kernel is running.

    Attributes
    ----------
    lost
        The error that every request fails with once the kernel is gone.
    """

    def __init__(
        self,
        client: Any,
        *,
        cause_of_death: Callable[[], Awaitable[str | None]],
        interrupt: Callable[[], Awaitable[None]],
    ) -> None:
        self.lost: KernelLostError | None = None
        self.interrupt = interrupt
        self._client = client
        self._cause_of_death = cause_of_death
        self._requests: dict[str, _Request] = {}
        self._kernel_session: str | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, seconds: float) -> Mapping[str, Any]:
        """Wait until the kernel answers and its outputs reach us; return what it says of itself.

        The question goes over the control channel, which answers also while a cell is running.

        Raises
        ------
        KernelLostError
            It ended, or did not answer within ``seconds``.
        """
        channels = (self._client.shell_channel, self._client.control_channel, self._client.iopub_channel)
        self._tasks = [asyncio.create_task(self._read(channel)) for channel in channels]
        self._tasks.append(asyncio.create_task(self._watch()))
        for task in self._tasks:
            task.add_done_callback(self._ended)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            request = self._ask_info()
            await asyncio.wait({request.reply}, timeout=1.0)
            if not request.reply.done():
                continue
            info = request.reply.result()
            try:
                # Only when its status arrived are we subscribed to the outputs.
                await asyncio.wait_for(request.idle.wait(), 1.0)
            except TimeoutError:
                continue
            self._requests.clear()
            return info
        raise KernelLostError(
            f"The kernel did not answer within {seconds:g} seconds.",
            hint="Look whether it is running, and whether the connection file is its own.",
        )

    async def close(self) -> None:
        """Stop reading and close the channels; the kernel itself is left alone."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._client.stop_channels()

    async def execute(
        self,
        code: str,
        *,
        listener: Listener | None = None,
        expressions: Mapping[str, str] | None = None,
        silent: bool = False,
        store_history: bool = False,
    ) -> tuple[Mapping[str, Any], bool]:
        """Run code and return the kernel's reply, and whether all output messages arrived.

        A request that the kernel skipped because another one failed before it is sent again.

        Raises
        ------
        KernelLostError
            The kernel ended.
        """
        while True:
            if self.lost is not None:
                raise self.lost
            message_id = self._client.execute(
                code,
                silent=silent,
                store_history=store_history,
                user_expressions=dict(expressions or {}),
                allow_stdin=False,
                stop_on_error=False,  # or an error here would skip what others have queued
            )
            request = self._requests[message_id] = self._new(listener)
            try:
                reply = await request.reply
                if reply.get("status") == "aborted":
                    continue
                complete = silent or await self._until_idle(request)
            finally:
                self._requests.pop(message_id, None)
            return reply, complete

    def _new(self, listener: Listener | None) -> _Request:
        return _Request(listener, asyncio.get_running_loop().create_future())

    def _ask_info(self) -> _Request:
        message = self._client.session.msg("kernel_info_request", {})
        request = self._requests[message["header"]["msg_id"]] = self._new(None)
        self._client.control_channel.send(message)
        return request

    async def _until_idle(self, request: _Request) -> bool:
        while not request.idle.is_set():
            rest = request.heard + SILENCE_SECONDS - time.monotonic()
            if rest <= 0:
                return False
            try:
                await asyncio.wait_for(request.idle.wait(), rest)
            except TimeoutError:
                continue
            if self.lost is not None:
                raise self.lost
        return True

    # --- reading ------------------------------------------------------------------------------------

    async def _read(self, channel: Any) -> None:
        while True:
            try:
                message = await channel.get_msg(timeout=None)
            except ValueError:
                continue  # not signed with this kernel's key: not from it
            self._handle(message)

    def _handle(self, message: Mapping[str, Any]) -> None:
        kind, session = message["header"]["msg_type"], message["header"].get("session")
        if self._kernel_session is None and kind == "kernel_info_reply":
            self._kernel_session = session
        elif self._kernel_session not in {None, session} and kind in {"kernel_info_reply", "status"}:
            self._lose("it was restarted")
            return
        request = self._requests.get(message["parent_header"].get("msg_id", ""))
        if request is None:
            return
        request.heard = time.monotonic()
        content = message["content"]
        if kind.endswith("_reply"):
            if not request.reply.done():
                request.reply.set_result(content)
        elif kind == "status":
            if content.get("execution_state") == "idle":
                request.idle.set()
        elif request.listener is not None:
            request.listener(kind, content)

    async def _watch(self) -> None:
        while self.lost is None:
            cause = await self._cause_of_death()
            if cause is not None:
                await asyncio.sleep(0.2)  # what it said before it died may still be on its way
                self._lose(cause)
            await asyncio.sleep(WATCH_SECONDS)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Let nobody wait for a reader that is not there any more."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._lose(f"talking to it failed ({type(error).__name__}: {error})")

    def _lose(self, cause: str) -> None:
        if self.lost is not None:
            return
        self.lost = KernelLostError(f"The kernel is gone: {cause}.")
        for request in self._requests.values():
            request.idle.set()
            if not request.reply.done():
                request.reply.set_exception(self.lost)
                request.reply.exception()  # also read where nobody waits for it any more
