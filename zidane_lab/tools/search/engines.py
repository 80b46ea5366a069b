"""What a search asks and answers, whichever engine runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from zidane_lab.tools.search.pattern import Pattern

__all__ = ["LINE_WIDTH", "Counts", "Engine", "Found", "Line", "Search"]

LINE_WIDTH: Final = 1_024
"""Characters shown of a line, around what was found in it."""


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for, and where.

    Parameters
    ----------
    root
        A folder or a file, absolute, links resolved.
    is_file
        Whether it is a file; its ``name`` in the results is empty.
    globs
        Patterns without braces; those with a slash match the path below ``root``, others the last name. None: all.
    ignored
        Whether to look into what ignore rules hide.
    kept
        Paths below the root that are not looked into.
    """

    root: str
    pattern: Pattern
    is_file: bool = False
    globs: tuple[str, ...] = ()
    ignored: bool = False
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Counts:
    """Matching lines by file (path below the root), files that could not be read, and whether all was searched.

    ``full`` says why not: there was too much to say, and not too little time.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    failed: int = 0
    complete: bool = True
    full: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a result.

    Parameters
    ----------
    name, number, is_match
        Which line of which file; one that does not match is a neighbour.
    text
        At most :data:`LINE_WIDTH` characters of it, without its end.
    start, end
        Where the first match is in ``text``.
    left, length
        How many characters there are before ``text``, and in the whole line.
    """

    name: str
    number: int
    is_match: bool
    text: str
    start: int = 0
    end: int = 0
    left: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """Lines of a page, in the order of the files asked for; whether these are all, and if not, why (as above)."""

    lines: Sequence[Line] = ()
    complete: bool = True
    full: bool = False


class Engine(Protocol):
    """Searches files."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    async def count(self, search: Search, seconds: float) -> Counts:
        """Count matching lines in every file."""
        ...

    async def lines(self, search: Search, files: Sequence[tuple[str, int]], around: int, seconds: float) -> Found:
        """Fetch the first so many matching lines of each file, with their neighbours."""
        ...
