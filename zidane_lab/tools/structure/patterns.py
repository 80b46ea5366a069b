"""Patterns and rewrites as texts: which parts of them stand for code that is found.

``$NAME`` stands for one node, ``$$$NAME`` for any number of them in a row; ``$_`` and ``$$$`` (and names that begin
with ``_``) stand for code that is not captured. A name that comes twice in a pattern must be the same code.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.text import to_lf
from zidane_lab.tools.structure.languages import Language

__all__ = ["MOST_CHARS", "Hole", "Pattern", "Rule", "read_pattern", "read_rules"]

MOST_CHARS: Final = 10_000
"""Longest pattern or rewrite: the library's stack ends somewhere behind it."""

_VARIABLE: Final = re.compile(r"(?P<many>\$\$\$)(?P<rest>[A-Z_][A-Z0-9_]*)?|\$\$?(?P<one>[A-Z_][A-Z0-9_]*)")
_INDENT: Final = re.compile(r"[ \t]*")
_WORD: Final = re.compile(r"[A-Za-z0-9_]{3,}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is looked for.

    Parameters
    ----------
    text
        The pattern.
    word
        A word that is in every text it fits; empty if there is none.
    ones, many
        Names captured from it: of one node each, and of any number.
    tight
        Names of ``many`` that touch what stands before them, and those that touch what stands behind: the white space
        there belongs to the capture (as in ``f($$$ARGS)``, where the arguments may begin on a new line).
    """

    text: str
    word: str = ""
    ones: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    tight: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Hole:
    """A place in a rewrite for a capture: its name with the dollars, and the indentation of its line."""

    name: str
    indent: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and what is put in its place: text and holes in turn. None at all deletes."""

    pattern: Pattern
    rewrite: str
    parts: tuple[str | Hole, ...]


def read_pattern(text: str) -> Pattern:
    """Read a pattern.

    Raises
    ------
    ToolError
        It is empty, or too long.
    """
    text = to_lf(text).strip()
    if not text:
        raise ToolError("The pattern is empty.", hint="Give code, with $NAME for what may be anything: `print($X)`.")
    _check(text, "pattern")
    ones: list[str] = []
    many: list[str] = []
    left, right = set(), set()
    for found in _VARIABLE.finditer(text):
        name = found["rest"] if found["many"] else found["one"]
        if name is None or name.startswith("_"):
            continue
        (many if found["many"] else ones).append(name)
        if found["many"] and text[: found.start()][-1:].strip():
            left.add(name)
        if found["many"] and text[found.end() :][:1].strip():
            right.add(name)
    word = max(_WORD.findall(_VARIABLE.sub(" ", text)), key=len, default="")
    return Pattern(text, word, _once(ones), _once(many), (frozenset(left), frozenset(right)))


def read_rules(ops: Sequence[tuple[str, str]], language: Language) -> tuple[Rule, ...]:
    """Read patterns with their rewrites; they come in the order of their patterns.

    Raises
    ------
    ToolError
        There are none, one is empty or comes twice, or a rewrite names what its pattern does not capture.
    """
    if not ops:
        raise ToolError("There are no ops.", hint="Give at least one with pattern and rewrite.")
    rules = sorted((_rule(pattern, rewrite, language) for pattern, rewrite in ops), key=lambda each: each.pattern.text)
    for one, other in itertools.pairwise(rules):
        if one.pattern.text == other.pattern.text:
            raise ToolError(f"The pattern {one.pattern.text!r} comes twice.", hint="Give each pattern one rewrite.")
    return tuple(rules)


def _rule(text: str, rewrite: str, language: Language) -> Rule:
    pattern, rewrite = read_pattern(text), to_lf(rewrite)
    _check(rewrite, "rewrite")
    if not rewrite.strip():
        return Rule(pattern, "", ())
    captured = {*(f"${name}" for name in pattern.ones), *(f"$$${name}" for name in pattern.many)}
    parts: list[str | Hole] = []
    at = 0
    for found in _VARIABLE.finditer(rewrite):
        if found[0] in captured:
            line = rewrite[rewrite.rfind("\n", 0, found.start()) + 1 :]
            parts += [rewrite[at : found.start()], Hole(found[0], _indent(line))]
            at = found.end()
        elif not language.has_dollars:
            _refuse(found[0], captured, pattern.text)
    return Rule(pattern, rewrite, (*parts, rewrite[at:]))


def _refuse(name: str, captured: set[str], pattern: str) -> None:
    near = [each for each in captured if each.lstrip("$") == name.lstrip("$")]
    hint = (
        f"Write {near[0]}, as the pattern does."
        if near
        else f"It captures: {', '.join(sorted(captured)) or 'nothing'}."
    )
    raise ToolError(f"The rewrite of {pattern!r} names {name}, which the pattern does not capture.", hint=hint)


def _check(text: str, what: str) -> None:
    if len(text) > MOST_CHARS:
        raise ToolError(f"The {what} has {len(text):,} characters.", hint=f"Use at most {MOST_CHARS:,}.")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise ToolError(f"The {what} holds half of a surrogate pair, no character.", hint="Leave it out.") from None


def _indent(line: str) -> str:
    found = _INDENT.match(line)
    return found[0] if found else ""


def _once(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
