"""Word documents and PowerPoint presentations as text, from their XML alone.

A picture is shown by the name of the part that holds it, by which it can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.etree.ElementTree import Element

from zidane_lab.tools.reading.source import Source
from zidane_lab.tools.reading.xml_parts import Package, local, opened_package, table_line

__all__ = ["presentation_lines", "word_lines"]

_HEADING: Final = re.compile(r"(?:heading|berschrift|titre|rubrik|kop|t.tulo)\s*([1-6])", re.IGNORECASE)
_DOCUMENT: Final = "word/document.xml"
_PRESENTATION: Final = "ppt/presentation.xml"
_BREAKS: Final = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


@dataclass(frozen=True, slots=True)
class _Around:
    """What a text refers to: names of styles, and pictures, by their ids."""

    pictures: Mapping[str, str] = field(default_factory=dict)
    styles: Mapping[str, str] = field(default_factory=dict)


def word_lines(source: Source) -> Iterator[str]:
    """Yield a Word document: headings with ``#``, list items with ``-``, tables by row; notes at the end."""
    with opened_package(source) as package:
        names = _style_names(package)
        body = next((each for each in package.xml(_DOCUMENT) if local(each) == "body"), None)
        yield from _blocks(body if body is not None else [], _Around(package.related(_DOCUMENT), names))
        for part, title in (("word/footnotes.xml", "Footnotes"), ("word/comments.xml", "Comments")):
            if part in package:
                around = _Around(package.related(part), names)
                texts = [text for note in package.xml(part) if (text := " ".join(_blocks(note, around)).strip())]
                yield from (["", f"## {title}", *(f"- {text}" for text in texts)] if texts else [])


def _style_names(package: Package) -> dict[str, str]:
    """Return the names of paragraph styles by id; ids are translated in some versions, names are not."""
    if "word/styles.xml" not in package:
        return {}
    names: dict[str, str] = {}
    for style in package.xml("word/styles.xml"):
        for each in style:
            if local(each) == "name":
                names[_value(style, "styleId")] = _value(each)
    return names


def _blocks(parent: Element | list[Element], around: _Around) -> Iterator[str]:
    for each in parent:
        match local(each):
            case "p":
                yield from _paragraph(each, around).split("\n")
            case "tbl":
                yield from _table(each, around)
            case "sdt" | "sdtContent" | "ins" | "smartTag" | "customXml":
                yield from _blocks(each, around)


def _paragraph(paragraph: Element, around: _Around) -> str:
    text = "".join(_runs(paragraph, around.pictures)).strip("\n")
    prefix = ""
    for element in paragraph.iter():
        match local(element):
            case "pStyle":
                name = around.styles.get(_value(element), _value(element))
                if found := _HEADING.search(name):
                    prefix = f"{'#' * int(found[1])} "
                elif name.lower() == "title":
                    prefix = "# "
            case "numPr":
                prefix = prefix or "- "
    return f"{prefix}{text}" if text else ""


def _runs(element: Element, pictures: Mapping[str, str]) -> Iterator[str]:
    """Yield the texts of a paragraph, and its pictures; what was deleted with changes tracked is gone."""
    for each in element:
        name = local(each)
        if name == "t":
            yield each.text or ""
        elif name in _BREAKS:
            yield _BREAKS[name]
        elif name == "blip":
            if (picture := pictures.get(_value(each, "embed"))) is not None:
                yield f"![]({picture})"
        elif name not in {"del", "pPr", "rPr", "instrText", "AlternateContent"}:
            yield from _runs(each, pictures)


def _table(table: Element, around: _Around) -> Iterator[str]:
    rows = [each for each in table if local(each) == "tr"]
    for index, row in enumerate(rows):
        cells = [" ".join(_blocks(cell, around)) for cell in row if local(cell) == "tc"]
        yield table_line(cells)
        if index == 0:
            yield f"|{' --- |' * len(cells)}"


def presentation_lines(source: Source, pages: tuple[int, int] | None = None) -> Iterator[str]:
    """Yield a presentation, slide by slide, with tables and the speaker's notes."""
    with opened_package(source) as package:
        slides = [part for _, part in package.listed(_PRESENTATION, "sldId")]
        first, last = pages or (1, len(slides))
        for number, part in enumerate(slides[first - 1 : last], first):
            yield f"## Slide {number} of {len(slides)}"
            related = package.related(part)
            yield from _drawing(package.xml(part), related)
            notes = next((each for each in related.values() if "/notesSlides/" in f"/{each}"), None)
            if notes is not None and (
                lines := [line for line in _drawing(package.xml(notes), {}) if line != str(number)]
            ):
                yield f"Notes: {' '.join(lines)}"
            yield ""


def _drawing(slide: Element, pictures: Mapping[str, str]) -> Iterator[str]:
    """Yield the paragraphs, tables and pictures of a slide, in the order of its shapes."""
    for each in slide:
        match local(each):
            case "p":
                text = "".join(_runs(each, pictures)).strip()
                level = next((int(inner.get("lvl", "0")) for inner in each if local(inner) == "pPr"), 0)
                yield from ([f"{'  ' * level}{line}" for line in text.split("\n")] if text else [])
            case "tbl":
                for row in (inner for inner in each if local(inner) == "tr"):
                    yield table_line([" ".join(_drawing(cell, pictures)) for cell in row if local(cell) == "tc"])
            case "blip":
                yield from ([f"![]({pictures[name]})"] if (name := _value(each, "embed")) in pictures else [])
            case _:
                yield from _drawing(each, pictures)


def _value(element: Element, name: str = "val") -> str:
    """Return an attribute, whatever its namespace."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")
