"""What may stand behind a path: parts of a file such as ``:50-100``, ways to show it such as ``:raw``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from zidane_lab.errors import ToolError

__all__ = ["Selection", "read_selection", "split_selection"]

_WORDS: Final = ("raw", "outputs", "tagged", "conflicts")
_LINES: Final = re.compile(r"L?(\d{1,12})(?:([-+])(?:L?(\d{1,12}))?)?")
_BYTES: Final = re.compile(r"b(\d{1,15})(?:([-+])(\d{1,15})?)?")
_PAGES: Final = re.compile(r"p(\d{1,6})(?:-(\d{1,6}))?")
_PICTURE: Final = re.compile(r"img(\d{1,6})?")
_LIST: Final = re.compile(r"L?\d{1,12}(?:[-+](?:L?\d{1,12})?)?(?:,L?\d{1,12}(?:[-+](?:L?\d{1,12})?)?)*")


@dataclass(frozen=True, slots=True)
class Selection:
    """A part of a file, or a way to show it.

    Parameters
    ----------
    lines
        First and last line of each range, from 1; a last of ``None`` is the end.
    data
        First byte, from 0, and how many; ``None`` for as many as a page holds.
    pages
        First and last page of a document.
    raw, outputs, tagged, conflicts
        As it stands; a notebook with its outputs; each line with its tag; the merge conflicts that are left.
    picture
        The number of a picture in a document, 0 for a list of them.
    """

    lines: tuple[tuple[int, int | None], ...] = ()
    data: tuple[int, int | None] | None = None
    pages: tuple[int, int] | None = None
    raw: bool = False
    outputs: bool = False
    tagged: bool = False
    conflicts: bool = False
    picture: int | None = None

    def __bool__(self) -> bool:
        return self != Selection()


def read_selection(rest: str) -> Selection | None:
    """Read all that stands behind a path, each piece with its colon; ``None`` where that is something else.

    Raises
    ------
    ToolError
        It is a selection of something that cannot be, such as line 0.
    """
    if not rest.startswith(":"):
        return None
    selection = Selection()
    for piece in rest[1:].split(":"):
        added = _add(selection, piece)
        if added is None:
            return None
        selection = added
    return selection


def split_selection(text: str) -> tuple[str, Selection]:
    """Split a text into what it names and the selection at its end, as long as one is recognised."""
    at = len(text)
    pieces = text.split(":")
    for count in range(len(pieces) - 1, 0, -1):
        start = at - len(pieces[count]) - 1
        if _add(Selection(), pieces[count]) is None:
            break
        at = start
    return text[:at], (read_selection(text[at:]) or Selection())


def _add(selection: Selection, piece: str) -> Selection | None:
    if piece in _WORDS:
        return replace(
            selection,
            raw=selection.raw or piece == "raw",
            outputs=selection.outputs or piece == "outputs",
            tagged=selection.tagged or piece == "tagged",
            conflicts=selection.conflicts or piece == "conflicts",
        )
    if found := _PICTURE.fullmatch(piece):
        if found[1] is not None and int(found[1]) < 1:
            raise ToolError("Pictures count from 1.", hint="Use `:img1` for the first one, `:img` to list them.")
        return replace(selection, picture=int(found[1] or 0))
    if found := _BYTES.fullmatch(piece):
        start, sign, number = int(found[1]), found[2], found[3]
        count = None if number is None else int(number) - (start - 1 if sign == "-" else 0)
        if count is not None and count < 1:
            raise ToolError(f"`:{piece}` ends before it starts.", hint="Write `:b0+1000` or `:b0-999`.")
        return replace(selection, data=(start, count))
    if found := _PAGES.fullmatch(piece):
        first, last = int(found[1]), int(found[2] or found[1])
        if first < 1 or last < first:
            raise ToolError(f"`:{piece}` is no range of pages.", hint="Pages count from 1: `:p2-5`.")
        return replace(selection, pages=(first, last))
    if _LIST.fullmatch(piece):
        return replace(selection, lines=(*selection.lines, *map(_range, piece.split(","))))
    return None


def _range(piece: str) -> tuple[int, int | None]:
    found = _LINES.fullmatch(piece)
    assert found is not None
    first, sign, number = int(found[1]), found[2], found[3]
    if first < 1:
        raise ToolError("Lines count from 1.", hint="Use `:1` for the first one.")
    if number is None:
        return first, None
    last = int(number) if sign == "-" else first + int(number) - 1
    if last < first:
        raise ToolError(f"`:{piece}` ends before it starts.", hint="Write `:50-100` or `:50+51`.")
    return first, last
