"""The agent's thread: one asyncio loop of our own, started with the first prompt.

Providers, sessions and rendering live here, so that a stream does not stall while a cell computes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["AgentThread"]

T = TypeVar("T")


class AgentThread:
    """A daemon thread that runs an event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop; starts the thread on first use."""
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                started = threading.Event()

                def serve() -> None:
                    asyncio.set_event_loop(loop)
                    loop.call_soon(started.set)
                    loop.run_forever()

                threading.Thread(target=serve, name="zidane-agent", daemon=True).start()
                started.wait()
                self._loop = loop
            return self._loop

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine in the thread and return its future."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call(self, work: Coroutine[Any, Any, T], seconds: float = 10.0) -> T:
        """Run a short coroutine in the thread and wait for it (never from the thread itself)."""
        return self.submit(work).result(seconds)

    def stop(self) -> None:
        """End the loop; pending tasks are cancelled."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is None:
            return

        async def finish() -> None:
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            loop.stop()

        asyncio.run_coroutine_threadsafe(finish(), loop)
