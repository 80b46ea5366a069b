"""One page of a text: some of its lines, within a number of lines and bytes, and where to go on."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TextIO

from zidane_lab.tools.truncate import MAX_BYTES, MAX_LINES

__all__ = ["PAGE_BYTES", "PAGE_LINES", "Page", "encoding_of", "read_page"]

PAGE_BYTES: Final = MAX_BYTES - 2_048
PAGE_LINES: Final = MAX_LINES - 10
"""Most bytes and lines of a page: with its notices it stays within the limits of a tool's text."""

_CHUNK: Final = 65_536
"""Characters read at once of a line; a longer line is longer than a page, so its beginning is enough."""


@dataclass(frozen=True, slots=True)
class Page:
    """Lines of a text, and what is known of the rest.

    Parameters
    ----------
    text
        The lines, ended by LF.
    first, last
        Numbers of the first and last line shown, from 1 (``last < first`` where there is none).
    following
        Number of the line to go on with; ``None`` at the end.
    total
        How many lines there are, where it was counted.
    cut
        The last line shown is longer than a page: only its beginning is here.
    windows
        Lines end with CR LF in the file.
    """

    text: str
    first: int
    last: int
    following: int | None
    total: int | None
    cut: bool = False
    windows: bool = False


def read_page(handle: TextIO, offset: int, limit: int, *, count: bool, added: int = 0) -> Page:
    r"""Take up to ``limit`` lines from line ``offset`` on.

    Parameters
    ----------
    handle
        A text stream at its start that keeps line ends (``newline="\n"``).
    count
        Read to the end to know the total; without it reading stops after the page.
    added
        Bytes that will be put before each line.
    """
    shown: list[str] = []
    number, room, following = 0, PAGE_BYTES, None
    for number, line in enumerate(_lines(handle), 1):
        if number < offset or following is not None:
            continue
        data = line.encode("utf-8", "surrogatepass")
        size = len(data) + added
        if number >= offset + min(limit, PAGE_LINES) or (shown and size > room):
            following = number
            if not count:
                break
        else:
            shown.append(data[: max(room - added, 0)].decode("utf-8", "ignore"))
            room -= size
    return Page(
        text="".join(shown).replace("\r\n", "\n"),
        first=offset,
        last=offset + len(shown) - 1,
        following=following,
        total=number if count or following is None else None,
        cut=room < 0,
        windows=any(line.endswith("\r\n") for line in shown),
    )


def encoding_of(head: bytes) -> str:
    """Name the encoding that a byte order mark announces; UTF-8 without one."""
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"


def _lines(handle: TextIO) -> Iterator[str]:
    """Yield the lines; of one longer than :data:`_CHUNK` characters only the beginning."""
    while line := handle.readline(_CHUNK):
        piece = line
        while len(piece) == _CHUNK and not piece.endswith("\n"):
            piece = handle.readline(_CHUNK)
        yield line
