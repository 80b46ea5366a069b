"""A small report, written once and drawn twice: as Markdown with Unicode bars, and as HTML without scripts.

Foreign text (names of models, files, notebooks) is wrapped in :class:`Code`; only that makes it safe in both. The
HTML takes its text colour from the page, so that it reads in light and dark themes; where styles are taken away
the numbers remain.
"""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = [
    "Bar",
    "Cell",
    "Code",
    "Key",
    "Line",
    "Note",
    "Part",
    "Report",
    "Stack",
    "Strong",
    "Table",
    "spark",
    "table",
    "to_html",
    "to_markdown",
]

ACCENT: Final = "#3f8fd2"
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_SHADES: Final = "█▓▒"
_BAR_CELLS: Final = 20
_STACK_CELLS: Final = 60
_LONGEST_CODE: Final = 120
_CELL: Final = "padding:.15em .6em;white-space:nowrap"


@dataclass(frozen=True, slots=True)
class Code:
    """Foreign text: shown as it is, on one line, clipped."""

    text: str

    @property
    def shown(self) -> str:
        """The text with what cannot be printed taken out."""
        line = "".join(each if each.isprintable() else " " for each in self.text[: 4 * _LONGEST_CODE])
        line = " ".join(line.split())
        return line if len(line) <= _LONGEST_CODE else line[: _LONGEST_CODE - 1] + "…"


@dataclass(frozen=True, slots=True)
class Strong:
    """Our own words, in bold."""

    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar ``share`` (0 to 1) of the longest one."""

    share: float


@dataclass(frozen=True, slots=True)
class Key:
    """The mark of the ``index``-th part of a :class:`Stack`."""

    index: int
    colour: str
    kind: str = "part"


Inline: TypeAlias = str | Code | Strong
Cell: TypeAlias = str | int | Code | Bar | Key | tuple["str | Code", ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph."""

    parts: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Note(Line):
    """A paragraph of lesser weight."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``align`` has one of ``l`` and ``r`` for each column."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    align: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a stacked bar: its size, its name and its colour; ``kind`` is ``part``, ``free`` or ``reserve``."""

    size: int
    label: str
    colour: str
    kind: str = "part"


@dataclass(frozen=True, slots=True)
class Stack:
    """One bar of several parts, side by side."""

    parts: tuple[Part, ...]


Report: TypeAlias = Sequence[Line | Table | Stack]


def table(head: Iterable[str], rows: Iterable[Iterable[object]], align: str = "") -> str:
    """Return a Markdown table; cells are escaped so that they stay cells."""

    def line(cells: Iterable[object]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    names = list(head)
    rules = ["---:" if each == "r" else "---" for each in align.ljust(len(names), "l")]
    return "\n".join([line(names), line(rules), *(line(row) for row in rows)])


def spark(values: Sequence[int]) -> str:
    """Return one character for each value, as high as it is beside the largest; a dot for nothing."""
    most = max(values, default=0)
    return "".join(_LEVELS[(8 * value - 1) // most] if value > 0 else "·" for value in values)


# --- Markdown -------------------------------------------------------------------------------------


def to_markdown(report: Report) -> str:
    """Write the report as Markdown."""
    return "\n\n".join(_block(block) for block in report)


def _block(block: Line | Table | Stack) -> str:
    if isinstance(block, Table):
        return table(block.head, ([_text_cell(cell) for cell in row] for row in block.rows), block.align)
    if isinstance(block, Stack):
        return f"`{_stack_text(block.parts)}`"
    return "".join(_inline(part) for part in block.parts)


def _inline(part: Inline) -> str:
    if isinstance(part, Strong):
        return f"**{part.text}**"
    return _code(part) if isinstance(part, Code) else part


def _code(code: Code) -> str:
    shown = code.shown.replace("`", "'")
    return f"`{shown}`" if shown else ""


def _text_cell(cell: Cell) -> str:
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, Bar):
        return _bar_text(cell.share)
    if isinstance(cell, Key):
        return f"`{_mark(cell.index, cell.kind)}`"
    if isinstance(cell, tuple):
        return "".join(_inline(part) for part in cell)
    return _inline(cell)


def _bar_text(share: float) -> str:
    eighths = round(min(1.0, max(0.0, share)) * 8 * _BAR_CELLS)
    if share > 0:
        eighths = max(1, eighths)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _mark(index: int, kind: str) -> str:
    return {"free": "·", "reserve": "░"}.get(kind, _SHADES[index % len(_SHADES)])


def _stack_text(parts: Sequence[Part]) -> str:
    whole = sum(part.size for part in parts)
    ends = (
        [round(_STACK_CELLS * end / whole) for end in itertools.accumulate(part.size for part in parts)]
        if whole
        else []
    )
    return "".join(
        _mark(index, part.kind) * (end - begin)
        for index, (part, begin, end) in enumerate(zip(parts, [0, *ends], ends, strict=False))
    )


# --- HTML -----------------------------------------------------------------------------------------


def to_html(report: Report) -> str:
    """Write the report as one HTML element without scripts."""
    return f"<div>{''.join(_element(block) for block in report)}</div>"


def _element(block: Line | Table | Stack) -> str:
    if isinstance(block, Table):
        return _table_element(block)
    if isinstance(block, Stack):
        return _stack_element(block.parts)
    style = "margin:.4em 0" + (";opacity:.7;font-size:90%" if isinstance(block, Note) else "")
    return f'<p style="{style}">{"".join(_inline_element(part) for part in block.parts)}</p>'


def _inline_element(part: Inline) -> str:
    if isinstance(part, Strong):
        return f"<b>{html.escape(part.text)}</b>"
    return f"<code>{html.escape(part.shown)}</code>" if isinstance(part, Code) else html.escape(part)


def _table_element(block: Table) -> str:
    def cells(tag: str, inner: Iterable[str]) -> str:
        sides = ("right" if each == "r" else "left" for each in block.align)
        return "".join(
            f'<{tag} style="{_CELL};text-align:{side}">{text}</{tag}>' for side, text in zip(sides, inner, strict=True)
        )

    head = cells("th", (html.escape(name) for name in block.head))
    rows = "".join(f"<tr>{cells('td', (_cell_element(cell) for cell in row))}</tr>" for row in block.rows)
    return (
        '<table style="border-collapse:collapse;margin:.4em 0;color:inherit;font-variant-numeric:tabular-nums">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _cell_element(cell: Cell) -> str:
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, Bar):
        width = 100 * min(1.0, max(0.0, cell.share))
        return (
            '<div style="width:12em;height:.8em">'
            f'<div style="width:{width:.1f}%;height:100%;background:{ACCENT};border-radius:2px"></div></div>'
        )
    if isinstance(cell, Key):
        return f'<div style="width:.8em;height:.8em;border-radius:2px;{_fill(cell.colour, cell.kind)}"></div>'
    if isinstance(cell, tuple):
        return "".join(_inline_element(part) for part in cell)
    return _inline_element(cell)


def _stack_element(parts: Sequence[Part]) -> str:
    whole = sum(part.size for part in parts)
    pieces = "".join(
        f'<div title="{html.escape(part.label, quote=True)}" '
        f'style="width:{100 * part.size / whole:.2f}%;{_fill(part.colour, part.kind)}"></div>'
        for part in parts
        if part.size
    )
    label = html.escape(", ".join(f"{part.label} {part.size:,}" for part in parts), quote=True)
    return (
        f'<div role="img" aria-label="{label}" style="display:flex;height:1.1em;max-width:48em;margin:.5em 0;'
        f'border:1px solid rgba(128,128,128,.6);border-radius:3px;overflow:hidden">{pieces}</div>'
    )


def _fill(colour: str, kind: str) -> str:
    if kind == "free":
        return "background:transparent;outline:1px solid rgba(128,128,128,.5)"
    return f"background:{'rgba(128,128,128,.45)' if kind == 'reserve' else colour}"
