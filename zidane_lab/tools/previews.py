"""Files that say more when they are not shown as they stand: notebooks as text, tables with a line on their shape."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from zidane_lab.tools.filetypes import how_to_load
from zidane_lab.tools.pages import Page

__all__ = ["TABLE_SUFFIXES", "describe_table", "notebook_text"]

TABLE_SUFFIXES: Final = frozenset({".csv", ".tsv", ".tab"})
_DELIMITERS: Final = {",": "comma", "\t": "tab", ";": "semicolon", "|": "pipe"}
_SAMPLE_LINES: Final = 50
_NAMES_SHOWN: Final = 20
_NAME_WIDTH: Final = 30


def describe_table(page: Page, path: str) -> str:
    """Describe a delimited table from its first page: delimiter, columns, rows, how to load it."""
    lines = page.text.split("\n")
    delimiter, columns = _guess(lines[:_SAMPLE_LINES])
    names = ", ".join(name[:_NAME_WIDTH] for name in columns[:_NAMES_SHOWN])
    more = ", …" if len(columns) > _NAMES_SHOWN else ""
    rows = ""
    if page.total is not None and not page.cut:
        # A quoted field may span lines, so lines are rows only where the whole table is here to be parsed.
        whole = page.following is None
        count = len(_rows(lines, delimiter)) if whole else page.total
        rows = f", {'' if whole else 'about '}{max(0, count - 1):,} rows"
    load = how_to_load("csv", path)
    if delimiter != ",":
        option = "sep" if "pd." in load else "separator"
        load = load.replace(")`", f", {option}={delimiter!r})`")
    return f"table: {_DELIMITERS[delimiter]}-separated, {len(columns)} columns ({names}{more}){rows}. {load}"


def _rows(lines: list[str], delimiter: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:  # a bare carriage return, say: no table by this delimiter
        return []


def _guess(sample: list[str]) -> tuple[str, list[str]]:
    """Return the delimiter that splits every row into the same number of fields, the most of them, and the header."""
    best, columns = ",", sample[:1]
    for delimiter in _DELIMITERS:
        rows = _rows(sample, delimiter)
        complete = rows[:-1] if len(rows) > 2 else rows  # the last row may be cut or the start of a quoted one
        if complete and len({len(row) for row in complete}) == 1 and len(rows[0]) > len(columns):
            best, columns = delimiter, rows[0]
    return best, columns


def notebook_text(data: bytes) -> tuple[str, str] | None:
    """Return a notebook's cells as text without outputs, and a note on it; ``None`` where it is no notebook."""
    try:
        cells = list(_cells(json.loads(data)))
        parts = [_cell_text(index, cell) for index, cell in enumerate(cells)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    kinds = Counter(str(cell.get("cell_type", "raw")) for cell in cells)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "empty"
    return "\n".join(parts), f"notebook: {len(cells)} cells ({listed}); outputs not shown"


def _cell_text(index: int, cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = "".join(source) if isinstance(source, list) else str(source)
    return f"# %% [{cell.get('cell_type', 'raw')}] cell:{cell.get('id', f'#{index}')}\n{text.rstrip()}\n"


def _cells(notebook: Any) -> Iterator[dict[str, Any]]:
    """Yield the cells; notebooks of format 3 keep them in worksheets, with ``input`` for ``source``."""
    for sheet in notebook.get("worksheets", [notebook]):
        for cell in sheet["cells"]:
            yield dict(cell)
