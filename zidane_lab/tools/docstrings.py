"""Read what a docstring says of a function and of its parameters (NumPy or Google style)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Docstring", "parse_docstring"]

_PARAMETER_SECTIONS: Final = {"args", "arguments", "parameters", "params", "other parameters", "keyword args"}
_SECTIONS: Final = _PARAMETER_SECTIONS | {
    "attributes",
    "example",
    "examples",
    "keyword arguments",
    "note",
    "notes",
    "raises",
    "receives",
    "references",
    "returns",
    "see also",
    "warns",
    "warning",
    "warnings",
    "yields",
}
_UNDERLINE: Final = re.compile(r"^[-=]{3,}\s*$")
_NUMPY_ENTRY: Final = re.compile(r"^(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_GOOGLE_ENTRY: Final = re.compile(r"^(?P<names>\*{0,2}\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)$")


@dataclass(frozen=True, slots=True)
class Docstring:
    """The prose before the first section, and one line of text for each described parameter."""

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def parse_docstring(text: str | None) -> Docstring:
    """Read a docstring; one in no known style gives its whole prose as the description."""
    if not text:
        return Docstring()
    lines = inspect.cleandoc(text).splitlines()
    description: list[str] = []
    parameters: dict[str, str] = {}
    for title, body in _sections(lines):
        if title is None:
            description = body
        elif title in _PARAMETER_SECTIONS:
            parameters.update(_entries(body))
    return Docstring(_paragraphs(description), parameters)


def _sections(lines: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    """Split into the opening prose (title ``None``) and the sections with their bodies."""
    title: str | None = None
    body: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index].rstrip()
        underlined = index + 1 < len(lines) and _UNDERLINE.match(lines[index + 1])
        name = line.removesuffix(":").lower()
        if line and not line[0].isspace() and (underlined or (line.endswith(":") and name in _SECTIONS)):
            yield title, body
            title, body = name, []
            index += 2 if underlined else 1
            continue
        body.append(line)
        index += 1
    yield title, body


def _entries(body: list[str]) -> Iterator[tuple[str, str]]:
    """Read the entries of a parameter section: NumPy ones start at the margin, Google ones are indented."""
    filled = [line for line in body if line.strip()]
    if not filled:
        return
    margin = min(len(line) - len(line.lstrip()) for line in filled)
    pattern = _GOOGLE_ENTRY if margin else _NUMPY_ENTRY
    names: list[str] = []
    words: list[str] = []
    for line in filled:
        match = pattern.match(line[margin:])
        if match is None:
            words.append(line.strip())
            continue
        yield from ((name, " ".join(words)) for name in names if words)
        names = [name.strip().lstrip("*") for name in match["names"].split(",")]
        words = [match["text"]] if margin and match["text"] else []
    yield from ((name, " ".join(words)) for name in names if words)


def _paragraphs(lines: list[str]) -> str:
    """Join wrapped lines, keep paragraphs."""
    text = "\n".join(line.strip() for line in lines).strip()
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n{2,}", text)) if text else ""
