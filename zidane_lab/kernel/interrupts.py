"""Make an interrupt mean an interrupt, whatever kind of code is running.

Inside an asynchronous cell the kernel's own handler only cancels the cell's task: blocking code runs on
to its end, and a waiting task is cancelled only when the loop next wakes. The guard here is installed for
the time of one piece of user code. When SIGINT arrives it looks at what the main thread is doing:

* user code of the guarded task itself: ``KeyboardInterrupt``, as in an ordinary cell;
* user code of another task it started (``gather``…): ``CancelledError`` there, because a
  ``KeyboardInterrupt`` in a task would end the kernel's event loop;
* anything else, such as waiting in ``await``: the guarded task is cancelled, and the loop woken.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

__all__ = ["Guard", "Reason", "on_interrupt"]

Reason: TypeAlias = Literal["user", "cancel", "timeout"]


class Guard:
    """Interrupts one asyncio task that runs user code.

    Parameters
    ----------
    namespace
        The globals of user code; a frame with these globals on the stack means user code is running.
    told
        Called (on the main thread, from a signal handler) when a person interrupts.
    """

    def __init__(self, namespace: dict[str, Any], told: Callable[[], None] | None = None) -> None:
        self.reason: Reason | None = None
        self._namespace = namespace
        self._told = told
        self._lock = threading.Lock()
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let an interrupt cancel the current task while it waits for its turn to run code."""
        self._loop, self._thread, self._task = asyncio.get_running_loop(), None, asyncio.current_task()
        try:
            yield
        finally:
            with self._lock:
                self._task = None

    @contextmanager
    def around(self, task: asyncio.Task[Any]) -> Iterator[None]:
        """Guard ``task``; enter on the thread of its loop. Off the main thread there are no signals to guard."""
        self._loop, self._thread = asyncio.get_running_loop(), threading.current_thread()
        self._task = task
        main = self._thread is threading.main_thread()
        former = signal.signal(signal.SIGINT, self._handle) if main else None
        hook = sys.unraisablehook
        sys.unraisablehook = self._lost(hook)
        try:
            yield
        finally:
            sys.unraisablehook = hook
            with self._lock:  # a sender either sees the task gone or has its signal handled before this
                self._task = None
            if main:
                signal.signal(signal.SIGINT, former if former is not None else signal.default_int_handler)

    def interrupt(self, reason: Reason) -> None:
        """Interrupt the task from any thread; does nothing once it has ended."""
        with self._lock:
            task, loop, thread = self._task, self._loop, self._thread
            if task is None or loop is None or task.done():
                return
            self.reason = self.reason or reason
            # Another handler is installed while a cell of the user's runs in between: the signal would hit that.
            ours = signal.getsignal(signal.SIGINT) == self._handle
            if thread is None or thread is not threading.main_thread() or not ours:
                loop.call_soon_threadsafe(task.cancel)
            elif hasattr(signal, "pthread_kill"):
                # A real signal also wakes blocking system calls such as sleep and read.
                signal.pthread_kill(thread.ident or 0, signal.SIGINT)
            else:
                import _thread

                _thread.interrupt_main()

    def _handle(self, _signum: int, frame: types.FrameType | None) -> None:
        if self.reason is None:
            self.reason = "user"
            if self._told is not None:
                self._told()
        task, loop = self._task, self._loop
        if task is None or loop is None or task.done():
            return
        if self._in_user_code(frame):
            if asyncio.current_task(loop) is task:
                raise KeyboardInterrupt
            loop.call_soon_threadsafe(task.cancel)
            raise asyncio.CancelledError
        loop.call_soon_threadsafe(task.cancel)

    def _lost(self, hook: Callable[[Any], Any]) -> Callable[[Any], None]:
        """Return an unraisable hook that notices an interrupt Python had to drop, and sends it again.

        It happens in callbacks that cannot raise: finalisers, or what runs before a fork (and every `!` command
        forks).
        """

        def report(unraisable: Any) -> None:
            if isinstance(unraisable.exc_value, (KeyboardInterrupt, asyncio.CancelledError)):
                again = threading.Timer(0.02, self.interrupt, [self.reason or "user"])
                again.daemon = True
                again.start()
            else:
                hook(unraisable)

        return report

    def _in_user_code(self, frame: types.FrameType | None) -> bool:
        while frame is not None:
            if frame.f_globals is self._namespace:
                return True
            frame = frame.f_back
        return False


@contextmanager
def on_interrupt(action: Callable[[], None]) -> Iterator[None]:
    """Call ``action`` instead of the kernel's own handling while the block runs.

    ``action`` runs on the main thread inside a signal handler: it must only hand the news to another
    thread or loop. Does nothing off the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGINT, lambda _signum, _frame: action())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former if former is not None else signal.default_int_handler)
