"""Ask the person at the terminal, if there is one: permission, answers, decisions about plans, larger budgets."""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from zidane_lab.approvals.decisions import printable
from zidane_lab.chat.interacting import Front, nobody_there, question_of
from zidane_lab.chat.typed_answers import ask_typed
from zidane_lab.cli.output import Pipe
from zidane_lab.errors import ConfigurationError
from zidane_lab.session.interactions import Interaction, InteractionAnswer

__all__ = ["Lines", "TerminalFront", "terminal_front"]

_TRIES: Final = 3
_LOOK_SECONDS: Final = 0.2
"""How often a reader that nobody needs any more notices it."""


def terminal_front(interaction: str, to: Pipe) -> Front:
    """Return what puts interactions to the person.

    Parameters
    ----------
    interaction
        The setting of that name: ``none`` never asks, ``stdin`` asks also where no terminal is; otherwise both ends
        must be a person's: with standard error in a file the question would not be seen.
    to
        Where the question is written. Standard output is the report's.
    """
    if interaction == "none" or sys.stdin is None:
        return nobody_there
    there = sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()
    return TerminalFront(to, Lines(sys.stdin.fileno())) if there or interaction == "stdin" else nobody_there


@dataclass(slots=True)
class Lines:
    """Lines of a file descriptor, one at a time, without holding up the end of the program.

    Not through ``sys.stdin``: a thread that waits inside it makes the interpreter's end fail.
    """

    descriptor: int
    _rest: str = ""
    _ended: bool = False
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    def forget(self) -> None:
        """Drop what was typed already: it was no answer to what is asked next. What is piped in stays."""
        if os.isatty(self.descriptor):
            self._rest, self._ended = "", False  # people who end one answer may give another
            _drop_typed(self.descriptor)

    async def read(self) -> str | None:
        """Return the next line; ``None`` at the end. Cancelling leaves it to whoever reads next."""
        while "\n" not in self._rest and not self._ended:
            data = await self._chunk()
            self._rest += self._decoder.decode(data, final=not data)
            self._ended = not data
        line, newline, self._rest = self._rest.partition("\n")
        return line if line or newline else None

    async def _chunk(self) -> bytes:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[bytes] = loop.create_future()
        given_up = threading.Event()

        def tell(data: bytes) -> None:
            if not arrived.done():
                arrived.set_result(data)

        def wait() -> None:
            try:
                while not _is_ready(self.descriptor):
                    if given_up.is_set():
                        return
                data = os.read(self.descriptor, 4096)
            except (OSError, ValueError):
                data = b""
            try:
                loop.call_soon_threadsafe(tell, data)
            except RuntimeError:
                return  # the loop has ended: nobody waits for the answer

        threading.Thread(target=wait, name="zidane-answer", daemon=True).start()
        try:
            return await arrived
        finally:
            given_up.set()


@dataclass(slots=True)
class TerminalFront:
    """Asks on a terminal, one thing after another (a :data:`~zidane_lab.chat.interacting.Front`).

    Parameters
    ----------
    to
        Where the question is written.
    lines
        Where answers are typed.
    """

    to: Pipe
    lines: Lines
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self, interaction: Interaction) -> InteractionAnswer | None:
        """Ask and wait; ``None`` at the end of the input, or when what was typed was no answer."""
        async with self._turn:
            self.lines.forget()
            if interaction.kind == "approval":
                self._show_code(interaction)
            value = await self._asked(interaction)
        return None if value is None else InteractionAnswer(interaction.id, value, "stdin")

    async def _asked(self, interaction: Interaction) -> Mapping[str, Any] | None:
        for _ in range(_TRIES):
            try:
                return await ask_typed(interaction, self._read)
            except ConfigurationError as error:
                self.to.text(f"{error.message} {error.hint}")
        return None

    def _show_code(self, interaction: Interaction) -> None:
        """Show the code, all of it, however long: nobody should allow what they were not shown.

        In a notebook it is on the page already; of other tools the question itself shows everything.
        """
        question = question_of(interaction.payload)
        if question.tool == "run_python":
            self.to.text("\n".join(f"    {printable(line)}" for line in question.target.splitlines()))

    async def _read(self, prompt: str) -> str | None:
        self.to.text(prompt)
        return await self.lines.read()


def _is_ready(descriptor: int) -> bool:
    """Whether reading would not wait, after a while; where that cannot be told (Windows) reading has to wait."""
    if sys.platform == "win32":
        return True
    return bool(select.select([descriptor], [], [], _LOOK_SECONDS)[0])


def _drop_typed(descriptor: int) -> None:
    try:
        import termios
    except ImportError:  # Windows
        return
    try:
        termios.tcflush(descriptor, termios.TCIFLUSH)
    except termios.error:  # the terminal is gone
        return
