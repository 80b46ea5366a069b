"""Unified diffs: what a change did, for people to see, for a model to check and for ``git apply`` to take."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from zidane_lab.tools.paths import show_name

__all__ = ["DIFF_BYTES", "Diff", "EditHunk", "LineChange", "edit_hunks", "line_changes", "split_lines", "unified"]

DIFF_BYTES: Final = 65_536
"""Most bytes of a diff that is kept with a result; the rest is counted."""

_CONTEXT: Final = 3
"""Unchanged lines shown around a change (as ``diff -u`` does)."""

_EXACT: Final = 1_000_000
"""Up to this product of lines every line is compared; above, lines found everywhere are not (``autojunk``)."""

_COMPARED: Final = 400_000_000
"""Above this product of lines nothing is compared: what differs counts as replaced in one piece."""

LineChange: TypeAlias = tuple[str, int, int, int, int]
"""``equal``, ``replace``, ``delete`` or ``insert``; the old lines, and the new ones (as in :mod:`difflib`)."""


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff; ``first_line`` is the first changed line of the new text, ``omitted`` counts lines cut off."""

    text: str = ""
    added: int = 0
    removed: int = 0
    first_line: int | None = None
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class EditHunk:
    """One replacement as a call asks for it, to be drawn before it is made."""

    old_string: str
    new_string: str
    replace_all: bool = False


def edit_hunks(tool: str, arguments: Mapping[str, Any], before: str = "") -> tuple[EditHunk, ...]:
    """Return what a call wants replaced: one hunk for ``edit`` and ``write_file``, one per step for ``multi_edit``.

    Parameters
    ----------
    before
        What the file of a ``write_file`` holds now; empty for a new file, and where nobody knows any more.
    """
    if tool == "write_file":
        return (EditHunk(before, _text(arguments.get("content"))),)
    steps = arguments.get("edits") if tool == "multi_edit" else [arguments] if tool == "edit" else []
    if not isinstance(steps, (list, tuple)):
        return ()
    return tuple(
        EditHunk(_text(step.get("old_string")), _text(step.get("new_string")), bool(step.get("replace_all")))
        for step in steps
        if isinstance(step, Mapping)
    )


def split_lines(text: str) -> list[str]:
    """Split after each LF and nowhere else; the last line may be without."""
    *whole, rest = text.split("\n")
    lines = [f"{line}\n" for line in whole]
    return [*lines, rest] if rest else lines


def line_changes(old: Sequence[str], new: Sequence[str]) -> list[LineChange]:
    """Compare two lists of lines; what they begin and end with alike is set aside first."""
    least = min(len(old), len(new))
    head = next((index for index in range(least) if old[index] != new[index]), least)
    tail = next((index for index in range(least - head) if old[-1 - index] != new[-1 - index]), least - head)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    changes: list[LineChange] = [("equal", 0, head, 0, head)] if head else []
    if a and b:
        changes += ((kind, i1 + head, i2 + head, j1 + head, j2 + head) for kind, i1, i2, j1, j2 in _compared(a, b))
    elif a or b:
        changes.append(("delete" if a else "insert", head, head + len(a), head, head + len(b)))
    if tail:
        changes.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    return changes


def _compared(a: Sequence[str], b: Sequence[str]) -> list[LineChange]:
    size = len(a) * len(b)
    if size > _COMPARED:
        return [("replace", 0, len(a), 0, len(b))]
    return list(difflib.SequenceMatcher(None, a, b, autojunk=size > _EXACT).get_opcodes())


def unified(old: str | None, new: str | None, path: str, *, limit: int = DIFF_BYTES) -> Diff:
    """Return the unified diff between two texts; ``None`` stands for no file.

    Parameters
    ----------
    path
        What the header calls the file.
    limit
        Most bytes of the text.
    """
    before, after = split_lines(old or ""), split_lines(new or "")
    changes = line_changes(before, after)
    differing = [change for change in changes if change[0] != "equal"]
    added = sum(j2 - j1 for _, _, _, j1, j2 in differing)
    removed = sum(i2 - i1 for _, i1, i2, _, _ in differing)
    name = show_name(path).lstrip("/")
    lines = [
        "--- /dev/null" if old is None else f"--- a/{name}",
        "+++ /dev/null" if new is None else f"+++ b/{name}",
    ]
    for group in _groups(changes):
        lines += _hunk(group, before, after)
    if not differing:
        return Diff()
    text, omitted = _within(lines, limit)
    return Diff(text, added, removed, differing[0][3] + 1, omitted)


def _groups(changes: Sequence[LineChange]) -> Iterator[list[LineChange]]:
    """Yield the changes that belong in one hunk, with a few equal lines before, between and after."""
    group: list[LineChange] = []
    for index, change in enumerate(changes):
        kind, i1, i2, j1, j2 = change
        if kind != "equal":
            group.append(change)
            continue
        last = index == len(changes) - 1
        if group and (last or i2 - i1 > 2 * _CONTEXT):
            size = min(_CONTEXT, i2 - i1)
            yield [*group, ("equal", i1, i1 + size, j1, j1 + size)]
            group = []
        elif group:
            group.append(change)
        if not group and not last:
            size = min(_CONTEXT, i2 - i1)
            group = [("equal", i2 - size, i2, j2 - size, j2)]
    if any(kind != "equal" for kind, *_ in group):
        yield group


def _hunk(group: Sequence[LineChange], before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    old, new = _range(group[0][1], group[-1][2]), _range(group[0][3], group[-1][4])
    yield f"@@ -{old} +{new} @@"
    for kind, i1, i2, j1, j2 in group:
        if kind == "equal":
            yield from _marked(" ", before[i1:i2])
        else:
            yield from _marked("-", before[i1:i2])
            yield from _marked("+", after[j1:j2])


def _range(start: int, stop: int) -> str:
    """Write lines as diffs do: counted from 1, an empty range by the line before it, a length of one left out."""
    length = stop - start
    return f"{start + 1}" if length == 1 else f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.endswith("\n"):
            yield mark + line[:-1]
        else:
            yield mark + line
            yield "\\ No newline at end of file"


def _within(lines: Sequence[str], limit: int) -> tuple[str, int]:
    room, kept = limit, 0
    for line in lines:
        room -= len(line.encode("utf-8", "surrogatepass")) + 1
        if room < 0:
            break
        kept += 1
    omitted = len(lines) - kept
    shown = [*lines[:kept], f"[… {omitted:,} more lines of this diff left out …]"] if omitted else lines
    return "\n".join(shown) + "\n", omitted


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
