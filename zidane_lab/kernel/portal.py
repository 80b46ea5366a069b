"""A way onto the main thread: its loop, and the context of the cell that asked.

User code must run in the kernel's main thread (signals, GUI toolkits, matplotlib), while the agent's loop
lives in a thread of its own. The portal carries a coroutine function over and its outcome back. It keeps
the cell's context, because ipykernel 7 finds the cell that outputs belong to in context variables.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

__all__ = ["Portal"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Portal:
    """The main loop and a context to run in; make it on the main loop with :meth:`here`."""

    loop: asyncio.AbstractEventLoop
    context: contextvars.Context
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set, compare=False)

    @classmethod
    def here(cls) -> Portal:
        """Return a portal to the running loop, with the context of the caller."""
        return cls(asyncio.get_running_loop(), contextvars.copy_context())

    def soon(self, function: Callable[[], object]) -> None:
        """Call ``function`` on the main loop, in the cell's context, as soon as it is free."""
        self.loop.call_soon_threadsafe(function, context=self.context)

    async def call(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Await ``function()`` on the main loop, from whatever loop this is.

        Cancelling the caller does not cancel the coroutine: whoever sent it decides how to end it.
        """
        if asyncio.get_running_loop() is self.loop:
            return await function()
        outcome: Future[T] = Future()

        def start() -> None:
            task = self.loop.create_task(self._carry(function, outcome))
            self._tasks.add(task)  # the loop itself keeps only a weak reference
            task.add_done_callback(self._tasks.discard)

        self.soon(start)
        return await asyncio.shield(asyncio.wrap_future(outcome))

    @staticmethod
    async def _carry(function: Callable[[], Awaitable[T]], outcome: Future[T]) -> None:
        try:
            outcome.set_result(await function())
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - carried to the caller, not swallowed
            outcome.set_exception(error)
        except BaseException as error:  # noqa: BLE001 - as it is, it would end the caller's loop
            outcome.set_exception(RuntimeError(f"{type(error).__name__} on the main thread"))
