"""Lines that are meant though not written quite so: apart from spaces at their ends, indentation, typography.

Each stage compares whole lines by a key. Where the indentation differs by one rule, new lines get the file's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

__all__ = ["STAGES", "reindenter", "windows"]

_LOOKALIKES: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000", " "),
        "\u2026": "...",
    }
)
"""Typographic characters and what is typed for them; models mix them up."""

_INDENT: Final = re.compile(r"[ \t]*")

STAGES: Final[tuple[tuple[Callable[[str], str], bool, str], ...]] = (
    (str.rstrip, False, "apart from spaces at the ends of lines"),
    (str.strip, True, "apart from indentation; the new text was indented like the file"),
    (lambda line: line.translate(_LOOKALIKES).strip(), True, "apart from typographic characters and indentation"),
)
"""Key of a line, whether indentation is left out of it, and what to say of a match; the strictest stage first."""


def windows(keys: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return where all of ``wanted`` stands in ``keys``; one of it at least must not be empty."""
    size = len(wanted)
    first = next(index for index, key in enumerate(wanted) if key)
    return [
        start
        for start in range(len(keys) - size + 1)
        if keys[start + first] == wanted[first] and list(keys[start : start + size]) == list(wanted)
    ]


def reindenter(wanted: Sequence[str], found: Sequence[str]) -> Callable[[str], str] | None:
    """Return what turns the model's indentation into the file's; ``None`` where no one rule does."""
    pairs = [(_indent(a), _indent(b)) for a, b in zip(wanted, found, strict=True) if a.strip()]
    added = {mine[: len(mine) - len(theirs)] if mine.endswith(theirs) else None for theirs, mine in pairs}
    if len(added) == 1 and (more := next(iter(added))) is not None:
        return lambda line: f"{more}{line}" if line.strip() else line
    removed = {theirs[: len(theirs) - len(mine)] if theirs.endswith(mine) else None for theirs, mine in pairs}
    if len(removed) == 1 and (less := next(iter(removed))) is not None:
        return lambda line: line.removeprefix(less)
    rule: dict[str, str] = {}
    for theirs, mine in pairs:
        if rule.setdefault(theirs, mine) != mine:
            return None
    return lambda line: _translated(line, rule)


def _translated(line: str, rule: Mapping[str, str]) -> str:
    """Give a line the file's indentation for its own, or for the longest known beginning of it."""
    indent = _indent(line)
    known = max((each for each in rule if indent.startswith(each)), key=len, default="")
    return rule.get(known, known) + line[len(known) :]


def _indent(line: str) -> str:
    found = _INDENT.match(line)
    return found[0] if found else ""
