"""OpenDocument files (LibreOffice's own: text, sheets, slides) as text, from their XML alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element

from zidane_lab.tools.reading.source import Source
from zidane_lab.tools.reading.xml_parts import local, opened_package, table_line

__all__ = ["opendocument_lines"]

_CONTENT: Final = "content.xml"
_BREAKS: Final = {"tab": "\t", "line-break": "\n"}
_MOST_REPEATED: Final = 20
"""Times an empty cell or row that is said to be repeated is written: sheets are filled up with them to their edge."""
_MOST_CELLS: Final = 100


def opendocument_lines(source: Source) -> Iterator[str]:
    """Yield a document: headings with ``#``, list items with ``-``, tables by row, slides under their names."""
    with opened_package(source) as package:
        body = next((each for each in package.xml(_CONTENT) if local(each) == "body"), None)
        if body is not None:
            yield from _blocks(body)


def _blocks(parent: Element, mark: str = "") -> Iterator[str]:
    for each in parent:
        match local(each):
            case "h":
                level = _attribute(each, "outline-level")
                yield f"{'#' * (int(level) if level.isdecimal() and int(level) < 7 else 1)} {_text(each)}"
            case "p":
                yield from (f"{mark}{line}" for line in _text(each).split("\n"))
            case "list":
                for item in each:
                    yield from _blocks(item, f"{'  ' if mark else ''}- ")
            case "table":
                if name := _attribute(each, "name"):
                    yield f"## {name}"
                yield from _rows(each)
                yield ""
            case "page":
                yield f"## {_attribute(each, 'name')}"
                yield from _blocks(each)
                yield ""
            case "annotation" | "tracked-changes" | "forms" | "sequence-decls" | "settings":
                continue
            case _:
                yield from _blocks(each, mark)


def _rows(table: Element) -> Iterator[str]:
    for row in table.iter():
        if local(row) != "table-row":
            continue
        cells: list[str] = []
        for cell in row:
            if local(cell) not in {"table-cell", "covered-table-cell"}:
                continue
            text = " ".join(_blocks(cell))
            times = _attribute(cell, "number-columns-repeated")
            cells += [text] * (min(int(times), _MOST_REPEATED) if times.isdecimal() else 1)
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            more = f" … {len(cells) - _MOST_CELLS:,} more cells" if len(cells) > _MOST_CELLS else ""
            yield table_line(cells[:_MOST_CELLS]) + more


def _text(element: Element) -> str:
    return "".join(_runs(element)).strip("\n")


def _runs(element: Element) -> Iterator[str]:
    yield element.text or ""
    for each in element:
        name = local(each)
        if name in _BREAKS:
            yield _BREAKS[name]
        elif name == "s":
            count = _attribute(each, "c")
            yield " " * (min(int(count), 100) if count.isdecimal() else 1)
        elif name not in {"annotation", "note", "frame"}:
            yield from _runs(each)
        elif name == "frame":
            yield " ".join(line for line in _blocks(each) if line)
        yield each.tail or ""


def _attribute(element: Element, name: str) -> str:
    """Return an attribute, whatever its namespace."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")
