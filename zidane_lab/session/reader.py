"""Read the bytes of a session file, whatever state they are in; a pure function.

Only an unreadable header is an error. A damaged line costs itself and nothing else, a last line that was
cut off is told apart from the rest, and both are reported. Bytes are never changed here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zidane_lab.session.blobs import holds_references
from zidane_lab.session.entries import Entry, Header, entry_from_json, header_from_json

__all__ = ["Contents", "read_session"]


@dataclass(frozen=True, slots=True)
class Contents:
    """What a session file holds.

    Attributes
    ----------
    entries
        The readable entries, in the order of the file.
    problems
        What could not be read, in words, one per damaged line.
    size
        Bytes the file had.
    torn
        Bytes at the end that are no entry: a write cut short. The lines before them end at ``size - len(torn)``.
    unended
        The last entry is complete but its newline is missing.
    """

    header: Header
    entries: tuple[Entry, ...]
    problems: tuple[str, ...]
    size: int
    torn: bytes = b""
    unended: bool = False


def read_session(data: bytes, restore: Callable[[Any], Any] = lambda raw: raw) -> Contents:
    """Read a session file.

    Parameters
    ----------
    restore
        Applied to lines that refer to blobs (:func:`zidane_lab.session.blobs.restore`).

    Raises
    ------
    SessionError
        The first line is not a header, or one of a newer version.
    """
    first, newline, _ = data.partition(b"\n")
    header = header_from_json(_parse(first))
    entries: list[Entry] = []
    problems: list[str] = []
    lines = data.split(b"\n")
    last = len(lines) - 1
    for number, line in enumerate(lines[1:last], start=2):
        if entry := _entry(line, restore):
            entries.append(entry)
        elif line.strip():
            problems.append(f"Line {number} is damaged and was skipped; it stays in the file ({len(line):,} bytes).")
    torn = lines[last] if newline else b""
    ending = _entry(torn, restore)
    if ending is not None:
        entries.append(ending)
        torn = b""
    elif torn:
        problems.append(
            f"The last line was cut off in mid-write ({len(torn):,} bytes); it is left out and kept beside the session."
        )
    return Contents(header, tuple(entries), tuple(problems), len(data), torn, unended=not newline or ending is not None)


def _entry(line: bytes, restore: Callable[[Any], Any]) -> Entry | None:
    raw = _parse(line)
    try:
        return entry_from_json(restore(raw) if holds_references(line) else raw)
    except RecursionError:
        return None


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
