"""Replacements put together: what stands in a text after its matches have been rewritten.

A match within something another one captures is rewritten first, as in ``f(f(x))``. Any other overlap is refused,
since nobody could say which of the two was meant. Lines that move to another depth are indented anew, except where
the indentation is part of a value, as in a string of several lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.text import Span
from zidane_lab.tools.structure.patterns import Hole, Rule

__all__ = ["Match", "Replacement", "rewrite_text"]

_INDENT: Final = re.compile(r"[ \t]*")
_COMMA_BEHIND: Final = re.compile(r"[ \t]*,[ \t]*")
_MOST_SPACE: Final = 1_000
"""Characters of white space beside something that stands alone on its lines."""

_OPENING: Final = {")": "(", "]": "[", "}": "{"}

_Lines: TypeAlias = list[tuple[str, bool]]
"""Lines without their ends, and of each whether its indentation must stay as it is."""


@dataclass(frozen=True, slots=True)
class Match:
    """A place where a rule fits, and the places of what it captures (``None``: nothing), in characters of the text."""

    rule: int
    start: int
    end: int
    captures: Mapping[str, tuple[int, int] | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A piece of the text, what is put in its place, and how many matches are in it."""

    start: int
    end: int
    new: str
    matches: int = 1

    @property
    def span(self) -> Span:
        """The replacement as :meth:`zidane_lab.tools.edits.text.TextFile.splice` wants it."""
        return self.start, self.end, self.new


def rewrite_text(
    text: str,
    matches: Sequence[Match],
    rules: Sequence[Rule],
    *,
    fixed: Sequence[int] = (),
    rule_fixed: Sequence[Sequence[int]] = (),
) -> list[Replacement]:
    """Return what to replace, in the order of the text; what would stay the same is left out.

    Parameters
    ----------
    text
        With LF line ends.
    fixed
        Where lines of the text begin whose indentation must stay.
    rule_fixed
        The same for the rewrite of each rule.

    Raises
    ------
    ToolError
        Two matches overlap.
    """
    writer = _Writer(text, rules, frozenset(fixed), [frozenset(each) for each in rule_fixed])
    ordered = sorted(matches, key=lambda each: (each.start, -each.end))
    inner = _nested(ordered, text, rules)
    done: dict[int, _Done] = {}
    for index in reversed(range(len(ordered))):
        children = [done.pop(each) for each in inner[index]]
        count = 1 + sum(each.matches for each in children)
        done[index] = _Done(ordered[index], writer.write(ordered[index], children), count)
    return [each for index in sorted(done) if (each := writer.replacement(done[index])) is not None]


@dataclass(frozen=True, slots=True)
class _Done:
    """A match, the lines that stand in its place, and how many matches are in it, with itself."""

    match: Match
    lines: _Lines
    matches: int


def _nested(ordered: Sequence[Match], text: str, rules: Sequence[Rule]) -> list[list[int]]:
    """Return for each match those directly in it."""
    inner: list[list[int]] = [[] for _ in ordered]
    around: list[int] = []
    for index, match in enumerate(ordered):
        while around and ordered[around[-1]].end <= match.start:
            around.pop()
        if around:
            outer = ordered[around[-1]]
            is_captured = any(
                each and each[0] <= match.start and match.end <= each[1] for each in outer.captures.values()
            )
            if not is_captured or (match.start, match.end) == (outer.start, outer.end):
                raise _overlap(outer, match, text, rules)
            inner[around[-1]].append(index)
        around.append(index)
    return inner


def _overlap(outer: Match, match: Match, text: str, rules: Sequence[Rule]) -> ToolError:
    one, other = (rules[each.rule].pattern.text for each in (outer, match))
    line = text.count("\n", 0, match.start) + 1
    piece = " ".join(text[match.start : match.end].split())[:120]
    both = f"{one!r} and {other!r} both fit" if one != other else f"{one!r} fits twice"
    return ToolError(
        f"Overlapping replacements in line {line} ({piece!r}): {both}, one inside what the other replaces.",
        hint="Refine the patterns, or make one call after the other.",
    )


class _Writer:
    """Writes the replacements of one text."""

    def __init__(
        self, text: str, rules: Sequence[Rule], fixed: frozenset[int], rule_fixed: Sequence[frozenset[int]]
    ) -> None:
        self._text, self._rules, self._fixed, self._rule_fixed = text, rules, fixed, rule_fixed
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def write(self, match: Match, children: Sequence[_Done]) -> _Lines:
        """Return the lines that stand in the place of a match."""
        rule = self._rules[match.rule]
        base = self._indent_at(match.start)
        lines: _Lines = [("", False)]
        at = skip = 0
        for index, part in enumerate(rule.parts):
            if isinstance(part, str):
                _join(
                    lines, self._literal(match.rule, part[skip:], at + skip, base, is_last=index == len(rule.parts) - 1)
                )
                at, skip = at + len(part), 0
                continue
            at += len(part.name)
            place = self._place(match, part.name)
            if place is None:
                skip = _drop_comma(lines, rule.parts[index + 1])
            else:
                inside = [each for each in children if place[0] <= each.match.start and each.match.end <= place[1]]
                moved = _indented(self._region(*place, inside), self._indent_at(place[0]), base + part.indent)
                _join(lines, moved)
        return lines

    def replacement(self, done: _Done) -> Replacement | None:
        """Return a match as a replacement in the text; ``None`` if it changes nothing."""
        start, end = done.match.start, done.match.end
        new = "\n".join(line for line, _ in done.lines)
        if new == self._text[start:end]:
            return None
        if not self._rules[done.match.rule].parts:
            start, end = self._alone(start, end)
        return Replacement(start, end, new, done.matches)

    def _literal(self, rule: int, text: str, at: int, base: str, *, is_last: bool) -> _Lines:
        """Return text of a rewrite; its lines start where the match's line does, those that hold something."""
        fixed = self._rule_fixed[rule] if rule < len(self._rule_fixed) else frozenset[int]()
        lines: _Lines = []
        whole = text.split("\n")
        for number, line in enumerate(whole):
            is_fixed = at in fixed
            holds = bool(line.strip()) or (number == len(whole) - 1 and not is_last)
            lines.append((base + line if number and holds and not is_fixed else line, is_fixed))
            at += len(line) + 1
        return lines

    def _place(self, match: Match, name: str) -> tuple[int, int] | None:
        """Return where a capture is, with the white space that belongs to it."""
        place = match.captures.get(name)
        if place is None:
            return None
        start, end = place
        if name.startswith("$$$"):
            before, behind = self._rules[match.rule].pattern.tight
            if name[3:] in before:
                start = match.start + len(self._text[match.start : start].rstrip())
            if name[3:] in behind:
                end = match.end - len(self._text[end : match.end].lstrip())
        return start, end

    def _region(self, start: int, end: int, children: Sequence[_Done]) -> _Lines:
        """Return a part of the text with the matches in it rewritten."""
        lines: _Lines = [("", False)]
        for each in sorted(children, key=lambda child: child.match.start):
            _join(lines, self._source(start, each.match.start))
            _join(lines, each.lines)
            start = each.match.end
        _join(lines, self._source(start, end))
        return lines

    def _source(self, start: int, end: int) -> _Lines:
        lines: _Lines = []
        for line in self._text[start:end].split("\n"):
            lines.append((line, start in self._fixed))
            start += len(line) + 1
        return lines

    def _indent_at(self, at: int) -> str:
        """Return the indentation of the line a place is in."""
        found = _INDENT.match(self._text, self._starts[bisect_right(self._starts, at) - 1], at)
        return found[0] if found else ""

    def _alone(self, start: int, end: int) -> tuple[int, int]:
        """Return the whole lines of a place, if nothing else is in them."""
        first = self._starts[bisect_right(self._starts, start) - 1]
        after = bisect_right(self._starts, end)
        last = self._starts[after] if after < len(self._starts) else len(self._text)
        around = (self._text[first:start], self._text[end:last])
        if max(map(len, around)) > _MOST_SPACE or any(each.strip() for each in around):
            return start, end
        return first, last


def _join(lines: _Lines, more: _Lines) -> None:
    text, is_fixed = lines[-1]
    lines[-1] = (text + more[0][0], is_fixed)
    lines += more[1:]


def _indented(lines: _Lines, old: str, new: str) -> _Lines:
    """Move lines from one depth to another; the first one stands behind something."""
    if old == new:
        return lines
    return [
        (
            line if not number or is_fixed or not line.startswith(old) or not line.strip() else new + line[len(old) :],
            is_fixed,
        )
        for number, (line, is_fixed) in enumerate(lines)
    ]


def _drop_comma(lines: _Lines, behind: str | Hole) -> int:
    """Take away the comma between an argument and the nothing that was captured.

    Only in calls: elsewhere it may mean something, as in ``(x,)``. Returns how much of what stands behind to leave out.
    """
    written = "\n".join(line for line, _ in lines)
    if not isinstance(behind, str) or not _is_in_call(written):
        return 0
    text, is_fixed = lines[-1]
    if text.rstrip().endswith("("):
        found = _COMMA_BEHIND.match(behind)
        return found.end() if found else 0
    if behind.lstrip()[:1] in {")", ","} and text.rstrip().endswith(","):
        lines[-1] = (text.rstrip()[:-1].rstrip(), is_fixed)
    return 0


def _is_in_call(text: str) -> bool:
    """Whether a text ends in the arguments of a call."""
    closed: list[str] = []
    for index in reversed(range(len(text))):
        char = text[index]
        if char in _OPENING:
            closed.append(_OPENING[char])
        elif char in _OPENING.values():
            if not closed:
                before = text[:index][-1:]
                return char == "(" and (before.isalnum() or before in {"_", ")", "]", ">", "!", "?"})
            if closed.pop() != char:
                return False
    return False
