"""Where a text that was not found nearly is, so that the next try can quote the file as it is."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Near", "nearest", "show_lines"]

_LEAST: Final = 0.55
"""How alike (of 1) a place must be to be named."""

_LOOKED_AT: Final = 12
"""Places of a longer text compared character by character."""

_SMALL: Final = 200
"""Lines of a text of which every place is compared."""

_CHARS: Final = 4_000
"""Characters of a place that are compared."""

_SHOWN_LINES: Final = 12
_SHOWN_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Near:
    """Lines ``first`` to ``last`` (from 1) that are alike, and how much, of 1."""

    first: int
    last: int
    ratio: float


def nearest(lines: Sequence[str], wanted: Sequence[str], *, most: int = 3) -> tuple[Near, ...]:
    """Return the places in ``lines`` most like ``wanted``, the best first; they do not overlap."""
    size = len(wanted)
    if not any(line.strip() for line in wanted) or size > len(lines):
        return ()
    text = "\n".join(line.strip() for line in wanted)[:_CHARS]
    matcher = difflib.SequenceMatcher(None, "", text, autojunk=False)
    found: list[Near] = []
    for start in _candidates(lines, wanted):
        matcher.set_seq1("\n".join(line.strip() for line in lines[start : start + size])[:_CHARS])
        if matcher.real_quick_ratio() < _LEAST or matcher.quick_ratio() < _LEAST:
            continue
        if (ratio := matcher.ratio()) >= _LEAST:
            found.append(Near(start + 1, start + size, ratio))
    found.sort(key=lambda near: (-near.ratio, near.first))
    apart: list[Near] = []
    for near in found:
        if all(near.last < other.first or near.first > other.last for other in apart):
            apart.append(near)
    return tuple(apart[:most])


def _candidates(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return where to look closer: windows that share whole lines, else those that share words; all of a short text."""
    size = len(wanted)
    if len(lines) <= _SMALL:
        return list(range(len(lines) - size + 1))
    return _ranked([_key(line) for line in lines], {_key(line) for line in wanted} - {""}, size) or _ranked_words(
        lines, wanted
    )


def _key(line: str) -> str:
    return "".join(line.split())


def _ranked(keys: Sequence[str], wanted: set[str], size: int) -> list[int]:
    hits = [key in wanted for key in keys]
    score = sum(hits[:size])
    scores = {0: score} if score else {}
    for start in range(1, len(keys) - size + 1):
        score += hits[start + size - 1] - hits[start - 1]
        if score:
            scores[start] = score
    return sorted(scores, key=lambda start: (-scores[start], start))[:_LOOKED_AT]


def _ranked_words(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Rank windows by the words (three characters or more, rare ones more) of their lines."""
    sought = {word for line in wanted for word in _words(line)}
    per_line = [sought & set(_words(line)) for line in lines]
    common = Counter(word for words in per_line for word in words)
    weights = [sum(1 / common[word] for word in words) for words in per_line]
    size = len(wanted)
    score = sum(weights[:size])
    scores = {0: score}
    for start in range(1, len(lines) - size + 1):
        score += weights[start + size - 1] - weights[start - 1]
        scores[start] = score
    best = sorted(scores, key=lambda start: (-scores[start], start))[:_LOOKED_AT]
    return [start for start in best if scores[start] > 1e-9]


def _words(line: str) -> list[str]:
    spaced = "".join(char if char.isalnum() else " " for char in line)
    return [word.lower() for word in spaced.split() if len(word) > 2]


def show_lines(lines: Sequence[str], first: int, last: int) -> str:
    """Return lines with their numbers, a dozen at most, long ones clipped; what is left out is said."""
    shown = [
        f"{number}: {line if len(line) <= _SHOWN_CHARS else line[:_SHOWN_CHARS] + '…'}"
        for number, line in enumerate(lines[first - 1 : min(last, first - 1 + _SHOWN_LINES)], first)
    ]
    if last - first + 1 > _SHOWN_LINES:
        shown.append(f"… and {last - first + 1 - _SHOWN_LINES} more lines")
    return "\n".join(shown)
