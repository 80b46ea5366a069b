"""Find the text a model wants replaced: exactly, or else apart from spaces, if only one place can be meant.

What was not exact is said with the result. Where nothing fits, or too much, the error has the lines to look at, so
that the next try is right.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.anchors import strip_tags
from zidane_lab.tools.edits.near import nearest, show_lines
from zidane_lab.tools.edits.text import Span, to_lf
from zidane_lab.tools.edits.tolerant import STAGES, reindenter, windows

__all__ = ["ALIKE", "Match", "MatchError", "find_replacement"]

ALIKE: Final = 0.95
"""How alike (of 1) the only such place must be to be taken for the text, where that was asked for."""

_COMPARED: Final = 20_000
"""Characters of a text that is looked for so; comparing takes their square."""

_LISTED: Final = 10
"""Places named in an error."""

_TOLD: Final = 6
"""Lines told that were not as they were quoted."""


class MatchError(ToolError):
    """The text to be replaced is not there, or in several places."""

    code = "no_match"


@dataclass(frozen=True, slots=True)
class Match:
    """What to replace (not overlapping, in order), and what was not exact about finding it."""

    spans: tuple[Span, ...]
    note: str = ""


def find_replacement(
    text: str, old: str, new: str, *, replace_all: bool = False, fuzzy: bool = False, where: str = "the file"
) -> Match:
    """Return the replacements that put ``new`` in the place of ``old``.

    Parameters
    ----------
    text
        With LF line endings.
    replace_all
        Replace every exact match; otherwise there must be one.
    fuzzy
        If nothing fits, take the only place that is at least :data:`ALIKE`.
    where
        What to call the text in errors.

    Raises
    ------
    MatchError
        Nothing matches, or more than one place does.
    ToolError
        There is nothing to look for, or nothing would change.
    """
    old, new = to_lf(old), to_lf(new)
    if old == new:
        raise ToolError(
            "`old_string` and `new_string` are the same; nothing would change.", hint="Send what is to be different."
        )
    if not old:
        if not text:
            return Match(((0, 0, new),))
        raise ToolError(
            f"`old_string` is empty, but {where} is not.",
            hint="Quote the lines to replace; to add some, quote a neighbouring line and repeat it in `new_string`.",
        )
    if (match := _exact(text, old, new, replace_all=replace_all, where=where)) is not None:
        return match
    if (bare := strip_tags(old)) is not None:
        plain = strip_tags(new)
        bare_new = new if plain is None else plain
        if (match := _exact(text, bare, bare_new, replace_all=replace_all, where=where)) is not None:
            return Match(match.spans, "the line tags copied into `old_string` were ignored")
    match = _tolerant(text, old, new, where)
    if match is None and fuzzy:
        match = _alike(text, old, new)
    if match is None:
        raise _not_found(text, old, where)
    return match


def _exact(text: str, old: str, new: str, *, replace_all: bool, where: str) -> Match | None:
    starts = list(_occurrences(text, old))
    if not starts:
        return None
    if not replace_all:
        more = text.find(old, starts[0] + 1)  # it may overlap the first
        if more >= 0:
            starts = sorted({*starts, more})
            raise _ambiguous([text.count("\n", 0, start) + 1 for start in starts], where, "")
    return Match(tuple((start, start + len(old), new) for start in starts))


def _occurrences(text: str, old: str) -> Iterator[int]:
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + len(old))


# --- apart from spaces ----------------------------------------------------------------------------


def _tolerant(text: str, old: str, new: str, where: str) -> Match | None:
    """Match whole lines apart from trailing spaces, then from indentation, then from typographic characters."""
    ends = old.endswith("\n")
    wanted = (old[:-1] if ends else old).split("\n")
    lines = text.split("\n")
    if not any(line.strip() for line in wanted) or len(wanted) > len(lines):
        return None
    for key, indented, what in STAGES:
        found = windows([key(line) for line in lines], [key(line) for line in wanted])
        if not found:
            continue
        if len(found) > 1:
            raise _ambiguous([start + 1 for start in found], where, what)
        first, stop = found[0], found[0] + len(wanted)
        reindent = reindenter(wanted, lines[first:stop]) if indented else None
        if indented and reindent is None:
            continue
        start = sum(len(line) + 1 for line in lines[:first])
        end = start + sum(len(line) + 1 for line in lines[first:stop]) - 1
        if ends:
            end = min(end + 1, len(text))
        fitted = new if reindent is None else "\n".join(map(reindent, new.split("\n")))
        if text[start:end] == fitted:
            raise ToolError("The file already has the new text; nothing would change.", hint="Go on.")
        return Match(((start, end, fitted),), f"matched {_range(first + 1, stop)} {what}")
    return None


def _alike(text: str, old: str, new: str) -> Match | None:
    """Match the only lines that are nearly those, and tell what was different about them."""
    lines, wanted = text.split("\n"), old.removesuffix("\n").split("\n")
    near = nearest(lines, wanted, most=2)
    if not near or len(old) > _COMPARED or (len(near) > 1 and near[1].ratio >= ALIKE):
        return None
    found = lines[near[0].first - 1 : near[0].last]
    ratio = difflib.SequenceMatcher(None, "\n".join(found), "\n".join(wanted), autojunk=False).ratio()
    if ratio < ALIKE:
        return None
    start = sum(len(line) + 1 for line in lines[: near[0].first - 1])
    end = start + len("\n".join(found))
    if old.endswith("\n"):
        end = min(end + 1, len(text))
    if text[start:end] == new:
        raise ToolError("The file already has the new text; nothing would change.", hint="Go on.")
    other = [mine for mine, theirs in zip(found, wanted, strict=True) if mine != theirs]
    told = "\n".join(f"  {line}" for line in other[:_TOLD]) + ("\n  …" if len(other) > _TOLD else "")
    note = f"took {_range(near[0].first, near[0].last)}, {ratio:.0%} alike; these lines were other than quoted:\n{told}"
    return Match(((start, end, new),), note)


# --- errors ---------------------------------------------------------------------------------------


def _ambiguous(numbers: Sequence[int], where: str, what: str) -> MatchError:
    listed = ", ".join(map(str, numbers[:_LISTED])) + (" …" if len(numbers) > _LISTED else "")
    apart = f" ({what.split(';', 1)[0]})" if what else ""
    return MatchError(
        f"`old_string` is in {where} {len(numbers)} times{apart}: at lines {listed}.",
        hint="Add neighbouring lines until only one place fits"
        + ("." if what else ", or set replace_all to change every one."),
    )


def _not_found(text: str, old: str, where: str) -> MatchError:
    lines, wanted = text.split("\n"), old.removesuffix("\n").split("\n")
    near = nearest(lines, wanted)
    if not near:
        return MatchError(
            f"`old_string` is not in {where}, and nothing like it.",
            hint="Read the file again and quote it exactly; it may have been changed, or be another file.",
        )
    best = near[0]
    others = "".join(f", {_range(each.first, each.last)} ({each.ratio:.0%})" for each in near[1:])
    return MatchError(
        f"`old_string` is not in {where}; most alike: {_range(best.first, best.last)} ({best.ratio:.0%}){others}.",
        hint=f"Quote them as they are:\n{show_lines(lines, best.first, best.last)}",
    )


def _range(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}–{last}"
