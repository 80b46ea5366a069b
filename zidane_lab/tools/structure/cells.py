"""Cells of notebooks as code that can be parsed: which language each is in, and IPython's own syntax out of the way.

Lines that only IPython understands (``%matplotlib inline``, ``!ls``, ``plot?``) are blanked character by character, so
that every place in the parsed text is the same place in the cell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.structure.languages import Language, language_named

__all__ = ["Cell", "blank_magics", "code_cells"]

_PYTHON_CELLS: Final = frozenset({"capture", "memit", "mprun", "lprun", "prun", "px", "python", "python3", "pypy"}) | {
    "time",
    "timeit",
    "debug",
}
"""Cell magics whose cells hold Python all the same."""

_CELL_MAGIC: Final = re.compile(r"\s*+%%(\w++)[^\n]*")
_LINE: Final = re.compile(
    r"^(?P<indent>[ \t]*+)(?P<own>%{1,2}[A-Za-z_][\w.]*+(?=\s|$).*|!.*|\?{1,2}\w.*|[\w.*%]++\?{1,2}[ \t]*+)$",
    re.MULTILINE,
)
_ASSIGNED: Final = re.compile(r"^(?P<target>[\w.,\[\] \t*()]++=[ \t]*+)(?P<own>(?:!|%[A-Za-z_]).*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of code: its name (an id, or ``#`` and its number), its text, and the text to parse, of equal length."""

    name: str
    language: Language
    text: str
    parsed: str


def code_cells(data: bytes) -> tuple[list[Cell], int] | None:
    """Return the code cells of a notebook that can be parsed, and how many cannot; ``None`` if it is no notebook."""
    try:
        notebook = json.loads(data)
        default = _kernel_language(notebook.get("metadata", {}))
        cells = [_cell(index, cell, default) for index, cell in enumerate(_cells(notebook)) if _is_code(cell)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return [each for each in cells if each is not None], cells.count(None)


def blank_magics(text: str) -> str:
    """Return Python code without what only IPython understands; all that is left stands where it stood."""
    text = _ASSIGNED.sub(lambda found: found["target"] + _filled(found["own"], "0"), text)
    return _LINE.sub(lambda found: found["indent"] + _filled(found["own"], "0" if found["indent"] else " "), text)


def _cell(index: int, cell: Mapping[str, Any], default: Language | None) -> Cell | None:
    source = cell.get("source", cell.get("input", ""))
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    text = text.replace("\r\n", "\n")
    parsed, language = text, default
    if (magic := _CELL_MAGIC.match(text)) is not None:
        language = _named("python" if magic[1] in _PYTHON_CELLS else magic[1])
        parsed = " " * magic.end() + text[magic.end() :]
    if language is None:
        return None
    if language.name == "python":
        parsed = blank_magics(parsed)
    return Cell(str(cell.get("id", f"#{index}")), language, text, parsed)


def _kernel_language(metadata: Mapping[str, Any]) -> Language | None:
    for section, key in (("language_info", "name"), ("kernelspec", "language")):
        if isinstance(name := metadata.get(section, {}).get(key), str):
            return _named(name)
    return _named("python")


def _named(name: str) -> Language | None:
    try:
        return language_named(name)
    except ToolError:
        return None


def _is_code(cell: Mapping[str, Any]) -> bool:
    return cell.get("cell_type") == "code"


def _cells(notebook: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the cells; notebooks of format 3 keep them in worksheets."""
    for sheet in notebook.get("worksheets", [notebook]):
        yield from sheet["cells"]


def _filled(text: str, first: str) -> str:
    """Return something of the same length that says nothing."""
    return first + " " * (len(text) - 1)
