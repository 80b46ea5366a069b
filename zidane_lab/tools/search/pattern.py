r"""Regular expressions, read once and written for two engines, so that both match the same lines.

The language is the common part of Rust's and Python's: literals, ``.``, ``[…]``, groups, ``|``, ``* + ? {n,m}`` greedy
or lazy, ``^ $ \b \B``, ``\d \w \s`` and their opposites, ``\p{L}`` by general category, POSIX classes, ``(?i)``.
Look-around and backreferences are refused by name. A pattern matches within a line, but for ``\n``, which is a line's
end: a match spans lines where it says so, and nowhere else. A carriage return before the line's end does not count.
Meanings are those of Rust's ``regex`` crate, documented at docs.rs/regex.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from zidane_lab.errors import ToolError
from zidane_lab.tools.search.classes import POSIX, Class, class_escape, write_char

__all__ = ["Pattern", "read_pattern"]

_MOST_REPEATS: Final = 1_000
_MOST_COST: Final = 20_000
"""A bound for what counted repetitions multiply to; both engines unroll them."""

_COUNT: Final = re.compile(r"\{(\d{1,9})(?:(,)(\d{1,9})?)?\}")
_CONTROL: Final = {"a": "\a", "f": "\f", "t": "\t", "r": "\r", "v": "\v"}
_HEX: Final = {"x": 2, "u": 4, "U": 8}
_HEX_DIGITS: Final = re.compile(r"[0-9A-Fa-f]+")
_NAMED_GROUP: Final = re.compile(r"\(\?P?<([A-Za-z_]\w*)>")
_FLAGS: Final = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_HALF: Final = re.compile("[\ud800-\udfff]")
_LOOKS: Final = {"(?=": "look-ahead", "(?!": "look-ahead", "(?<=": "look-behind", "(?<!": "look-behind"}


class _BrokenError(Exception):
    """The text is no regular expression."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern in both languages.

    Parameters
    ----------
    rust
        For ripgrep.
    python
        For ``re``; a NUL and a letter stand for a class of characters (:func:`zidane_lab.tools.search.worker.expand`).
    ignore_case
        Whether capitals do not matter.
    needed
        Text that is in every matching line, where one is known; empty otherwise.
    repaired
        Why the text was taken as plain text instead of an expression.
    spans
        Whether it has a line's end in it.
    """

    rust: str
    python: str
    ignore_case: bool = False
    needed: str = ""
    repaired: str | None = None
    spans: bool = False


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a pattern: ``exact`` is the only text it matches, if there is one; ``needed`` is in all it matches."""

    rust: str
    python: str
    cost: int = 1
    exact: str | None = None
    needed: str = ""
    single: bool = False


def read_pattern(text: str, *, ignore_case: bool = False, literal: bool = False) -> Pattern:
    """Read a pattern.

    What is no expression (a bracket left open, say) is taken as plain text, and ``repaired`` says so.

    Raises
    ------
    ToolError
        It is empty, or uses what is not supported; the message names it.
    """
    text = text.replace("\r\n", "\n")
    if not text.strip("\n"):
        what = "is empty" if not text else "has nothing but line ends in it"
        raise ToolError(f"The pattern {what}.", hint="Give something to look for.")
    if "\0" in text or _HALF.search(text):
        raise ToolError("The pattern has characters that are in no text.", hint="Look for something else.")
    repaired = None
    if not literal and text.startswith("(?i)") and len(text) > 4:
        text, ignore_case = text[4:], True
    if not literal:
        try:
            return _Reader(text, ignore_case=ignore_case).read()
        except _BrokenError as error:
            repaired = str(error)
        except RecursionError:
            raise ToolError("The pattern is nested too deeply.", hint="Use a simpler one.") from None
    pieces = [_LINE_END if char == "\n" else _literal(char) for char in text]
    rust, python = "".join(each.rust for each in pieces), "".join(each.python for each in pieces)
    needed = max(text.split("\n"), key=len)
    return Pattern(rust, python, ignore_case, needed, repaired, spans="\n" in text)


class _Reader:
    """Recursive descent over the text of a pattern."""

    def __init__(self, text: str, *, ignore_case: bool) -> None:
        self._text, self._at = text, 0
        self._spans = False
        self._base = self._ignore_case = ignore_case

    def read(self) -> Pattern:
        piece = self._alternatives()
        if self._at < len(self._text):
            raise _BrokenError("a `)` closes nothing")
        return Pattern(piece.rust, piece.python, self._base, piece.needed, spans=self._spans)

    def _alternatives(self) -> _Piece:
        pieces = [self._sequence()]
        while self._take("|"):
            pieces.append(self._sequence())
        if len(pieces) == 1:
            return pieces[0]
        cost = sum(piece.cost for piece in pieces)
        return _Piece("|".join(each.rust for each in pieces), "|".join(each.python for each in pieces), cost)

    def _sequence(self) -> _Piece:
        rust, python, cost = "", "", 0
        run, needed, exact = "", "", True
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            piece = self._cased(self._repeated(self._atom()))
            rust, python, cost = rust + piece.rust, python + piece.python, cost + piece.cost
            if piece.exact is not None:
                run += piece.exact
            else:
                needed = max(needed, run, piece.needed, key=len)
                run, exact = "", False
            if cost > _MOST_COST:
                raise ToolError("The pattern's repetitions multiply to too much.", hint="Use smaller counts.")
        return _Piece(rust, python, cost, run if exact else None, max(needed, run, key=len))

    def _cased(self, piece: _Piece) -> _Piece:
        """Wrap a part for which capitals matter differently than for the whole."""
        if self._ignore_case == self._base or not piece.rust:
            return piece
        flag = "i" if self._ignore_case else "-i"
        return _Piece(f"(?{flag}:{piece.rust})", f"(?{flag}:{piece.python})", piece.cost, single=True)

    def _repeated(self, piece: _Piece) -> _Piece:
        while True:
            count = _COUNT.match(self._text, self._at)
            char = self._text[self._at : self._at + 1]
            if count:
                low = int(count[1])
                high = int(count[3]) if count[3] else (None if count[2] else low)
                mark, self._at = count[0], count.end()
                if max(low, high or 0) > _MOST_REPEATS:
                    raise ToolError(f"{mark} repeats more than {_MOST_REPEATS} times.", hint="Use smaller counts.")
                if high is not None and low > high:
                    raise _BrokenError(f"{mark} counts down")
            elif char and char in "*+?":
                low, high = (1 if char == "+" else 0), (1 if char == "?" else None)
                mark = char
                self._at += 1
            else:
                return piece
            lazy = "?" if self._take("?") else ""
            rust, python = (piece.rust, piece.python) if piece.single else (f"(?:{piece.rust})", f"(?:{piece.python})")
            cost = piece.cost * max(low, high or 1, 1)
            needed = (piece.exact or piece.needed) if low else ""
            piece = _Piece(f"{rust}{mark}{lazy}", f"{python}{mark}{lazy}", cost, needed=needed)

    def _atom(self) -> _Piece:
        char = self._text[self._at]
        if char == "(":
            return self._group()
        self._at += 1
        match char:
            case ".":
                return _Piece(r"[^\r\n]", r"[^\r\n\ud800-\udfff]", 20, single=True)
            case "^":
                return _START
            case "$":
                return _END
            case "\n":
                return self._line_end()
            case "[":
                return self._class()
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise _BrokenError(f"`{char}` repeats nothing")
            case _:
                return _literal(char)

    def _group(self) -> _Piece:
        for start, name in _LOOKS.items():
            if self._text.startswith(start, self._at):
                _refuse(f"{name} (`{start}…)`)")
        outer = self._ignore_case
        named = _NAMED_GROUP.match(self._text, self._at)
        flags = _FLAGS.match(self._text, self._at)
        if named:
            self._at = named.end()
        elif flags:
            self._at = flags.end()
            self._set_flags(flags[1], flags[2] or "")
            if flags[3] == ")":
                if not flags[1] and not flags[2]:
                    raise _BrokenError("`(?)` says nothing")
                return _Piece("", "", 0, exact="")
        elif self._text.startswith("(?", self._at):
            _refuse(f"`{self._text[self._at : self._at + 3]}`")
        else:
            self._at += 1
        inner = self._alternatives()
        if not self._take(")"):
            raise _BrokenError("a `(` is not closed")
        self._ignore_case = outer
        return _Piece(f"(?:{inner.rust})", f"(?:{inner.python})", inner.cost, inner.exact, inner.needed, single=True)

    def _set_flags(self, on: str, off: str) -> None:
        for flag in on + off:
            if flag not in "imsu" or (flag in off and flag in "mu"):
                _refuse(f"the flag `{flag}`")
        if "i" in on:
            self._ignore_case = True
        if "i" in off:
            self._ignore_case = False

    def _escape(self) -> _Piece:
        char = self._text[self._at : self._at + 1]
        if not char:
            raise _BrokenError("it ends in a backslash")
        if (found := class_escape(self._text, self._at)) is not None:
            members, self._at = found
            return _class_piece(members)
        if self._text.startswith("b{", self._at):
            _refuse(r"`\b{…}`")
        if (piece := _ASSERTIONS.get(char)) is None:
            escaped = self._escaped_char()
            return self._line_end() if escaped == "\n" else _literal(escaped)
        self._at += 1
        return piece

    def _line_end(self) -> _Piece:
        self._spans = True
        return _LINE_END

    def _escaped_char(self, *, in_class: bool = False) -> str:
        """Read one character after a backslash; in a class a NUL may stand, it is never met."""
        char = self._text[self._at : self._at + 1]
        if not char:
            raise _BrokenError("it ends in a backslash")
        self._at += 1
        if char in _CONTROL:
            return _CONTROL[char]
        if char in _HEX:
            return self._hex(char, in_class=in_class)
        if char == "n":
            return "\n"
        if char.isdigit():
            _refuse(f"a backreference (`\\{char}`)")
        if char.isascii() and char.isalpha():
            _refuse(f"`\\{char}`")
        return char

    def _hex(self, kind: str, *, in_class: bool) -> str:
        if self._take("{"):
            end = self._text.find("}", self._at)
            digits = self._text[self._at : end] if end > 0 else ""
            self._at = end + 1
        else:
            digits = self._text[self._at : self._at + _HEX[kind]]
            self._at += len(digits)
            digits = digits if len(digits) == _HEX[kind] else ""
        if not _HEX_DIGITS.fullmatch(digits):
            raise _BrokenError(f"`\\{kind}` needs hexadecimal digits")
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise _BrokenError(f"there is no character {digits}")
        if not code and not in_class:
            raise ToolError("The pattern has characters that are in no text.", hint="Look for something else.")
        return chr(code)

    def _class(self) -> _Piece:
        """Read ``[…]`` after its bracket."""
        members = Class(negated=self._take("^"))
        first = True
        while first or self._text[self._at : self._at + 1] != "]":
            first = False
            if self._at >= len(self._text):
                raise _BrokenError("a `[` is not closed")
            self._member(members)
        self._at += 1
        return _class_piece(members)

    def _member(self, members: Class) -> None:
        if self._text.startswith("[:", self._at):
            end = self._text.find(":]", self._at)
            name = self._text[self._at + 2 : end] if end > 0 else ""
            if name.removeprefix("^") in POSIX:
                members.add_ranges(POSIX[name.removeprefix("^")], opposite=name.startswith("^"))
                self._at = end + 2
                return
        two = self._text[self._at : self._at + 2]
        if two in {"&&", "--", "~~"} or two.startswith("["):
            _refuse(f"`{two[:1] if two.startswith('[') else two}` inside `[…]` (escape it by a backslash)")
        if two.startswith("\\") and (found := class_escape(self._text, self._at + 1)) is not None:
            inner, self._at = found
            members.add(inner)
            return
        low = self._one()
        following = self._text[self._at + 1 : self._at + 2]
        if self._text.startswith("-", self._at) and following and following != "]":
            self._at += 1
            if self._text.startswith("\\", self._at) and class_escape(self._text, self._at + 1):
                raise _BrokenError("a range ends in a class")
            high = self._one()
            if low > high:
                raise _BrokenError(f"the range {low}-{high} runs backwards")
            members.add_ranges(((ord(low), ord(high)),))
        else:
            members.add_ranges(((ord(low), ord(low)),))

    def _one(self) -> str:
        char = self._text[self._at : self._at + 1]
        self._at += 1
        if char == "\\":
            if self._text.startswith("b", self._at):
                _refuse(r"`\b` inside `[…]`")
            return self._escaped_char(in_class=True)
        return char

    def _take(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        self._at += len(text) * found
        return found


def _literal(char: str) -> _Piece:
    return _Piece(write_char(char, "rust"), write_char(char, "python"), 1, char, char, single=True)


def _class_piece(members: Class) -> _Piece:
    return _Piece(members.rust(), members.python(), members.cost, single=True)


def _refuse(what: str) -> NoReturn:
    raise ToolError(
        f"{what} is not supported in a pattern.",
        hint="Search for something simpler, and filter what is found; or set `literal` for plain text.",
    )


_LINE_END: Final = _Piece(r"(?:\r?\n)", r"(?:\r?\n)", 2, single=True)
_EDGE: Final = _Piece(r"\b", "\0b", 50)
_START: Final = _Piece("^", "^", 0)
_END: Final = _Piece(r"(?:\r?$)", r"(?:\r?(?=\n|\Z))", 1, single=True)
_ASSERTIONS: Final = {
    "b": _EDGE,
    "<": _EDGE,
    ">": _EDGE,
    "B": _Piece(r"\B", "\0B", 50),
    "A": _START,
    "z": _END,
    "Z": _END,
}
r"""Escapes that stand for a place; ``\<`` and ``\>`` are the edges of a word elsewhere."""
