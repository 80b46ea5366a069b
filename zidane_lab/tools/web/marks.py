"""Pieces of Markdown: paragraphs with their marks, code, tables.

While a paragraph is written, marks whose place is not settled stand in it as control characters, which no cleaned text
has: U+0000 around code, U+0001 before a mark that opens, U+0002 behind one that closes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Table", "is_item", "language", "number", "paragraph", "write_table"]

_WIDEST: Final = 50
"""Columns up to which short rows are filled up."""
_LANGUAGE: Final = re.compile(r"(?:language|lang|highlight)-([\w+#-]+)")


@dataclass(slots=True)
class Table:
    """A table that is being read."""

    rows: list[list[str]] = field(default_factory=list)
    has_head: bool = False


def language(values: dict[str, str]) -> str:
    """Return the language of code by the attributes of its element; empty where they do not say."""
    match = _LANGUAGE.search(values.get("class", ""))
    name = match[1] if match else values.get("data-lang", values.get("data-language", ""))
    return name if re.fullmatch(r"[\w+#-]{1,20}", name) and name not in {"default", "none"} else ""


def number(text: str, default: int) -> int:
    """Return a small number as written in an attribute."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else default


def is_item(block: str) -> bool:
    """Whether a block is a list."""
    return re.match(r"(?:- |\d+\. )", block) is not None


def paragraph(text: str) -> str:
    """Settle the marks of code and emphasis, and the white space between words."""
    text = re.sub(r"\x00([^\x00]*)\x00", lambda found: _inline_code(found[1]), text).replace("\x00", "")
    text = re.sub(r"\x01(\*\*|_|~~)(\s*)\1\x02", r"\2", text)
    text = re.sub(r"\x01(\*\*|_|~~)(\s*)", r"\2\1", text)
    text = re.sub(r"(?<!\s)(\s+)(\*\*|_|~~)\x02", r"\2\1", text).replace("\x02", "")
    return "\n".join(line for part in text.split("\n") if (line := re.sub(r" {2,}", " ", part).strip()))


def _inline_code(text: str) -> str:
    text = re.sub(r"[\x01\x02]|\s+", lambda found: "" if found[0] in "\x01\x02" else " ", text).strip()
    if not text:
        return ""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def write_table(table: Table) -> str:
    """Write a table; one of a single column is layout, not a table."""
    rows = [row for row in table.rows if any(cell.strip() for cell in row)]
    width = max((len(row) for row in rows), default=0)
    if width < 2:
        return "\n\n".join(cell for row in rows for cell in row)
    lines = [
        "| "
        + " | ".join(
            " ".join(cell.split()).replace("|", "\\|") for cell in [*row, *[""] * (min(width, _WIDEST) - len(row))]
        )
        + " |"
        for row in rows
    ]
    rule = "|" + "---|" * width
    head = [lines[0], rule] if table.has_head else ["|" + " |" * width, rule, lines[0]]
    return "\n".join([*head, *lines[1:]])
