"""The ``read_file`` tool: a text file by lines, a notebook as text, a small image as an image.

Other binary files are refused with what they seem to be and how the user's own libraries load them. The tool
reads whatever the user can read; whether a file that seems to hold secrets may be read is the gate's decision
(:mod:`zidane_lab.approvals`).
"""

from __future__ import annotations

import base64
import functools
import io
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

from zidane_lab.errors import ToolError
from zidane_lab.session.read_state import read_evidence
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.filetypes import HEAD_BYTES, how_to_load, identify, image_size
from zidane_lab.tools.images import LONG_SIDE, for_model
from zidane_lab.tools.pages import Page, encoding_of, read_page
from zidane_lab.tools.paths import describe_size, existing
from zidane_lab.tools.previews import TABLE_SUFFIXES, describe_table, notebook_text
from zidane_lab.tools.truncate import MAX_LINES
from zidane_lab.turns import ImageBlock, ResultPart, TextBlock

__all__ = ["DEFAULT_LIMIT", "MAX_IMAGE_BYTES", "read_file", "read_file_tool"]

DEFAULT_LIMIT: Final = 300
MAX_IMAGE_BYTES: Final = 1_048_576
_NOTEBOOK_BYTES: Final = 50 * 1_048_576
"""A notebook is parsed whole; a larger one is nearly all outputs."""
_COUNTED_BYTES: Final = 10 * 1_048_576
"""Up to this size the lines of a file are counted to the end."""

_SPECIAL: Final = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


@functools.cache
def read_file_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="read", concurrency="shared")(read_file)


def read_file(
    context: ToolContext,
    path: str,
    offset: Annotated[int, "First line to show, counted from 1."] = 1,
    limit: Annotated[int, f"Most lines to show; a page has at most {MAX_LINES} lines and 50 KB."] = DEFAULT_LIMIT,
) -> ToolOutput:
    """Read a file: text by lines, a Jupyter notebook as text without its outputs, a small image as an image.

    Parameters
    ----------
    path
        The file, relative to the working folder or absolute.

    Raises
    ------
    ToolError
        There is no such file, or its content cannot be shown; the message says what to do instead.
    """
    target, status = existing(path, context.cwd)
    _refuse_special(target, status)
    offset, limit = max(1, offset), max(1, limit)
    name = os.path.abspath(target)  # noqa: PTH100 - `..` away, links kept
    evidence = read_evidence(name, offset, limit, mtime=status.st_mtime, size=status.st_size)
    try:
        with target.open("rb") as handle:
            head = handle.read(HEAD_BYTES)
            kind = identify(head, target)
            if kind is None:
                text = _text(target, status, head, offset, limit)
                return ToolOutput((TextBlock(text),), metadata=evidence)
            pixels = image_size(head) if kind.media_type else None
            measures = (f"{pixels[0]} × {pixels[1]} pixels, " if pixels else "") + describe_size(status.st_size)
            if kind.media_type and status.st_size <= MAX_IMAGE_BYTES:
                note = TextBlock(f"[{target.name}: {kind.name}, {measures}]")
                image = _image(kind.media_type, head + handle.read(), target.name, pixels)
                return ToolOutput((note, *image), metadata=evidence)
    except OSError as error:
        raise ToolError(f"{target} cannot be read: {error.strerror or error}.", hint="Choose another file.") from error
    raise ToolError(f"{target} is {kind.name} ({measures}).", hint=how_to_load(kind.key, str(target)))


def _image(media_type: str, data: bytes, name: str, pixels: tuple[int, int] | None) -> tuple[ResultPart, ...]:
    """Return a picture as the model gets it, or a note why it does not; only PNG and JPEG can be shrunk."""
    small = pixels is not None and max(pixels) <= LONG_SIDE
    if small or media_type not in ("image/png", "image/jpeg"):
        return (ImageBlock(media_type, data, name),)
    image, note = for_model(media_type, base64.b64encode(data).decode("ascii"))
    return (TextBlock(f"[not attached: {note}]"),) if image is None else (replace(image, name=name),)


def _refuse_special(target: Path, status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{target} is a folder.", hint="See what is in it with list_files.")
    what = next((name for test, name in _SPECIAL if test(status.st_mode)), "not an ordinary file")
    raise ToolError(f"{target} is {what}; reading it could wait for ever.", hint="Read ordinary files only.")


def _text(target: Path, status: os.stat_result, head: bytes, offset: int, limit: int) -> str:
    """Return one page of a text file with its notices."""
    notes: list[str] = []
    if target.suffix == ".ipynb":
        cells = notebook_text(target.read_bytes()) if status.st_size <= _NOTEBOOK_BYTES else None
        if cells is not None:
            return _with_notes(read_page(io.StringIO(cells[0]), offset, limit, count=True), [cells[1]])
        notes.append("not readable as a notebook, or too large: shown as it is")
    encoding = encoding_of(head)
    try:
        page = _page(target, encoding, status, offset, limit)
    except UnicodeDecodeError:
        if encoding == "utf-16":
            hint = "Look at its bytes with run_python."
            raise ToolError(f"{target} starts as UTF-16 text, but is not.", hint=hint) from None
        page = _page(target, "latin-1", status, offset, limit)
        notes.append("not valid UTF-8: read as Latin-1, some characters may be wrong")
    if encoding == "utf-16":
        notes.append("encoding UTF-16")
    if page.windows:
        notes.append("lines end with CR LF")
    if offset == 1 and page.text and target.suffix.lower() in TABLE_SUFFIXES:
        notes.append(describe_table(page, str(target)))
    return _with_notes(page, notes)


def _page(target: Path, encoding: str, status: os.stat_result, offset: int, limit: int) -> Page:
    with target.open(encoding=encoding, newline="\n") as handle:
        return read_page(handle, offset, limit, count=status.st_size <= _COUNTED_BYTES)


def _with_notes(page: Page, notes: list[str]) -> str:
    """Put the notes after the text, each in brackets on its own line."""
    if not page.text:
        empty = f"the text has {page.total:,} lines; line {page.first:,} is past its end" if page.total else "empty"
        notes = [empty, *notes]
    else:
        if page.cut:
            notes = [f"line {page.last:,} is longer than a page: only its beginning is shown", *notes]
        if page.following is not None or page.first > 1:
            total = f" of {page.total:,}" if page.total is not None else ""
            more = f"go on with offset={page.following}" if page.following is not None else "this is the end"
            notes = [f"lines {page.first:,}–{page.last:,}{total}; {more}", *notes]
    border = "\n" if notes and page.text and not page.text.endswith("\n") else ""
    return page.text + border + "\n".join(f"[{note}]" for note in notes)
