"""The outline of code in other languages than Python, by its indentation alone.

A line is kept when nothing around it is deeper; what is indented below it is left out, unless it is the inside of a
class or the like, which is treated in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

__all__ = ["SUFFIXES", "indented_outline"]

SUFFIXES: Final = frozenset(
    {".bash", ".c", ".cc", ".cjs", ".cpp", ".cs", ".cts", ".cxx", ".dart", ".ex", ".exs"}
    | {".go", ".h", ".hh", ".hpp", ".hxx", ".java", ".jl", ".js", ".jsx", ".kt", ".kts"}
    | {".lua", ".m", ".mjs", ".mm", ".mts", ".php", ".pl", ".pm", ".r", ".rb", ".rs"}
    | {".scala", ".sh", ".sol", ".sql", ".swift", ".ts", ".tsx", ".zig", ".zsh"}
)
"""Endings of names of such files."""
_KEPT: Final = 3
"""So many lines are shown: the note in their place would be no shorter."""
_DEEPEST: Final = 8
_CONTAINER: Final = re.compile(
    r"^\s*(?:@\w+\s+|#\[.*\]\s*)*(?:[\w<>:,()*&]+\s+){0,6}?"
    r"(?:class|interface|impl|trait|namespace|module|mod|object|enum|struct|union|extension|protocol|package|record|"
    r"describe|defmodule|contract|library)\b"
)
_COMMENT: Final = re.compile(r"\s*(?:/\*|\"\"\"|--\[\[|=begin)")
Span: TypeAlias = tuple[int, int]


def indented_outline(source: str) -> tuple[str, int] | None:
    """Return the code with a note in place of what is left out, and how many lines that is; ``None`` if nothing is.

    Parameters
    ----------
    source
        The text, with LF line endings.
    """
    lines = source.split("\n")
    depths = [_depth(line) for line in lines]
    spans = [span for span in _left_out(lines, depths, 0, len(lines), 0) if span[1] - span[0] + 1 > _KEPT]
    if not spans:
        return None
    out: list[str] = []
    at, count = 0, 0
    for first, last in spans:
        out += lines[at:first]
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        out.append(f"{indent}… [lines {first + 1}–{last + 1}]")
        count += last - first + 1
        at = last + 1
    return "\n".join([*out, *lines[at:]]), count


def _depth(line: str) -> int | None:
    """Return how far a line is indented, in columns; ``None`` for an empty one."""
    stripped = line.lstrip(" \t")
    if not stripped:
        return None
    return len(line[: len(line) - len(stripped)].expandtabs(4))


def _left_out(lines: list[str], depths: list[int | None], start: int, stop: int, level: int) -> Iterator[Span]:
    """Yield the first and last lines, from 0, of what is left out of a part of the text."""
    base = min((depth for depth in depths[start:stop] if depth is not None), default=0)
    at = start
    while at < stop:
        first, head = at + 1, lines[at]
        at = first
        while at < stop and ((depth := depths[at]) is None or depth > base):
            at += 1
        last = at
        while last > first and depths[last - 1] is None:  # blank lines belong to what follows
            last -= 1
        if last == first:
            continue
        if _CONTAINER.match(head) and level < _DEEPEST:
            yield from _left_out(lines, depths, first, last, level + 1)
        elif _COMMENT.match(head):
            yield first + 1, last - 1
        else:
            yield first, last - 1
