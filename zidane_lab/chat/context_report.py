"""A report on what fills the window in the next request: one stacked bar, and a table of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from zidane_lab.agent.context_breakdown import CATEGORIES, ContextBreakdown, ContextCategory, ContextSegment
from zidane_lab.chat.report import Cell, Code, Key, Line, Note, Part, Report, Stack, Strong, Table

__all__ = ["context_report"]

MOST_ITEMS: Final = 3
"""Things of a part that are named."""

_COLOURS: Final[Mapping[ContextCategory, str]] = {
    "system": "#7e57c2",
    "tools": "#5c6bc0",
    "mcp": "#3f8fd2",
    "skills": "#26a69a",
    "instructions": "#5aa95e",
    "variables": "#c9971c",
    "files": "#e0742c",
    "results": "#8d6e63",
    "user": "#d81b60",
    "assistant": "#ab47bc",
    "calls": "#2aa3c9",
    "thinking": "#78909c",
    "media": "#9ba83a",
    "summaries": "#e85d46",
    "other": "#909090",
}
"""Middle tones, to be told apart on light and on dark pages."""


def context_report(breakdown: ContextBreakdown, model: str, *, counted_by: str = "", trouble: str = "") -> Report:
    """Say what the next request holds.

    Parameters
    ----------
    breakdown
        Its parts.
    model
        Full name of the model it would go to.
    counted_by
        The provider whose own counts are in it, if any.
    trouble
        Why the provider's own counts could not be had, if that was tried.
    """
    total, window = breakdown.total, breakdown.window
    size = f"{'' if breakdown.is_exact else '~'}{total:,} tokens"
    share = f" of {window:,} ({100 * total / window:.1f}%)" if window else "; the model's window is not known"
    blocks: list[Line | Table | Stack] = [Line((Strong("Next request"), " to ", Code(model), f": {size}{share}."))]
    if breakdown.over:
        blocks.append(
            Line((
                Strong("Too long"),
                f": by {breakdown.over:,} tokens, if {breakdown.reserve:,} are to stay free for the answer.",
            ))
        )  # fmt: skip
    parts = _parts(breakdown)
    if not parts:
        return [Line(("The next request would be empty: there is no system prompt and nothing was said.",))]
    blocks += [Stack(parts), _table(breakdown, parts)]
    return [*blocks, *(Note(note) for note in _notes(breakdown, counted_by, trouble))]


def _parts(breakdown: ContextBreakdown) -> tuple[Part, ...]:
    parts = [Part(each.tokens, _label(each), _COLOURS[each.category]) for each in breakdown.segments]
    if breakdown.free:
        parts.append(Part(breakdown.free, "free", "", "free"))
    if breakdown.reserve:
        parts.append(Part(breakdown.reserve, "kept for the answer", "", "reserve"))
    return tuple(parts)


def _table(breakdown: ContextBreakdown, parts: tuple[Part, ...]) -> Table:
    whole = breakdown.window or breakdown.total or 1
    rows: list[tuple[Cell, ...]] = []
    for index, part in enumerate(parts):
        segment = breakdown.segments[index] if index < len(breakdown.segments) else None
        # What is free is as exact as what is taken; the reserve is a choice.
        is_exact = segment.is_exact if segment is not None else breakdown.is_exact or part.kind == "reserve"
        name: Cell = part.label if segment is None or segment.label in CATEGORIES.values() else Code(segment.label)
        rows.append((
            Key(index, part.colour, part.kind),
            name,
            f"{'' if is_exact else '~'}{part.size:,}",
            f"{100 * part.size / whole:.1f}%",
            _items(segment) if segment is not None else "",
        ))  # fmt: skip
    return Table(("", "part", "tokens", "share", "most of it"), tuple(rows), "llrrl")


def _items(segment: ContextSegment) -> Cell:
    shown: list[str | Code] = []
    for item in segment.items[:MOST_ITEMS]:
        shown += [", " if shown else "", Code(item.label), f" ~{item.tokens:,}"]
    left = len(segment.items) - MOST_ITEMS
    return (*shown, f" and {left:,} more") if left > 0 else tuple(shown)


def _label(segment: ContextSegment) -> str:
    return Code(segment.label).shown


def _notes(breakdown: ContextBreakdown, counted_by: str, trouble: str) -> list[tuple[str | Code | Strong, ...]]:
    notes: list[tuple[str | Code | Strong, ...]] = []
    if counted_by:
        notes.append(("Numbers without ~ were counted by ", Code(counted_by), "; those with ~ are estimates."))
    elif breakdown.last:
        notes.append((
            f"~ marks estimates, scaled to the last request, of which the service counted {breakdown.last:,} tokens.",
        ))  # fmt: skip
    else:
        notes.append(("~ marks estimates: four characters as one token.",))
    if trouble:
        notes.append(("The service could not be asked to count: ", Code(trouble)))
    return notes
