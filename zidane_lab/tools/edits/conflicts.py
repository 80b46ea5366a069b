"""The conflicts a merge has left in a text, numbered from 1 in the order of the file, and how to resolve them.

A conflict is what stands between ``<<<<<<<`` and ``>>>>>>>``: our side, ``=======``, theirs. Between ``|||||||`` and
``=======`` stands what both began with, if git was told to write it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.diff import split_lines

__all__ = ["Conflict", "Side", "describe_conflicts", "find_conflicts", "resolution"]

Side: TypeAlias = Literal["ours", "theirs", "base", "both"]
"""A side to take; ``both`` is ours and then theirs."""

_MARK: Final = re.compile(r"(?P<mark><{7}|\|{7}|={7}|>{7})(?: (?P<label>.*))?")
_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Conflict:
    """One conflict: its first and last line (from 1, with the marks), what each side says, and what they are called."""

    number: int
    first: int
    last: int
    ours: str
    theirs: str
    base: str | None = None
    labels: tuple[str, str] = ("", "")

    def side(self, side: Side) -> str:
        """Return what a side says.

        Raises
        ------
        ToolError
            It is not written there.
        """
        if side == "both":
            return self.ours + self.theirs
        if side == "base":
            if self.base is None:
                raise ToolError(
                    f"Conflict {self.number} does not say what both sides began with.",
                    hint="Take ours or theirs, or write the lines; git writes the base with merge.conflictStyle diff3.",
                )
            return self.base
        return self.ours if side == "ours" else self.theirs


def find_conflicts(text: str) -> tuple[Conflict, ...]:
    """Return the conflicts of a text with LF line endings; marks that do not belong together are none."""
    found: list[Conflict] = []
    sides: dict[str, list[str]] = {}
    labels = ["", ""]
    first, now = 0, ""
    for number, line in enumerate(split_lines(text), 1):
        match = _MARK.fullmatch(line.removesuffix("\n"))
        mark = match["mark"][0] if match else ""
        if match and mark == "<":
            sides, now, first, labels = {"<": []}, "<", number, [match["label"] or "", ""]
        elif match and ((mark == "|" and now == "<") or (mark == "=" and now in {"<", "|"})):
            now = mark
            sides[now] = []
        elif match and mark == ">" and now == "=":
            labels[1] = match["label"] or ""
            ours, theirs = "".join(sides["<"]), "".join(sides["="])
            base = "".join(sides["|"]) if "|" in sides else None
            found.append(Conflict(len(found) + 1, first, number, ours, theirs, base, (labels[0], labels[1])))
            now = ""
        elif now:
            sides[now].append(line)
    return tuple(found)


def resolution(conflict: Conflict, content: str) -> str:
    """Return the lines that take a conflict's place: those of a side, or those given.

    Parameters
    ----------
    content
        ``ours``, ``theirs``, ``base`` or ``both``, without a line end; anything else is the lines themselves.

    Raises
    ------
    ToolError
        The side is not there, or the lines hold a conflict again.
    """
    for side in get_args(Side):
        if content == side:
            return conflict.side(side)
    if any(_MARK.fullmatch(line) for line in content.split("\n")):
        raise ToolError("The lines still have marks of a conflict.", hint="Write what is to stand there in the end.")
    return content if content.endswith("\n") or not content else f"{content}\n"


def describe_conflicts(text: str) -> str:
    """Return one line for each conflict of a text: its number, lines and sides; empty for none."""
    found = find_conflicts(text)
    lines = [
        f"#{each.number} lines {each.first}–{each.last}" + (f" ({' / '.join(each.labels)})" if any(each.labels) else "")
        for each in found[:_LISTED]
    ]
    if len(found) > _LISTED:
        lines.append(f"… and {len(found) - _LISTED} more")
    return "\n".join(lines)
