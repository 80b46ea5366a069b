"""What a document, an archive, a database or a table behind an address holds, by the code that reads such files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from zidane_lab.tools.filetypes import HEAD_BYTES, FileType, identify
from zidane_lab.tools.reading.apart import lines_apart
from zidane_lab.tools.reading.source import Source

__all__ = ["Shown", "document_lines"]

_PART: Final = "it is shown in short: to work with it, download it to a file with run_python"
_MOST_UNPACKED: Final = 8 * 1_048_576
"""Bytes of a compressed text that are unpacked."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Lines, how they were made, and what to know of them."""

    method: str
    lines: Iterable[str]
    notes: tuple[str, ...] = ()


def document_lines(name: str, data: bytes, kind: FileType) -> Shown | None:
    """Return what is in a file; ``None`` for what cannot be shown as text.

    Raises
    ------
    ToolError
        It is broken, or needs a library that is not installed. It may also be raised while the lines are read.
    """
    source = Source.of_bytes(name, data)
    match kind.key:
        case "pdf":
            from zidane_lab.tools.reading.pdf import pdf_lines

            return Shown("pdf", pdf_lines(source))
        case "docx":
            return Shown("docx", lines_apart("office.word_lines", source))
        case "pptx":
            return Shown("pptx", lines_apart("office.presentation_lines", source))
        case "xlsx":
            return Shown("xlsx", lines_apart("sheets.workbook_lines", source))
        case "epub":
            return Shown("epub", lines_apart("epub.book_lines", source))
        case "odf":
            return Shown("opendocument", lines_apart("opendocument.opendocument_lines", source))
        case "zip" | "tar":
            from zidane_lab.tools.reading.archives import list_archive

            return Shown(kind.key, _without_how(list_archive(source, kind.key)), (_PART,))
        case "sqlite":
            from zidane_lab.tools.reading.sqlite import read_database

            return Shown("sqlite", read_database(source, ""), (_PART,))
        case "gzip" | "bz2" | "xz":
            return _compressed(source, kind)
        case _:
            return _columnar(source, kind)


def _without_how(lines: Iterable[str]) -> Iterable[str]:
    """Leave out of a listing how to read on by a path: there is none for an address."""
    for line in lines:
        yield line.partition("; read one as ")[0] + "]" if line.startswith("[") and "; read one as " in line else line


def _columnar(source: Source, kind: FileType) -> Shown | None:
    from zidane_lab.tools.reading.tables import COLUMNAR, columnar_head

    if kind.key not in COLUMNAR:
        return None
    head = columnar_head(source, kind.key)
    return None if isinstance(head, str) else Shown(kind.key, head, (_PART,))


def _compressed(source: Source, kind: FileType) -> Shown | None:
    """Show a compressed text, or what a compressed archive holds."""
    from zidane_lab.tools.reading.archives import list_archive, unpacked
    from zidane_lab.tools.web.charsets import decoded

    content = unpacked(source, kind.key)
    with content.open() as handle:
        data = handle.read(_MOST_UNPACKED + 1)
    inner = identify(data[:HEAD_BYTES], PurePosixPath(content.last_name))
    if inner is not None and inner.key == "tar":
        return Shown(f"{kind.key} tar", _without_how(list_archive(source, kind.key)), (_PART,))
    if inner is not None or not data:
        return None
    text, note = decoded(data[:_MOST_UNPACKED], "")
    cut = "only its beginning was unpacked" if len(data) > _MOST_UNPACKED else ""
    return Shown(f"{kind.key} text", text.split("\n"), tuple(each for each in (note, cut) if each))
