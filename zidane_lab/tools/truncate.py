"""Keep a tool's text within what a model should read at once, and never silently.

A text over the limits keeps its beginning (about 40 %) and its end (about 60 %, where errors and totals
stand), cut at line borders. A line too long for that is cut inside, but never inside a UTF-8 character.
The gap says how much is missing and where the whole is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from zidane_lab.errors import ConfigurationError, SessionError

if TYPE_CHECKING:
    from zidane_lab.tools.base import OutputStore

__all__ = ["HEAD_SHARE", "MAX_BYTES", "MAX_LINES", "Truncated", "fit", "truncate"]

MAX_BYTES: Final = 51_200
"""Most UTF-8 bytes of one tool's text (50 KB)."""

MAX_LINES: Final = 3_000
"""Most lines of one tool's text."""

HEAD_SHARE: Final = 0.4
"""Part of the room given to the beginning; the rest is the end's."""

_CODEC: Final = "surrogatepass"
"""Lone surrogates come from odd file names and broken decoders; they must not stop a tool."""

_CONTINUATION: Final = range(0x80, 0xC0)
"""Bytes that continue a UTF-8 character."""

Notice: TypeAlias = Callable[[int, int], str]
"""Text of the gap, from the bytes and the lines left out; it must not grow when its numbers shrink."""


@dataclass(frozen=True, slots=True)
class Truncated:
    """A text within the limits. Bytes are UTF-8; ``omitted_lines`` counts lines of which nothing is shown."""

    text: str
    cut: bool
    total_bytes: int
    total_lines: int
    omitted_bytes: int = 0
    omitted_lines: int = 0


def _gap(omitted_bytes: int, omitted_lines: int) -> str:
    lines = f"{omitted_lines:,} lines, " if omitted_lines else ""
    return f"[… {lines}{omitted_bytes:,} bytes left out …]"


def truncate(text: str, *, max_bytes: int = MAX_BYTES, max_lines: int = MAX_LINES, notice: Notice = _gap) -> Truncated:
    """Shorten ``text`` to its head and tail if it is over either limit; the notice counts towards both.

    Raises
    ------
    ConfigurationError
        The limits leave no room for the notice and something on either side of it.
    """
    data = text.encode("utf-8", _CODEC)
    total_bytes, total_lines = len(data), _count_lines(data)
    if total_bytes <= max_bytes and total_lines <= max_lines:
        return Truncated(text, cut=False, total_bytes=total_bytes, total_lines=total_lines)
    widest = notice(total_bytes, total_lines)
    room = max_bytes - len(widest.encode("utf-8", _CODEC)) - 2  # a newline on each side of the notice
    rows = max_lines - widest.count("\n") - 1
    if room < 16 or rows < 2:
        raise ConfigurationError(
            f"{max_bytes} bytes and {max_lines} lines are too little to shorten a text to.",
            hint="Allow at least a few hundred bytes and three lines.",
        )
    head_end = _head_end(data, int(room * HEAD_SHARE), max(1, int(rows * HEAD_SHARE)))
    tail_start = _tail_start(data, head_end, room - head_end, rows - _count_lines(data[:head_end]))
    gap = data[head_end:tail_start]
    omitted_lines = gap.count(b"\n")
    if omitted_lines and head_end and data[head_end - 1 : head_end] != b"\n":
        omitted_lines -= 1  # the gap's first newline ends a line whose beginning is shown
    head, tail = (part.decode("utf-8", _CODEC) for part in (data[:head_end], data[tail_start:]))
    border = "" if head.endswith("\n") or not head else "\n"
    shown = f"{head}{border}{notice(len(gap), omitted_lines)}\n{tail}"
    return Truncated(shown, True, total_bytes, total_lines, len(gap), omitted_lines)


def fit(text: str, name: str, store: OutputStore | None) -> tuple[str, Path | None]:
    """Return ``text`` within the limits, and the file that keeps the whole of it when it had to be cut.

    Parameters
    ----------
    text
        What a tool wants to answer.
    name
        What to name the file after (the tool, say).
    store
        Where the whole is saved; without one the notice says that it was not kept.
    """
    data = text.encode("utf-8", _CODEC)
    total_bytes, total_lines = len(data), _count_lines(data)
    if total_bytes <= MAX_BYTES and total_lines <= MAX_LINES:
        return text, None
    path, kept = None, "the whole was not kept"
    if store is not None:
        try:
            path = store.save_output(name, text)
        except (OSError, SessionError) as error:
            kept = f"the whole could not be kept ({' '.join(str(error).split())[:200]})"
    if path is not None:
        kept = f"the whole is in {path}"

    def notice(omitted_bytes: int, omitted_lines: int) -> str:
        gap = f"{omitted_lines:,} lines, {omitted_bytes:,} bytes"
        return f"[… {gap} left out of {total_lines:,} lines, {total_bytes:,} bytes; {kept} …]"

    return truncate(text, notice=notice).text, path


def _count_lines(data: bytes) -> int:
    return data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)


def _line_end(data: bytes, start: int) -> int:
    found = data.find(b"\n", start)
    return len(data) if found < 0 else found + 1


def _head_end(data: bytes, room: int, rows: int) -> int:
    """Index where the head ends: after whole lines, or inside a line when whole lines would waste the room."""
    end = 0
    for _ in range(rows):
        following = _line_end(data, end)
        if following > room:
            break
        end = following
    else:
        return end
    if end >= room // 2:
        return end
    cut = min(room, len(data))
    while cut > end and cut < len(data) and data[cut] in _CONTINUATION:
        cut -= 1
    return cut


def _tail_start(data: bytes, head_end: int, room: int, rows: int) -> int:
    """Index where the tail starts, by the same rule, never before the head's end."""
    start = len(data)
    for _ in range(rows):
        previous = data.rfind(b"\n", 0, start - 1) + 1
        if len(data) - previous > room or previous < head_end:
            break
        start = previous
    else:
        return start
    if len(data) - start >= room // 2:
        return start
    cut = max(head_end, len(data) - room)
    while cut < start and data[cut] in _CONTINUATION:
        cut += 1
    return cut
