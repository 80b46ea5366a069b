"""Writing Markdown: fenced blocks, tables, and what docstrings say."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable
from typing import Any

__all__ = ["fenced", "fields_of", "first_paragraph", "listed", "table"]


def fenced(text: str, language: str = "text") -> str:
    """Return text as a fenced block that it cannot end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def listed(*texts: str) -> str:
    """Return texts as one fenced block, one a line."""
    return fenced("\n".join(texts))


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table."""
    lines = [list(head)]
    lines += [["---"] * len(lines[0]), *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def first_paragraph(thing: object) -> str:
    """Return the first paragraph of a docstring, on one line, as Markdown."""
    paragraph = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return " ".join(paragraph.replace("``", "`").split())


def fields_of(cls: type[Any]) -> str:
    """Return the fields of a dataclass as a table: name, default, and what its docstring says of it."""
    meanings = _parameters(cls)
    fields = dataclasses.fields(cls)
    rows = ((f"`{field.name}`", _default(field), meanings.get(field.name, "")) for field in fields)
    return table(("field", "default", "is"), rows)


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
        return ""
    value = field.default if field.default is not dataclasses.MISSING else field.default_factory()
    if dataclasses.is_dataclass(value):
        return f"`{type(value).__name__}()`"
    if isinstance(value, frozenset):
        return ", ".join(f"`{each}`" for each in sorted(value)) or "none"
    empty = value is None or ((isinstance(value, (str, dict, tuple)) or hasattr(value, "keys")) and not value)
    return "none" if empty else f"`{value}`"


def _parameters(cls: type[Any]) -> dict[str, str]:
    """Read the section *Parameters* of a docstring; entries such as ``a, b`` count for each name."""
    text = inspect.getdoc(cls) or ""
    section = text.partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\n\w[^\n]*\n-{3,}\n", section)[0]
    found: dict[str, str] = {}
    for match in re.finditer(r"^(\w[\w, ]*)\n((?:[ ]{4}.*\n?|\n)+)", section, re.MULTILINE):
        meaning = _as_markdown(" ".join(match[2].split()))
        found |= dict.fromkeys(match[1].split(", "), meaning)
    return found


def _as_markdown(text: str) -> str:
    plain = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return plain.replace("``", "`")
