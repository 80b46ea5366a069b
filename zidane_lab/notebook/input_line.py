"""A line that a person types on the main thread, and that can be taken back when it is not needed any more.

``input()`` holds the main thread until somebody types. When the question was answered elsewhere meanwhile, in a side
panel or by a command, nobody should have to press return in a box that is of no use.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any, Final

__all__ = ["InputLine"]


_AGAIN_SECONDS: Final = 0.1


class InputLine:
    """Reads lines until it is dropped.

    Parameters
    ----------
    shell
        The shell; outside a kernel lines come from the terminal.
    forced
        Read from standard input also where no terminal is.
    on_interrupt
        Called when the person interrupts instead of typing.
    """

    def __init__(self, shell: Any, *, forced: bool, on_interrupt: Callable[[], None]) -> None:
        self._shell, self._forced, self._on_interrupt = shell, forced, on_interrupt
        self._lock = threading.Lock()
        self._dropped = self._listening = self._waiting = False

    def read(self, prompt: str) -> str | None:
        """Read a line; ``None`` where nobody can type, the person interrupted, or the line was dropped."""
        if not self._can_type():
            return None
        main = threading.current_thread() is threading.main_thread()
        former = signal.signal(signal.SIGINT, self._handle) if main else None
        try:
            with self._lock:
                if self._dropped:
                    return None
                self._listening = main
            self._waiting = True
            try:
                return input(prompt)
            finally:
                self._waiting = False
        except KeyboardInterrupt:
            if not self._dropped:
                self._on_interrupt()
            return None
        except (EOFError, RuntimeError, OSError):
            # A kernel without a front end raises StdinNotImplementedError, a RuntimeError.
            return None
        finally:
            with self._lock:  # a signal of `drop` has been handled before this, or is not sent any more
                self._listening = False
            if main:
                signal.signal(signal.SIGINT, former if former is not None else signal.default_int_handler)

    def drop(self) -> None:
        """Take back the line that is waited for, and read none any more; from any thread."""
        with self._lock:
            self._dropped = True
            if not self._listening:
                return
            _wake_main_thread()
        threading.Thread(target=self._insist, name="zidane-input", daemon=True).start()

    def _insist(self) -> None:
        """Wake it again: a signal that comes just before a read begins to wait is seen by nobody until that ends."""
        while True:
            time.sleep(_AGAIN_SECONDS)
            with self._lock:
                if not self._listening:
                    return
                _wake_main_thread()

    def _can_type(self) -> bool:
        in_kernel = hasattr(self._shell, "kernel")
        return in_kernel or self._forced or (sys.stdin is not None and sys.stdin.isatty())

    def _handle(self, _signum: int, _frame: types.FrameType | None) -> None:
        if self._waiting:
            raise KeyboardInterrupt
        if not self._dropped:
            self._on_interrupt()


def _wake_main_thread() -> None:
    if hasattr(signal, "pthread_kill"):  # a real signal, since it also wakes a read that waits
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main()
