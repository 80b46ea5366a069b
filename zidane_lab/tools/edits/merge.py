"""Three-way merge by lines: two changes of one text, made without knowing of each other, put together.

What only one side changed is taken from it; what both changed alike is taken once. Where they changed the same lines
differently, or lines that touch, there is no merge: nobody can tell what was meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zidane_lab.tools.edits.diff import line_changes, split_lines

__all__ = ["merge"]


def merge(base: str, ours: str, theirs: str) -> str | None:
    """Return the text with both changes; ``None`` where they collide."""
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    origin, mine, other = split_lines(base), split_lines(ours), split_lines(theirs)
    merged: list[str] = []
    at = a = b = 0
    for start, a_start, b_start, length in _common(origin, mine, other):
        chunk = _chosen(origin[at:start], mine[a:a_start], other[b:b_start])
        if chunk is None:
            return None
        merged += chunk
        merged += origin[start : start + length]
        at, a, b = start + length, a_start + length, b_start + length
    return "".join(merged)


def _common(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the runs of lines all three share: where they start in each, and how long they are; an empty one last."""
    mine, other = ([each for each in line_changes(base, side) if each[0] == "equal"] for side in (ours, theirs))
    i = j = 0
    while i < len(mine) and j < len(other):
        _, m1, m2, a1, _ = mine[i]
        _, o1, o2, b1, _ = other[j]
        start, stop = max(m1, o1), min(m2, o2)
        if start < stop:
            yield start, a1 + start - m1, b1 + start - o1, stop - start
        if m2 < o2:
            i += 1
        else:
            j += 1
    yield len(base), len(ours), len(theirs), 0


def _chosen(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Sequence[str] | None:
    if ours in (base, theirs):
        return theirs
    return ours if theirs == base else None
