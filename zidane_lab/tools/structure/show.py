"""Matches written for a model: by file, lines with the tags that ``edit_lines`` takes, and what was captured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from zidane_lab.tools.edits.anchors import anchor
from zidane_lab.tools.pages import PAGE_BYTES
from zidane_lab.tools.paths import show_name
from zidane_lab.tools.structure.engine import Found, Unit
from zidane_lab.tools.structure.rewrite import Match
from zidane_lab.tools.structure.scope import counted

__all__ = ["MOST_PROBLEMS", "problem_lines", "shown_matches", "snippet"]

MOST_PROBLEMS: Final = 20
"""Parse problems that are listed; the rest are counted."""

MOST_SNIPPET: Final = 120
"""Characters shown of what was captured or replaced."""

_MOST_LINES: Final = 12
"""Lines shown of one match."""

_WIDTH: Final = 512
"""Characters shown of a line."""


def shown_matches(units: Sequence[Unit]) -> tuple[list[str], int]:
    """Return matches as lines, as many as fit on a page, and how many these are."""
    lines: list[str] = []
    room, number = PAGE_BYTES, 0
    for unit in units:
        for index, match in enumerate(unit.matches):
            piece = [] if index else [*([""] if lines else []), show_name(unit.source.label)]
            piece += _match(unit, match)
            room -= sum(len(each.encode("utf-8", "replace")) + 1 for each in piece)
            if room < 0 and lines:
                return lines, number
            lines += piece
            number += 1
    return lines, number


def _match(unit: Unit, match: Match) -> Iterator[str]:
    text = unit.source.text
    number = text.count("\n", 0, match.start) + 1
    first, last = text.rfind("\n", 0, match.start) + 1, text.find("\n", match.end)
    whole = text[first : len(text) if last < 0 else last].split("\n")
    for index, line in enumerate(whole[:_MOST_LINES]):
        tag = f"{number}: " if unit.source.cell is not None else f"{anchor(line, number)}|"
        yield f"{tag}{_cut(line, match.start - first if not index else 0)}"
        number += 1
    if len(whole) > _MOST_LINES:
        yield f"… {counted(len(whole) - _MOST_LINES, 'more line')}"
    for name, place in match.captures.items():
        yield f"    {name} = {snippet(text[place[0] : place[1]]) if place else '(nothing)'}"


def snippet(text: str) -> str:
    """Return the first line of a text, shortened, and how many more there are."""
    line, *more = text.strip("\n").split("\n")
    shown = line if len(line) <= MOST_SNIPPET else f"{line[:MOST_SNIPPET]}…"
    return f"{shown} [+{counted(len(more), 'line')}]" if more else shown


def _cut(line: str, at: int) -> str:
    """Return a part of a line that holds the place ``at``."""
    line = line.encode("utf-8", "replace").decode("utf-8")
    if len(line) <= _WIDTH:
        return line
    start = max(0, min(at - _WIDTH // 4, len(line) - _WIDTH))
    left, right = start, len(line) - start - _WIDTH
    before = f"[{left:,} characters] …" if left else ""
    return before + line[start : start + _WIDTH] + (f"… [{right:,} characters]" if right else "")


def problem_lines(found: Found, what: str) -> list[str]:
    """Return the parse problems as lines: a head, and a limited list.

    Parameters
    ----------
    what
        What became of texts with syntax errors.
    """
    told = [f"{show_name(name)}: syntax error in line {line}; {what}" for name, line in found.broken]
    told += [show_name(" ".join(each.split())) for each in found.problems]
    if not told:
        return []
    more = f", the first {MOST_PROBLEMS}" if len(told) > MOST_PROBLEMS else ""
    head = f"[{counted(len(told), 'parse problem')}{more}:]"
    return [head, *(f"- {each}" for each in told[:MOST_PROBLEMS])]
