"""The lines around a change with their anchors, so that the next edit by anchors needs no reading in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from zidane_lab.tools.edits.anchors import tagged
from zidane_lab.tools.edits.diff import line_changes, split_lines

__all__ = ["changed_places", "tagged_around"]

_AROUND: Final = 2
"""Lines shown on either side of a change."""

_SHOWN: Final = 40
"""Most lines shown of a changed file."""


def changed_places(old: str, new: str) -> tuple[tuple[int, int], ...]:
    """Return the first and last line of each place in ``new`` that is not as in ``old``; a deletion has no lines."""
    changes = line_changes(split_lines(old), split_lines(new))
    return tuple((j1 + 1, j2) for kind, _, _, j1, j2 in changes if kind != "equal")


def tagged_around(text: str, places: Iterable[tuple[int, int]]) -> Iterator[str]:
    """Yield the lines around places with their anchors, and how many are left out."""
    lines = text.removesuffix("\n").split("\n") if text else []
    wanted = sorted(
        {
            number
            for first, last in places
            for number in range(first - _AROUND, last + _AROUND + 1)
            if 1 <= number <= len(lines)
        }
    )
    before = 0
    for number in wanted[:_SHOWN]:
        if before and number > before + 1:
            yield "…"
        yield tagged(lines[number - 1], number) or tagged("\n", number).removesuffix("\n")
        before = number
    if len(wanted) > _SHOWN:
        yield f"[{len(wanted) - _SHOWN} more changed lines are not shown]"
