"""Ask the person at the terminal, if there is one."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import threading

from zidane_lab.approvals.decisions import Answer, Ask, Question, read_answer
from zidane_lab.cli.output import Pipe

__all__ = ["terminal_ask"]


def terminal_ask(interaction: str, to: Pipe) -> Ask:
    """Return the function that puts a question to the person.

    Parameters
    ----------
    interaction
        The setting of that name; ``none`` never asks.
    to
        Where the question is written. Standard output is the report's.
    """

    async def nobody(_question: Question) -> Answer | None:
        return None

    async def ask(question: Question) -> Answer | None:
        # All of it, however long: nobody should allow what they were not shown.
        whole = textwrap.indent(question.diff or question.target, "    ", lambda _: True)
        to.text(f"{question.text}\n{whole}\n{question.prompt}")
        answer = await _line()
        return read_answer(answer, question) if answer else None

    # Both ends must be a person's: with standard error in a file the question would not be seen.
    there = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    return ask if there and interaction != "none" else nobody


async def _line() -> str:
    """Read a line from standard input; empty at its end. Cancelling leaves nothing that blocks the way out."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()

    def tell(text: str) -> None:
        if not answer.done():
            answer.set_result(text)

    def read() -> None:
        # Not through sys.stdin: a thread that waits inside it makes the interpreter's end fail.
        try:
            text = os.read(sys.stdin.fileno(), 1000).decode(errors="replace")
        except OSError:
            text = ""
        try:
            loop.call_soon_threadsafe(tell, text)
        except RuntimeError:
            return  # the loop has ended: nobody waits for the answer

    threading.Thread(target=read, name="zidane-answer", daemon=True).start()
    return await answer
