"""Hunks of a patch, put into a text: where their old lines are, and what is replaced there.

The place a hunk names counts if its lines are there; else the only place where they are, exactly or apart from spaces
and typography. What the text has around a change stays as the text has it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from zidane_lab.tools.edits.diff import split_lines
from zidane_lab.tools.edits.near import nearest, show_lines
from zidane_lab.tools.edits.patches import Hunk
from zidane_lab.tools.edits.replace import MatchError
from zidane_lab.tools.edits.text import Span
from zidane_lab.tools.edits.tolerant import STAGES, reindenter

__all__ = ["Hunked", "apply_hunks"]

_LISTED: Final = 10
"""Places named in an error."""


@dataclass(frozen=True, slots=True)
class Hunked:
    """The replacements in the text, in order, and what was not exact about finding their places."""

    spans: tuple[Span, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """The index of the first old line, by which stage it was found, and what to say about it."""

    start: int
    indented: bool = False
    note: str = ""


def apply_hunks(text: str, hunks: Sequence[Hunk], *, where: str = "the file") -> Hunked:
    """Return the replacements that a file's hunks ask for.

    Raises
    ------
    MatchError
        The old lines of one are not there, or in several places, or two want the same lines.
    """
    lines = split_lines(text)
    known = _Text(lines)
    offsets = [0, *itertools.accumulate(map(len, lines))]
    spans: list[tuple[Span, int]] = []
    notes: list[str] = []
    cursor = shift = 0
    for number, hunk in enumerate(hunks, 1):
        name = f"Hunk {number} of {where}" if len(hunks) > 1 else f"The hunk of {where}"
        place = _find(known, hunk, cursor, shift, name)
        if place.note:
            notes.append(f"{name} {place.note}")
        spans += ((span, number) for span in _spans(lines, offsets, hunk, place))
        if hunk.line is not None and hunk.old:
            shift = place.start + 1 - hunk.line
        cursor = place.start + len(hunk.old)
    spans.sort(key=lambda each: each[0][:2])
    for (before, _), (after, number) in itertools.pairwise(spans):
        if after[0] < before[1]:
            raise MatchError(f"Hunk {number} of {where} overlaps another one.", hint="Put them into one.")
    return Hunked(tuple(span for span, _ in spans), tuple(notes))


def _find(text: _Text, hunk: Hunk, cursor: int, shift: int, name: str) -> _Place:
    lines = text.lines
    after = _below(lines, hunk.above, cursor, name)
    if not hunk.old:
        return _insertion(lines, hunk, after, name)
    said = None if hunk.line is None else hunk.line - 1 + shift
    if said is not None and said >= 0 and tuple(lines[said : said + len(hunk.old)]) == hunk.old:
        return _Place(said)
    for places, what, indented in text.places(hunk):
        told = f"fits {what}" if what else ""
        if said is not None and said in places:
            return _Place(said, indented, told)
        fitting = [start for start in places if start >= after] if said is None else places
        if hunk.at_end:
            last = [start for start in fitting if start + len(hunk.old) == len(lines)]
            fitting = last or fitting
        if len(fitting) > 1 and not hunk.above:
            listed = ", ".join(str(start + 1) for start in fitting[:_LISTED]) + (" …" if len(fitting) > _LISTED else "")
            raise MatchError(
                f"{name} fits in {len(fitting)} places: at lines {listed}.",
                hint="Add lines around it until only one place fits"
                + (", or the line of the class or function above it as `@@ def f():`." if said is None else "."),
            )
        if fitting:
            moved = f"was found at line {fitting[0] + 1}, not {said + 1}" if said is not None else ""
            return _Place(fitting[0], indented, "; ".join(filter(None, (moved, told))))
    raise _nowhere(lines, hunk, name)


class _Text:
    """The lines of a text, and where those with a key are; a text is looked through once for all hunks of it."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._known: dict[int, tuple[list[str], dict[str, list[int]]]] = {}

    def places(self, hunk: Hunk) -> Iterator[tuple[list[int], str, bool]]:
        """Yield where the old lines are: exactly, then as the stages allow; what to say of it, whether indented."""
        old = list(hunk.old)
        if len(old) > len(self.lines) or not all(old):
            return
        yield self._find(0, str, old), "", False
        for number, (key, indented, what) in enumerate(STAGES, 1):
            wanted = [key(line) for line in old]
            if not any(wanted):
                return
            found = self._find(number, key, wanted)
            if indented:  # only where one rule gives the new lines their indentation
                bare = _bare(old)
                found = [start for start in found if reindenter(bare, _bare(self.lines[start : start + len(old)]))]
            yield found, what, indented

    def _find(self, stage: int, key: Callable[[str], str], wanted: list[str]) -> list[int]:
        if stage not in self._known:
            keys = [key(line) for line in self.lines]
            at: dict[str, list[int]] = {}
            for index, each in enumerate(keys):
                at.setdefault(each, []).append(index)
            self._known[stage] = keys, at
        keys, at = self._known[stage]
        rarest = min(range(len(wanted)), key=lambda index: len(at.get(wanted[index], ())))
        starts = (index - rarest for index in at.get(wanted[rarest], ()))
        return [start for start in starts if start >= 0 and keys[start : start + len(wanted)] == wanted]


def _below(lines: Sequence[str], above: Sequence[str], cursor: int, name: str) -> int:
    """Return the index below the lines a hunk names above itself."""
    for words in above:
        bare = words.strip()
        rest = range(cursor, len(lines))
        found = next((index for index in rest if lines[index].strip() == bare), None)
        if found is None:
            found = next((index for index in rest if lines[index].strip().startswith(bare)), None)
        if found is None:
            raise MatchError(
                f"{name}: the line {bare[:80]!r} it is to stand below is not there.",
                hint="Write the line behind @@ as it is in the file, or leave it out.",
            )
        cursor = found + 1
    return cursor


def _insertion(lines: Sequence[str], hunk: Hunk, after: int, name: str) -> _Place:
    """Return where lines go that have no old ones beside them: below the line named, else at the end."""
    if hunk.above:
        return _Place(after)
    if hunk.line is None or not lines:
        return _Place(len(lines))
    raise MatchError(
        f"{name} has no line of the file to tell its place by.", hint="Make the diff with some unchanged lines around."
    )


def _spans(lines: Sequence[str], offsets: Sequence[int], hunk: Hunk, place: _Place) -> Iterator[Span]:
    """Yield a replacement for each run of changed lines of a hunk."""
    at = place.start
    stop = at + len(hunk.old)
    fit = reindenter(_bare(hunk.old), _bare(lines[at:stop])) if place.indented else None
    size = len(hunk.lines)
    index = 0
    while index < size:
        if hunk.lines[index][0] == " ":
            index, at = index + 1, at + 1
            continue
        first, new = at, []
        while index < size and hunk.lines[index][0] != " ":
            mark, line = hunk.lines[index]
            if mark == "-":
                at += 1
            else:
                new.append(line if fit is None else fit(line))
            index += 1
        yield _span(lines, offsets, first, at, new, is_last=index == size and stop == len(lines), said=hunk)


def _span(
    lines: Sequence[str], offsets: Sequence[int], first: int, last: int, new: list[str], *, is_last: bool, said: Hunk
) -> Span:
    """Replace whole lines; at the end of a text without a line end the new text has none, unless the hunk says so."""
    text = "".join(new)
    start, end = offsets[first], offsets[last]
    unended = bool(lines) and not lines[-1].endswith("\n")
    tells = any(not line.endswith("\n") for line in said.old)  # then what it says of the end is meant
    if not (is_last and last == len(lines) and unended) or tells:
        return start, end, text
    if not text and first:  # what is above becomes the last line
        return start - 1, end, ""
    if first == last:  # behind the last line
        return start, end, "\n" + text.removesuffix("\n")
    return start, end, text.removesuffix("\n")


def _bare(lines: Sequence[str]) -> list[str]:
    return [line.removesuffix("\n") for line in lines]


def _nowhere(lines: Sequence[str], hunk: Hunk, name: str) -> MatchError:
    bare = _bare(lines)
    near = nearest(bare, _bare(hunk.old))
    if not near:
        return MatchError(
            f"{name}: its old lines are not there, and nothing like them.", hint="Read the file again, then patch it."
        )
    best = near[0]
    return MatchError(
        f"{name}: its old lines are not there; most alike: lines {best.first}–{best.last} ({best.ratio:.0%}).",
        hint=f"Quote them as they are:\n{show_lines(bare, best.first, best.last)}",
    )
