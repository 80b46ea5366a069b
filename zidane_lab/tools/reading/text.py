"""Text by lines: a page, or the ranges that are asked for, with notes on what is not here and how to go on."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TextIO

from zidane_lab.errors import ToolError
from zidane_lab.tools.pages import PAGE_BYTES, Page, encoding_of, read_page
from zidane_lab.tools.reading.selectors import Selection
from zidane_lab.tools.reading.source import Source

__all__ = ["Asked", "LineStream", "Shown", "opened_text", "show_lines", "show_text"]

BEFORE: Final = 1
AFTER: Final = 3
"""Lines shown around a range, so that its borders can be judged."""

TAG_BYTES: Final = 10
"""Bytes of a tag before a line: a number, two letters, a bar."""

_COUNTED: Final = 10 * 1_048_576
"""Up to this size the lines of a file are counted to the end."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What part of something is asked for."""

    offset: int
    limit: int
    selection: Selection = field(default=Selection())
    tag: Callable[[str, int], str] | None = None
    """Puts a tag before each line of a text that starts at a line."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown: text with its notes, and which lines of the whole these are (``None``: not lines of it).

    Parameters
    ----------
    text
        For the model.
    first, count
        The first line shown, and how many were asked for; fewer where they did not fit.
    partial
        Less is shown than that, or in another way.
    page
        The page, where there is one.
    """

    text: str
    first: int | None = None
    count: int | None = None
    partial: bool = False
    page: Page | None = None


class LineStream(io.TextIOBase):
    """Lines as they are made, to be read like a text file."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self._rest = lines, ""

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        """Return the next line, or a piece of it of at most ``size`` characters."""
        if not self._rest:
            line = next(self._lines, None)
            if line is None:
                return ""
            self._rest = line.replace("\n", " ") + "\n"
        size = len(self._rest) if size is None or size < 0 else size
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def close(self) -> None:
        """Stop making lines."""
        if (close := getattr(self._lines, "close", None)) is not None:
            close()
        super().close()


def opened_text(source: Source, encoding: str) -> TextIO:
    """Open a source as text whose lines keep their ends."""
    return io.TextIOWrapper(source.open(), encoding=encoding, newline="\n")


def show_text(source: Source, head: bytes, asked: Asked, notes: list[str]) -> Shown:
    """Show a text in its encoding.

    Raises
    ------
    ToolError
        It announces UTF-16, and is not.
    """
    encoding = encoding_of(head)
    count = source.size is not None and 0 < source.size <= _COUNTED
    try:
        shown = _show(lambda: opened_text(source, encoding), asked, count=count)
    except UnicodeDecodeError:
        if encoding == "utf-16":
            hint = "Look at its bytes with run_python."
            raise ToolError(f"{source.shown} starts as UTF-16 text, but is not.", hint=hint) from None
        encoding = "latin-1"
        shown = _show(lambda: opened_text(source, encoding), asked, count=count)
        notes = [*notes, "not valid UTF-8: read as Latin-1, some characters may be wrong"]
    if encoding == "utf-16":
        notes = [*notes, "encoding UTF-16"]
    if shown.page is not None and shown.page.windows:
        notes = [*notes, "lines end with CR LF"]
    return _noted(shown, notes, source, by_bytes=encoding != "utf-16")


def show_lines(
    lines: Callable[[], Iterator[str]], asked: Asked, notes: list[str], source: Source, *, count: bool
) -> Shown:
    """Show what is made into lines."""
    shown = _show(lambda: LineStream(lines()), asked, count=count)
    return _noted(shown, notes, source, by_bytes=False)


def _show(opened: Callable[[], TextIO | LineStream], asked: Asked, *, count: bool) -> Shown:
    ranges = asked.selection.lines
    if len(ranges) > 1:
        return _several(opened, asked, ranges)
    offset, limit = (asked.offset, asked.limit) if not ranges else _span(asked, ranges[0])
    with opened() as handle:
        page = read_page(handle, offset, limit, count=count, added=_added(asked))  # type: ignore[arg-type]
    fitting = page.last - page.first + 1
    count_shown = fitting if page.following is not None and fitting < limit else limit
    return Shown(_tagged(asked, page.text, page.first), page.first, count_shown, page.cut, page)


def _span(asked: Asked, span: tuple[int, int | None]) -> tuple[int, int]:
    """Return first line and number of lines of a range, with some around one that has both ends."""
    first, last = span
    if last is None:
        return first, asked.limit
    if asked.selection.raw:
        return first, last - first + 1
    start = max(1, first - BEFORE)
    return start, last + AFTER - start + 1


def _several(
    opened: Callable[[], TextIO | LineStream], asked: Asked, ranges: tuple[tuple[int, int | None], ...]
) -> Shown:
    parts, room, left_out = [], PAGE_BYTES, []
    for first, last in ranges:
        start, count = (first, asked.limit) if last is None else (first, last - first + 1)
        with opened() as handle:
            page = read_page(handle, start, count, count=False, added=_added(asked))  # type: ignore[arg-type]
        text = _tagged(asked, page.text, page.first)
        cost = len(text.encode("utf-8", "replace"))
        if not text or cost > room:
            left_out.append(f"{first}-{'' if last is None else last}")
            continue
        room -= cost + 40
        parts.append(f"[lines {page.first:,}–{page.last:,}]\n{text}" + ("" if text.endswith("\n") else "\n"))
        if page.following is not None and last is not None and page.following <= last:
            left_out.append(f"{page.following}-{last}")
    note = f"[not shown, past the end or too long for one page: {', '.join(left_out)}]" if left_out else ""
    return Shown("".join(parts) + note, partial=True)


def _added(asked: Asked) -> int:
    return TAG_BYTES if asked.tag is not None else 0


def _tagged(asked: Asked, text: str, first: int) -> str:
    return asked.tag(text, first) if asked.tag is not None and text else text


def _noted(shown: Shown, notes: list[str], source: Source, *, by_bytes: bool) -> Shown:
    """Put the notes after the text, each in brackets on its own line."""
    page = shown.page
    if page is None:
        text = shown.text
    elif not page.text:
        text = ""
        past = f"the text has {page.total:,} lines; line {page.first:,} is past its end" if page.total else "empty"
        notes = [past, *notes]
    else:
        text = shown.text
        if page.cut:
            on = f"; `{source.shown}:b{_end_of(page, source)}` goes on by bytes" if by_bytes else ""
            notes = [f"line {page.last:,} is longer than a page: only its beginning is shown{on}", *notes]
        if page.following is not None or page.first > 1:
            total = f" of {page.total:,}" if page.total is not None else ""
            more = f"go on with offset={page.following}" if page.following is not None else "this is the end"
            notes = [f"lines {page.first:,}–{page.last:,}{total}; {more}", *notes]
    border = "\n" if notes and text and not text.endswith("\n") else ""
    text += border + "\n".join(f"[{note}]" for note in notes)
    return Shown(text, shown.first, shown.count, shown.partial, page)


def _end_of(page: Page, source: Source) -> int:
    """Return the byte where the beginning of a cut line ends: it is the last of the page."""
    with source.open() as handle:
        start = sum(len(handle.readline()) for _ in range(page.first - 1))
        encoding = encoding_of(handle.read(4)) if page.first == 1 else "utf-8"
    return start + len(page.text.encode("utf-8", "replace")) + (3 if encoding == "utf-8-sig" else 0)
