"""Numbers, names and lists as the offline planner writes them.

One rule for each kind of number, so that every figure in a report can be traced to a tool's result:

- counts and other whole numbers are exact, grouped by thousands from 10,000 on;
- other numbers keep three significant digits, and no decimals from 1,000 on;
- coefficients without a unit (correlations, η², V, skew) have three decimals;
- shares (0 to 1 in the results) become percentages with one decimal; what would round to nothing or to
  everything without being it is written ``<0.1%`` or ``>99.9%``.

Names, levels and messages come from data and are untrusted: :func:`name` and :func:`quote` make them harmless
in Markdown, whatever they hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

__all__ = [
    "chunks",
    "clip",
    "coefficient",
    "interval",
    "joined",
    "moment",
    "name",
    "names",
    "number",
    "quote",
    "share",
    "table",
]

_PLAIN: Final = re.compile(r"[\w%()/:;,.'\"=+#&@?!*-]+(?: [\w%()/:;,.'\"=+#&@?!*-]+)*")
"""What may stand in a code span as it is: no backtick, pipe, dollar, backslash, angle or square bracket."""

_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]()<>#+\-.!|~$&:@\"']")

_LONGEST_NAME: Final = 60


def number(value: float | None) -> str:
    """Write a number: a whole one exactly, a measurement to three significant digits.

    Examples
    --------
    >>> [number(value) for value in (344, 12345, 43.9219, 0.58, 4201.754, 0.000123, None)]
    ['344', '12,345', '43.9', '0.580', '4202', '0.000123', 'n/a']
    """
    if value is None or math.isnan(value):
        return "n/a"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    size = abs(value)
    if size >= 1e15:
        return f"{value:.3g}"
    if value == int(value) or size >= 999.5:
        return f"{value:,.0f}" if size >= 9_999.5 else f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".")


def coefficient(value: float | None) -> str:
    """Write a number without a unit to three decimals.

    Examples
    --------
    >>> [coefficient(value) for value in (0.87123, -0.00004, None)]
    ['0.871', '0.000', 'n/a']
    """
    if value is None or not math.isfinite(value):
        return "n/a"
    text = f"{value:.3f}"
    return text.removeprefix("-") if float(text) == 0 else text


def share(value: float | None) -> str:
    """Write a share (0 to 1) as a percentage.

    Examples
    --------
    >>> [share(value) for value in (0.0, 0.0001, 0.00581, 0.9999, 1.0)]
    ['0%', '<0.1%', '0.6%', '>99.9%', '100%']
    """
    if value is None or math.isnan(value):
        return "n/a"
    if value in (0, 1):
        return f"{value:.0%}"
    if value < 0.001:
        return "<0.1%"
    if value > 0.999:
        return ">99.9%"
    return f"{value:.1%}"


def clip(text: str, most: int = _LONGEST_NAME) -> str:
    """Make ``text`` one line of at most ``most`` characters, ending in an ellipsis if it was longer."""
    line = "".join(char if char.isprintable() else " " for char in text)
    return line if len(line) <= most else line[: most - 1] + "…"


def quote(text: str, most: int = _LONGEST_NAME) -> str:
    """Return untrusted text for the running text of Markdown: every character that could mean something escaped."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", clip(text, most))


def name(label: object) -> str:
    """Return a column, level or table name for Markdown: a code span if it is harmless there, else quoted text."""
    text = clip(str(label))
    return f"`{text}`" if _PLAIN.fullmatch(text) else f"“{quote(text)}”"


def joined(parts: Sequence[str]) -> str:
    """Join phrases as in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def names(labels: Iterable[object], most: int = 8) -> str:
    """Name several columns; past ``most`` the rest are ``others``."""
    written = [name(label) for label in labels]
    return joined(written if len(written) <= most else [*written[:most], "others"])


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table: the first ``left`` columns to the left, the others to the right."""
    lines = [header, [*["---"] * left, *["---:"] * (len(header) - left)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def moment(text: str) -> str:
    """Write a moment as its day when it is midnight, else to the second."""
    match = re.match(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d))?", text)
    if match is None:
        return quote(text)
    return match[1] if match[2] in (None, "00:00:00") else f"{match[1]} {match[2]}"


def interval(text: str) -> str:
    """Write a length of time, from either of Python's or pandas' spelling.

    Examples
    --------
    >>> [interval(text) for text in ("1 days 00:00:00", "2 days, 6:00:00", "0:30:05", "NaT")]
    ['1 day', '2 days 6 h', '30 min 5 s', 'n/a']
    """
    match = re.fullmatch(r"(?:(\d+) days?,? ?)?(?:(\d+):(\d\d):(\d\d)(?:\.\d+)?)?", text.strip())
    if match is None:
        return "n/a"
    counts = [int(group or 0) for group in match.groups()]
    units = ("day" if counts[0] == 1 else "days", "h", "min", "s")
    parts = [f"{count:,} {unit}" for count, unit in zip(counts, units, strict=True) if count]
    return " ".join(parts) if parts else "less than a second" if any(match.groups()) else "n/a"


def chunks(text: str, size: int = 24) -> Iterator[str]:
    """Cut text into pieces of about ``size`` characters, at spaces and line ends, that join to the text again."""
    start = 0
    while start < len(text):
        end = start + size
        while end < len(text) and not text[end - 1].isspace() and end - start < 4 * size:
            end += 1
        yield text[start:end]
        start = end
