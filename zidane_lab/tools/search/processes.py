"""Run a search in a process that can be ended: on this machine, or in the context where the files are."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from zidane_lab.contexts.base import Command, ExecutionContext, OutputStream
from zidane_lab.errors import ToolError

__all__ = ["MOST_OUTPUT", "Ended", "Here", "Runner", "There"]

MOST_OUTPUT: Final = 64 * 1_048_576
"""Bytes of output after which a search is ended: lines may be as long as their files."""

_PIECE: Final = 262_144
_STDERR: Final = 65_536


@dataclass(frozen=True, slots=True)
class Ended:
    """What a process said, and why it ended.

    Parameters
    ----------
    code
        Exit code; ``None`` where it was ended.
    stdout
        What it wrote; it may stop in the middle.
    stderr
        The beginning of its messages.
    late
        It was ended because its time was over.
    full
        It was ended because it wrote too much.
    """

    code: int | None
    stdout: bytes
    stderr: str
    late: bool = False
    full: bool = False

    @property
    def complete(self) -> bool:
        """Whether it came to its own end."""
        return not (self.late or self.full)


class Runner(Protocol):
    """Starts processes in one place."""

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", cwd: str, seconds: float) -> Ended:
        """Run a program to its end, or end it."""
        ...


class Here:
    """Processes of this machine."""

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", cwd: str, seconds: float) -> Ended:
        """Run a program; it ends with whoever waits for it."""
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
            given.write(stdin)
            given.seek(0)
            try:
                process = subprocess.Popen(  # noqa: S603, ASYNC220 - our own command line; it is read in a thread
                    argv, cwd=cwd, stdin=given, stdout=subprocess.PIPE, stderr=said
                )
            except OSError as error:
                raise ToolError(f"{argv[0]} cannot be started: {error}.", hint="Search with run_python.") from error
            try:
                stdout, late, full = await asyncio.to_thread(_read, process, seconds)
            finally:
                if process.poll() is None:
                    process.kill()
            said.seek(0)
            complaints = said.read(_STDERR).decode("utf-8", "replace")
        return Ended(None if late or full else process.returncode, stdout, complaints, late, full)


def _read(process: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bool, bool]:
    """Read what a process writes, for so long and so much; return it, and whether the time or the room was over."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(max(0.0, seconds), stop)
    timer.start()
    pieces: list[bytes] = []
    size = 0
    assert process.stdout is not None
    try:
        with process.stdout as out:
            while size <= MOST_OUTPUT and (piece := out.read(_PIECE)):
                pieces.append(piece)
                size += len(piece)
        if size > MOST_OUTPUT:
            process.kill()
        process.wait()
    finally:
        timer.cancel()
    return b"".join(pieces), late.is_set(), size > MOST_OUTPUT


class There:
    """Processes of an execution context."""

    def __init__(self, place: ExecutionContext) -> None:
        self._place = place

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", cwd: str, seconds: float) -> Ended:
        """Run a program there; it ends with whoever waits for it."""
        out, said = bytearray(), bytearray()
        full = asyncio.Event()

        async def on_output(stream: OutputStream, data: bytes) -> None:
            if stream == "stderr":
                said.extend(data[: max(0, _STDERR - len(said))])
            elif len(out) <= MOST_OUTPUT:
                out.extend(data)
            else:
                full.set()

        started = time.monotonic()
        running = await self._place.start(Command(shlex.join(argv), cwd=cwd, stdin=stdin), on_output)
        waits = {asyncio.ensure_future(running.wait()), asyncio.ensure_future(full.wait())}
        late, code = False, None
        try:
            done, _ = await asyncio.wait(
                waits, timeout=max(0.0, seconds - (time.monotonic() - started)), return_when=asyncio.FIRST_COMPLETED
            )
            late = not done
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
            ended = await running.stop(grace=0.2) if late or full.is_set() or not done else await running.wait()
        code = None if late or full.is_set() else ended.exit_code
        return Ended(code, bytes(out), said.decode("utf-8", "replace"), late, full.is_set())
