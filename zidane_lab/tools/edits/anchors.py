"""Lines named by number and content: ``12ab`` is line 12, as long as it says what it said.

The two letters are a hash of the line without trailing spaces; lines of punctuation alone, which look alike all over a
file, mix in their number. All edits of a call name lines of the text as it was read: every anchor is checked before
anything changes, and nobody has to count how earlier edits move later lines.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.text import Span, to_lf

__all__ = [
    "MISMATCH_CONTEXT",
    "Anchored",
    "LineEdit",
    "LineOp",
    "StaleAnchorsError",
    "anchor",
    "apply_line_edits",
    "line_edit",
    "strip_tags",
    "tagged",
]

MISMATCH_CONTEXT: Final = 2
"""Lines shown on either side of an anchor that does not fit."""

_SHOWN: Final = 60
"""Most lines shown with anchors that do not fit."""

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_ANCHOR: Final = re.compile(r"(?P<line>[1-9]\d{0,8})(?P<tag>[a-z]{2})")
_PASTED: Final = re.compile(r"[1-9]\d{0,8}[a-z]{2}\|")

LineOp: TypeAlias = Literal["replace", "delete", "insert_before", "insert_after"]


class StaleAnchorsError(ToolError):
    """The file does not say what it said when the anchors were given; the message has its lines as they are."""

    code = "stale_anchors"


@dataclass(frozen=True, slots=True)
class LineEdit:
    """One edit: what to do at line ``first``, or from there to ``last``; ``None`` is the beginning or end of the file.

    ``lines`` are the new ones, without line ends; none delete. ``note`` says what was put right in them.
    """

    op: LineOp
    first: tuple[int, str] | None
    last: tuple[int, str] | None
    lines: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Anchored:
    """The text after the edits, what of it is new (first and last line of each place), and what was put right.

    ``spans`` are the edits as replacements in the text before, with a line end at its end if it has none.
    """

    text: str
    changed: tuple[tuple[int, int], ...]
    notes: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()


def anchor(line: str, number: int) -> str:
    """Return the anchor of a line."""
    bare = line.rstrip()
    mixed = bare if any(char.isalnum() for char in bare) else f"{number}\0{bare}"
    first, second = divmod(zlib.crc32(mixed.encode("utf-8", "surrogatepass")) % 676, 26)
    return f"{number}{_LETTERS[first]}{_LETTERS[second]}"


def tagged(text: str, start: int = 1) -> str:
    """Return a text with the anchor of each line before it, as in ``12ab|def f():``.

    Parameters
    ----------
    text
        Whole lines of a file, with LF line endings.
    start
        The number of the first of them.
    """
    ended = text.endswith("\n")
    lines = text.removesuffix("\n").split("\n") if text else []
    return "\n".join(f"{anchor(line, number)}|{line}" for number, line in enumerate(lines, start)) + "\n" * ended


def strip_tags(text: str) -> str | None:
    """Return a text without the anchors pasted in front of every line; ``None`` where a line has none.

    One of them at least must fit its line, or it is text that only looks like that.
    """
    lines = text.split("\n")
    rest = lines[:-1] if lines[-1] == "" else lines
    pasted = [_PASTED.match(line) for line in rest]
    if not any(
        found and found[0][:-1] == _anchor_of(line, found.end()) for line, found in zip(rest, pasted, strict=True)
    ):
        return None
    if not all(pasted):
        return None
    return "\n".join(_PASTED.sub("", line, count=1) for line in lines)


def _anchor_of(line: str, start: int) -> str:
    """Return the anchor of what follows a pasted one, under the number pasted."""
    return anchor(line[start:], int(line[: start - 3]))


def line_edit(raw: Mapping[str, Any], number: int = 1) -> LineEdit:
    """Read one edit of a call.

    Raises
    ------
    ToolError
        An anchor cannot be read, or something does not go together.
    """
    where, op = f"Edit {number}", raw.get("op")
    if op not in get_args(LineOp):
        raise ToolError(f"{where}: {op!r} is no operation.", hint=f"One of: {', '.join(get_args(LineOp))}.")
    at, to = str(raw.get("anchor") or "").strip(), str(raw.get("to") or "").strip()
    lines, note = _lines(str(raw.get("text") or ""), where)
    if op in {"insert_before", "insert_after"}:
        if not lines:
            raise ToolError(f"{where}: there is nothing to insert.", hint="Give `text`; a blank line is a line break.")
        if at.upper() in {"BOF", "EOF"}:
            return LineEdit("insert_before" if at.upper() == "BOF" else "insert_after", None, None, lines, note)
        first = _parsed(at, where)
        return LineEdit(cast("LineOp", op), first, first, lines, note)
    if op == "delete" and lines:
        raise ToolError(f"{where}: deleting takes no `text`.", hint="Use op replace to put something in the place.")
    first = _parsed(at, where)
    last = _parsed(to, where) if to else first
    if last[0] < first[0]:
        raise ToolError(f"{where}: {to} stands before {at}.", hint="`anchor` is the first line, `to` the last.")
    return LineEdit("replace", first, last, lines, note)


def _parsed(token: str, where: str) -> tuple[int, str]:
    found = _ANCHOR.fullmatch(token.partition("|")[0].strip())
    if found is None:
        raise ToolError(
            f"{where}: {token!r} is no anchor.",
            hint="An anchor is what stands before the | of a line shown with tags, such as 12ab.",
        )
    return int(found["line"]), found["tag"]


def _lines(text: str, where: str) -> tuple[tuple[str, ...], str]:
    text, note = to_lf(text), ""
    if (bare := strip_tags(text)) is not None:
        text, note = bare, f"{where}: the line tags in front of every new line were dropped"
    return (tuple(text.removesuffix("\n").split("\n")) if text else ()), note


def apply_line_edits(text: str, edits: Sequence[LineEdit], *, where: str = "the file") -> Anchored:
    """Make edits that name lines of ``text``.

    Raises
    ------
    StaleAnchorsError
        Lines are not what their anchors say.
    ToolError
        Edits overlap.
    """
    ended = text.endswith("\n") or not text
    lines = (text.removesuffix("\n")).split("\n") if text else []
    _check(lines, edits, where)
    notes = [edit.note for edit in edits if edit.note]
    spans: list[tuple[int, int, int, int, tuple[str, ...]]] = []
    for index, edit in enumerate(edits):
        if edit.op == "replace" and edit.first and edit.last:
            start, stop = edit.first[0] - 1, edit.last[0]
            start, stop, note = _absorb(lines, start, stop, edit.lines)
            notes += [note] if note else []
        elif edit.first is None:
            start = stop = 0 if edit.op == "insert_before" else len(lines)
        else:
            start = stop = edit.first[0] - (edit.op == "insert_before")
        spans.append((start, stop, _rank(edit), index, edit.lines))
    spans.sort(key=lambda span: span[:4])
    offsets = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    pieces: list[Span] = []
    new, changed, at = [], [], 0
    for start, stop, _, index, payload in spans:
        if start < at:
            raise ToolError(f"Edit {index + 1} overlaps another one.", hint="Put changes of the same lines into one.")
        new += lines[at:start]
        changed.append((len(new) + 1, len(new) + len(payload)))
        new += payload
        pieces.append((offsets[start], offsets[stop], "".join(f"{line}\n" for line in payload)))
        at = stop
    new += lines[at:]
    return Anchored("\n".join(new) + ("\n" if ended and new else ""), tuple(changed), tuple(notes), tuple(pieces))


def _rank(edit: LineEdit) -> int:
    """Return what comes first at one place: the beginning of the file, what follows a line, what precedes the next."""
    if edit.first is None:
        return 0 if edit.op == "insert_before" else 3
    return 1 if edit.op == "insert_after" else 2


def _check(lines: Sequence[str], edits: Sequence[LineEdit], where: str) -> None:
    wrong: dict[int, str] = {}
    for edit in edits:
        for each in filter(None, (edit.first, edit.last)):
            number, tag = each
            if number > len(lines) or anchor(lines[number - 1], number) != f"{number}{tag}":
                wrong[number] = f"{number}{tag}"
    if not wrong:
        return
    past = [number for number in wrong if number > len(lines)]
    said = ", ".join(wrong[number] for number in sorted(wrong))
    told = f"{where} has changed since these anchors were given: {said}."
    if past:
        told += f" It has {len(lines):,} lines."
    shown = sorted(
        {
            near
            for number in wrong
            for near in range(number - MISMATCH_CONTEXT, number + MISMATCH_CONTEXT + 1)
            if 1 <= near <= len(lines)
        }
    )
    fresh = "\n".join(
        f"{'*' if number in wrong else ' '}{anchor(lines[number - 1], number)}|{lines[number - 1]}"
        for number in shown[:_SHOWN]
    )
    hint = "Nothing was changed. Read it again for new anchors."
    if fresh:
        hint = f"Nothing was changed. Its lines there are now (* where the anchor does not fit):\n{fresh}"
    raise StaleAnchorsError(told, hint=hint)


def _absorb(lines: Sequence[str], start: int, stop: int, payload: Sequence[str]) -> tuple[int, int, str]:
    """Widen a range by neighbours that the new lines repeat: the model quoted more than it replaced.

    A single line must say something (four letters or digits) to count: braces and blank lines repeat by right.
    """
    inside = lines[start:stop]
    for size in range(min(len(payload) - 1, start, 5), 0, -1):
        head = list(payload[:size])
        if head == list(lines[start - size : start]) and _telling(head) and inside[:size] != head:
            note = f"the first {size} new lines repeated those above line {start + 1}; they were not doubled"
            return start - size, stop, note
    for size in range(min(len(payload) - 1, len(lines) - stop, 5), 0, -1):
        tail = list(payload[-size:])
        if tail == list(lines[stop : stop + size]) and _telling(tail) and inside[-size:] != tail:
            note = f"the last {size} new lines repeated those below line {stop}; they were not doubled"
            return start, stop + size, note
    return start, stop, ""


def _telling(lines: Sequence[str]) -> bool:
    return any(sum(char.isalnum() for char in line) >= 4 for line in lines)
