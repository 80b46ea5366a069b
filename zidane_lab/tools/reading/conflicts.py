"""Merge conflicts that are left in a text: each with its number, its lines, and whose they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

__all__ = ["MOST_LINES", "conflict_lines"]

MOST_LINES: Final = 200
"""Lines shown of one conflict."""
_NAMED: Final = 20
_MARK: Final = re.compile(r"(<{7}|\|{7}|={7}|>{7})(?: (.*))?$")


@dataclass(slots=True)
class _Conflict:
    """A conflict as it is read: where it starts, the marks in it, and its first lines."""

    first: int
    ours: str
    base: tuple[int, str] | None = None
    middle: int | None = None
    lines: list[str] = field(default_factory=list)

    def add(self, line: str, number: int, kind: str, name: str) -> None:
        """Take its next line, which may be a mark."""
        if len(self.lines) < MOST_LINES:
            self.lines.append(line)
        if kind == "|" and self.middle is None and self.base is None:
            self.base = (number, name)
        elif kind == "=" and self.middle is None:
            self.middle = number

    def described(self, number: int, last: int, theirs: str) -> Iterator[str]:
        """Yield it with a heading; ``last`` is its last line."""
        assert self.middle is not None
        end = self.base[0] if self.base else self.middle
        sides = [_side("ours", self.ours, self.first + 1, end - 1)]
        if self.base:
            sides.append(_side("before", self.base[1], self.base[0] + 1, self.middle - 1))
        sides.append(_side("theirs", theirs, self.middle + 1, last - 1))
        yield f"#{number}  lines {self.first:,}–{last:,}: {', '.join(sides)}"
        for index, line in enumerate(self.lines, self.first):
            yield f"{index}: {line}"
        if (more := last - self.first + 1 - len(self.lines)) > 0:
            yield f"[{more:,} more lines of it]"
        yield ""


def conflict_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the conflicts in a text's lines, and how many there are.

    Marks are those of git: seven of a character, a space, a name. Conflicts do not contain each other.
    """
    found: _Conflict | None = None
    broken: list[int] = []
    count = number = 0
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\r\n")
        mark = _MARK.match(line)
        kind, name = (mark[1][0], (mark[2] or "").strip()) if mark else ("", "")
        if kind == "<":
            broken += [found.first] if found is not None else []
            found = _Conflict(number, name)
        if found is None:
            continue
        found.add(line, number, kind, name)
        if kind == ">" and found.middle is not None:
            count += 1
            yield from found.described(count, number, name)
            found = None
    broken += [found.first] if found is not None else []
    if broken:
        listed = ", ".join(f"{each:,}" for each in broken[:_NAMED])
        yield f"[a conflict starts and does not end, at line {listed}{' …' if len(broken) > _NAMED else ''}]"
    yield f"[{count:,} unresolved merge conflict{'' if count == 1 else 's'} in {number:,} lines]"


def _side(what: str, name: str, first: int, last: int) -> str:
    called = f" ({name})" if name else ""
    if last < first:
        return f"{what}{called} nothing"
    return f"{what}{called} {first:,}–{last:,}" if last > first else f"{what}{called} {first:,}"
