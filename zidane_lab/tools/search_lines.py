"""Find the lines of a text that hold something, with their neighbours, within the limits of a tool's text."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, TextIO

from zidane_lab.tools.pages import PAGE_BYTES

__all__ = ["MOST_AROUND", "search_lines"]

MOST_AROUND: Final = 20
"""Most neighbours shown on either side of a line."""

_CHUNK: Final = 4_096
"""Characters looked at as one; a longer line is searched piece by piece, each under the line's number."""

_SHOWN: Final = 400
"""Characters of a line that are shown, around what was found in it."""


def search_lines(handle: TextIO, query: str, *, start: int = 1, most: int = 300, around: int = 2) -> str:
    """Return the lines that hold ``query``, numbered, and how to see more.

    Parameters
    ----------
    handle
        A text stream at its start.
    query
        Plain text. Without capitals it matches them too.
    start
        The first line that may match.
    most
        Most matching lines shown; a page of a tool's text is the other limit.
    around
        Lines shown before and after each, at most :data:`MOST_AROUND`.
    """
    fold = query == query.lower()
    around = min(max(0, around), MOST_AROUND)
    shown: list[str] = []
    before: deque[tuple[int, str]] = deque(maxlen=around)
    room, after, last, matches, following, total = PAGE_BYTES, 0, 0, 0, 0, 0
    for number, line in _lines(handle, len(query) - 1):
        at = (line.lower() if fold else line).find(query) if number >= start else -1
        total += at >= 0
        if following:
            continue
        if at >= 0:
            group = [(each, f"{each}- {_clip(text)}") for each, text in before if each > last]
            group.append((number, f"{number}: {_clip(line, at, len(query))}"))
            texts = ["--"] if around and last and group[0][0] > last + 1 else []
            texts += [text for _, text in group]
            cost = sum(map(_size, texts))
            if matches == most or (matches and cost > room):
                following = number
                continue
            shown += texts
            room, matches, last, after = room - cost, matches + 1, number, around
        elif after:
            after -= 1
            text = f"{number}- {_clip(line)}"
            if number > last and (cost := _size(text)) <= room:
                shown.append(text)
                room, last = room - cost, number
        before.append((number, line))
    if not total:
        return f"[no line{f' from line {start:,} on' if start > 1 else ''} holds {query!r}]"
    note = f"{total:,} match{'' if total == 1 else 'es'}"
    if following:
        on = "narrow the query to see more" if following == last else f"go on with offset={following}"
        note += f"; the first {matches:,} are shown; {on}"
    return "\n".join([*shown, f"[{note}]"])


def _lines(handle: TextIO, overlap: int) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line, a long one in pieces that overlap, so that nothing is cut in two."""
    number, carried = 1, ""
    while piece := handle.readline(_CHUNK):
        yield number, carried + piece.rstrip("\r\n")
        if piece.endswith("\n"):
            number, carried = number + 1, ""
        else:
            carried = (carried + piece)[-overlap:] if overlap else ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) + 1


def _clip(line: str, at: int = 0, length: int = 0) -> str:
    """Return a line of readable length that shows what was found in it."""
    if len(line) <= _SHOWN:
        return line
    start = max(0, min(at + length // 2 - _SHOWN // 2, len(line) - _SHOWN))
    return f"{'…' if start else ''}{line[start : start + _SHOWN]}{'…' if start + _SHOWN < len(line) else ''}"
