"""Books (EPUB) as Markdown: the chapters in the order of reading, each under its heading."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from zidane_lab.errors import ToolError
from zidane_lab.tools.reading.source import Source
from zidane_lab.tools.reading.xml_parts import Package, local, opened_package

__all__ = ["book_lines"]

_CONTAINER: Final = "META-INF/container.xml"
_CHAPTERS: Final = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def book_lines(source: Source) -> Iterator[str]:
    """Yield a book: what it is called and by whom, then its chapters.

    Raises
    ------
    ToolError
        It is broken, or no book.
    """
    from zidane_lab.tools.web.markdown import convert

    with opened_package(source) as package:
        path = _package_document(package)
        document = package.xml(path)
        yield from _title(document)
        chapters = list(_chapters(document, posixpath.dirname(path)))
        for number, chapter in enumerate(chapters, 1):
            yield ""
            yield f"--- part {number} of {len(chapters)}: {chapter} ---"
            if chapter not in package:
                yield "[it is not in the file]"
                continue
            text = convert(package.read(chapter).decode("utf-8-sig", "replace"), is_xml=True, drops=False).text
            yield from (text.split("\n") if text else ["[no text: a picture]"])


def _package_document(package: Package) -> str:
    for element in package.xml(_CONTAINER).iter():
        if local(element) == "rootfile" and (path := element.get("full-path")):
            return path
    raise ToolError(f"{package.name} names no content: it is no complete book.", hint="Choose another file.")


def _title(document: Element) -> Iterator[str]:
    found: dict[str, list[str]] = {"title": [], "creator": [], "language": []}
    for element in document.iter():
        if local(element) in found and (text := " ".join((element.text or "").split())):
            found[local(element)].append(text)
    if found["title"]:
        yield f"# {found['title'][0]}"
    if found["creator"]:
        yield f"by {', '.join(found['creator'])}"


def _chapters(document: Element, folder: str) -> Iterator[str]:
    """Yield the parts of the book in the order of its spine."""
    items: dict[str, str] = {}
    for element in document.iter():
        if local(element) == "item" and element.get("media-type") in _CHAPTERS:
            items[element.get("id", "")] = unquote(element.get("href", ""))
    for element in document.iter():
        if local(element) == "itemref" and (href := items.get(element.get("idref", ""))) is not None:
            yield posixpath.normpath(posixpath.join(folder, href))
