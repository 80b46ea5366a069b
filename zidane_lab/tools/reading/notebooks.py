"""Notebooks as text: ``# %% [code] id=…`` above each cell, its outputs below it where they are asked for.

A line of a cell that looks like such a heading gets one more ``%``, so that the text can be read back.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["notebook_outline", "notebook_text"]

MOST_OUTPUT: Final = 2_000
"""Characters shown of the outputs of one cell; of more, the beginning and the end."""

_HEADING: Final = re.compile(r"^(# %%+)(?= \[)", re.MULTILINE)
_CELL: Final = re.compile(r"# %% \[(\w+)\] id=")
_TITLE: Final = re.compile(r"#{1,6} ")
_DEFINED: Final = re.compile(r"(?:async def|def|class) |%%\w")
_SHOWN: Final = 3
"""So many lines in a row are shown: the note in their place would be no shorter."""
_TERMINAL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def notebook_text(data: bytes, *, outputs: bool = False) -> tuple[str, str] | None:
    """Return a notebook's cells as text, and a note on it; ``None`` where it is no notebook."""
    try:
        cells = list(_cells(json.loads(data)))
        parts = [_cell_text(index, cell, outputs=outputs) for index, cell in enumerate(cells)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    kinds = Counter(str(cell.get("cell_type", "raw")) for cell in cells)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "empty"
    with_output = sum(bool(cell.get("outputs")) for cell in cells)
    shown = "outputs not shown"
    if with_output and not outputs:
        shown = f"outputs of {with_output} not shown, `:outputs` behind the path shows them"
    return "\n".join(parts), f"notebook: {len(cells)} cells ({listed})" + ("" if outputs else f"; {shown}")


def notebook_outline(text: str) -> tuple[str, int]:
    """Return the headings, definitions and first lines of cells in a notebook's text, and how many lines are left out.

    Parameters
    ----------
    text
        As :func:`notebook_text` returns it.
    """
    out: list[str] = []
    skipped: list[str] = []
    kind, is_first, count = "", False, 0

    def close(end: int) -> None:
        """Write what was skipped, or a note in its place."""
        nonlocal count
        if len(skipped) > _SHOWN:
            out.append(f"… [lines {end - len(skipped)}–{end - 1}]")
            count += len(skipped)
        else:
            out.extend(skipped)
        skipped.clear()

    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        cell = _CELL.match(line)
        if cell:
            kind, is_first = cell[1], True
        named = _TITLE.match(line) if kind == "markdown" else _DEFINED.match(line)
        if cell or named or (is_first and line.strip()):
            close(number)
            out.append(line)
            is_first = cell is not None
        else:
            skipped.append(line)
    close(len(lines) + 1)
    return "\n".join(out), count


def _cell_text(index: int, cell: dict[str, Any], *, outputs: bool) -> str:
    source = _HEADING.sub(r"\1%", _joined(cell.get("source", cell.get("input", "")))).rstrip()
    name = cell.get("id", f"#{index}")
    text = f"# %% [{cell.get('cell_type', 'raw')}] id={name}\n{source}\n"
    if outputs and cell.get("outputs"):
        shown = _shortened("\n".join(_output_text(each).rstrip() for each in cell["outputs"]))
        escaped = _HEADING.sub(r"\1%", shown)
        text += f"# %% [outputs] id={name}\n{escaped}\n" if shown else ""
    return text


def _output_text(output: dict[str, Any]) -> str:
    """Write one output: its text, and of everything else what it is."""
    kind = output.get("output_type")
    if kind == "stream":
        return _TERMINAL.sub("", _joined(output.get("text", "")))
    if kind in {"error", "pyerr"}:
        return _TERMINAL.sub("", "\n".join(map(str, output.get("traceback", []))))
    data = output.get("data", output)
    data = data if isinstance(data, dict) else {}
    text = _joined(data.get("text/plain", data.get("text", "")))
    other = [f"[{name}]" for name in data if "/" in name and name != "text/plain"]
    return "\n".join(part for part in (text, " ".join(other)) if part)


def _shortened(text: str) -> str:
    if len(text) <= MOST_OUTPUT:
        return text
    half = MOST_OUTPUT // 2
    return f"{text[:half]}\n[… {len(text) - MOST_OUTPUT:,} characters left out …]\n{text[-half:]}"


def _joined(text: Any) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def _cells(notebook: Any) -> Iterator[dict[str, Any]]:
    """Yield the cells; notebooks of format 3 keep them in worksheets, with ``input`` for ``source``."""
    for sheet in notebook.get("worksheets", [notebook]):
        for cell in sheet["cells"]:
            yield dict(cell)
