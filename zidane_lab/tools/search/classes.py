r"""Classes of characters in two languages: ``[a-z]``, ``\w``, ``\p{Lu}``, ``[[:alpha:]]``.

For Python's ``re`` a class that depends on Unicode's tables stands as NUL, a letter and, for general categories, the
name in braces; the worker puts the ranges there, because only it needs them. A line feed and a lone surrogate (a
byte that is not UTF-8) belong to no class, as in a line-wise search by bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from zidane_lab.errors import ToolError

__all__ = ["POSIX", "Class", "class_escape", "write_char"]

Language: TypeAlias = Literal["rust", "python"]

POSIX: Final[dict[str, tuple[tuple[int, int], ...]]] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((1, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((1, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
"""ASCII only, as in Rust; NUL is left out, it is not in text."""

_CATEGORIES: Final = frozenset(
    {"L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe"}
    | {"Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp"}
)
_PROPERTY: Final = re.compile(r"([pP])(?:\{(\^?)(\w+)\}|([A-Z]))")
_LAST: Final = 0x10FFFF
_TABLE_COST: Final = 50


@dataclass(slots=True)
class Class:
    """The members of a class, gathered one after another."""

    negated: bool = False
    cost: int = 1
    _rust: list[str] = field(default_factory=list)
    _python: list[str] = field(default_factory=list)
    _holds_line_feed: bool = False

    def add_ranges(self, ranges: Iterable[tuple[int, int]], *, opposite: bool = False) -> None:
        """Add characters by number, or all but them."""
        ranges = _others(ranges) if opposite else tuple(ranges)
        for low, high in ranges:
            self._holds_line_feed |= low <= 10 <= high
            for language, out in (("rust", self._rust), ("python", self._python)):
                start = _write_code(low, language)  # type: ignore[arg-type]
                end = _write_code(high, language)  # type: ignore[arg-type]
                out.append(start if low == high else f"{start}-{end}")

    def add_table(self, rust: str, python: str) -> None:
        """Add a class that is defined by Unicode's tables."""
        self._rust.append(rust)
        self._python.append(python)
        self.cost = _TABLE_COST

    def add(self, other: Class) -> None:
        """Add all that another class has."""
        self._rust += other._rust
        self._python += other._python
        self._holds_line_feed |= other._holds_line_feed
        self.cost = max(self.cost, other.cost)

    def rust(self) -> str:
        """Write it for Rust; a negated one has no line ends."""
        body = "".join(self._rust)
        return f"[^{body}\\r\\n]" if self.negated else f"[{body}]"

    def python(self) -> str:
        """Write it for Python."""
        body = "".join(self._python)
        if self.negated:
            return f"[^{body}\\r\\n\\ud800-\\udfff]"
        return f"(?:(?![\\n\\ud800-\\udfff])[{body}])" if self._holds_line_feed else f"[{body}]"


def class_escape(text: str, at: int) -> tuple[Class, int] | None:
    r"""Read ``d``, ``W``, ``p{Lu}`` … after a backslash; return the class and the index behind it.

    Raises
    ------
    ToolError
        It is a property of Unicode other than a general category.
    """
    members = Class()
    char = text[at : at + 1]
    if char and char in "dDsSwW":
        members.add_table(f"\\{char}", f"\0{char}")
        return members, at + 1
    if char and char in "pP":
        found = _PROPERTY.match(text, at)
        name = (found[3] or found[4]) if found else ""
        if found is None or name not in _CATEGORIES:
            known = r"general categories such as `\p{L}`, `\p{Lu}`, `\p{Nd}`"
            raise ToolError(f"Of Unicode's properties only {known} are supported.", hint="Write a `[…]` instead.")
        opposite = (found[1] == "P") != (found[2] == "^")
        members.add_table(f"\\{'P' if opposite else 'p'}{{{name}}}", f"\0{'P' if opposite else 'p'}{{{name}}}")
        return members, found.end()
    return None


def write_char(char: str, language: Language) -> str:
    """Write one character so that it means itself."""
    return _write_code(ord(char), language)


def _write_code(code: int, language: Language) -> str:
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    if language == "rust":
        return f"\\x{{{code:x}}}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _others(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return all characters but these (surrogates are none)."""
    out, start = [], 1
    for low, high in sorted([*ranges, (0xD800, 0xDFFF)]):
        if start < low:
            out.append((start, low - 1))
        start = max(start, high + 1)
    if start <= _LAST:
        out.append((start, _LAST))
    return tuple(out)
