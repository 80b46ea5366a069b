"""A range of bytes: as text where it is text, else in hexadecimal."""

from __future__ import annotations

from pathlib import PurePath
from typing import BinaryIO, Final

from zidane_lab.tools.filetypes import HEAD_BYTES, identify
from zidane_lab.tools.pages import PAGE_BYTES, encoding_of
from zidane_lab.tools.reading.source import Source

__all__ = ["show_bytes"]

MOST_HEX: Final = 4_096
_ROW: Final = 16
_PIECE: Final = 1_048_576
_LONGEST_CHARACTER: Final = 4


def show_bytes(source: Source, start: int, count: int | None) -> str:
    """Return the bytes from ``start`` (from 0) on, as many as asked for and as a page holds, and how to go on."""
    with source.open() as handle:
        head = handle.read(HEAD_BYTES)
    with source.open() as handle:
        _skip(handle, start)
        data = handle.read(min(count or PAGE_BYTES, PAGE_BYTES))
    is_text = identify(head, PurePath(source.last_name)) is None and encoding_of(head) != "utf-16"
    if is_text:
        text, used = _decoded(data)
    else:
        data = data[:MOST_HEX]
        text, used = _hexadecimal(data, start), len(data)
    end = start + used
    total = f" of {source.size:,}" if source.size is not None else ""
    if not used:
        return f"[there are no bytes from {start:,} on{total.replace(' of ', '; the file has ')}]"
    is_end = source.size is not None and end >= source.size
    on = "this is the end" if is_end else f"go on with `{source.shown}:b{end}`"
    border = "" if text.endswith("\n") else "\n"
    return f"{text}{border}[bytes {start:,}–{end - 1:,}{total}; {on}]"


def _skip(handle: BinaryIO, count: int) -> None:
    """Go on to a place; what is compressed has to be read until there."""
    if handle.seekable():
        handle.seek(count)
        return
    while count > 0 and (data := handle.read(min(count, _PIECE))):
        count -= len(data)


def _decoded(data: bytes) -> tuple[str, int]:
    """Decode UTF-8; a character cut off at the end is left for the next range."""
    for cut in range(_LONGEST_CHARACTER):
        try:
            return data[: len(data) - cut].decode("utf-8"), len(data) - cut
        except UnicodeDecodeError as error:
            if error.start < len(data) - _LONGEST_CHARACTER:
                break
    return data.decode("utf-8", "replace"), len(data)


def _hexadecimal(data: bytes, start: int) -> str:
    lines = []
    for at in range(0, len(data), _ROW):
        row = data[at : at + _ROW]
        seen = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{start + at:08x}  {row.hex(' '):<47}  {seen}")
    return "\n".join(lines)
