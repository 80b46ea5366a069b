"""Put a question to the person in the cell, by standard input, or find that nobody can answer."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from zidane_lab.approvals.decisions import Answer, Ask, Question, printable, read_answer
from zidane_lab.kernel.portal import Portal

__all__ = ["nobody", "stdin_ask"]


async def nobody(_question: Question) -> bool | None:
    """Answer for front ends where no person can be reached: policy decides."""
    return None


def stdin_ask(portal: Portal, shell: Any, interaction: str, on_interrupt: Callable[[], None]) -> Ask:
    """Return the function that asks by ``input()`` on the main thread.

    Parameters
    ----------
    portal
        The way to the main thread, where standard input is read.
    shell
        Decides whether there is a terminal to ask at.
    interaction
        ``auto``, ``stdin`` or ``none``.
    on_interrupt
        Called when the person interrupts instead of answering.
    """
    if interaction == "none":
        return nobody

    async def ask(question: Question) -> Answer | None:
        async def read() -> str | None:
            diff = map(printable, question.diff.splitlines())
            return _read("\n".join([question.text, *diff, question.prompt]), shell, interaction, on_interrupt)

        typed = await portal.call(read)
        return None if typed is None else read_answer(typed, question)

    return ask


def _read(prompt: str, shell: Any, interaction: str, on_interrupt: Callable[[], None]) -> str | None:
    """Read a line; ``None`` when nobody can answer, and an empty one, which is a no, after an interrupt."""
    in_kernel = hasattr(shell, "kernel")
    if not in_kernel and interaction == "auto" and not (sys.stdin is not None and sys.stdin.isatty()):
        return None
    main = threading.current_thread() is threading.main_thread()
    former = signal.signal(signal.SIGINT, signal.default_int_handler) if main else None
    try:
        answer = input(prompt)
    except KeyboardInterrupt:
        on_interrupt()
        return ""
    except (EOFError, RuntimeError, OSError):
        # A kernel without a front end raises StdinNotImplementedError, a RuntimeError.
        return None
    finally:
        if main:
            signal.signal(signal.SIGINT, former if former is not None else signal.default_int_handler)
    return answer
