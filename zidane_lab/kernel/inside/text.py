"""Bounded text: cutting, one line, sizes, and the page a description is written on.

Names, strings and documentation of a user's objects are untrusted: whatever is not printable (line breaks,
terminal codes, lone surrogates, writing-direction marks) is shown escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["CELLS", "Page", "amount", "clip", "first_line", "join", "listing", "megabytes", "one_line", "plain"]

CELLS = 2_000_000
"""Cells of data one description may read to count or to find a range (some 10 to 20 ms of work)."""

_CLOSING = 48
"""Characters a listing keeps free for its closing line."""


def clip(text: str, width: int) -> str:
    """Cut ``text`` to at most ``width`` characters; an ellipsis tells that it was cut."""
    if len(text) <= width:
        return text
    return text[: width - 1] + "…" if width > 0 else ""


def plain(text: str) -> str:
    """Escape what is not printable, keeping line breaks and tabs; costs time by length, so cut before."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode("ascii") for char in text
    )


def one_line(text: str, width: int) -> str:
    """Return at most ``width`` printable characters on one line; runs of white space become one blank."""
    head = text[: 4 * width + 1] if width > 0 else ""
    cut = len(text) > len(head)
    return clip(plain(" ".join(head.split())) + ("…" if cut else ""), width)


def first_line(doc: object, width: int = 120) -> str:
    """Return the first non-empty line of a documentation string, or nothing when it is no plain string."""
    if type(doc) is not str:
        return ""
    for line in doc[:2000].splitlines():
        if line.strip():
            return one_line(line, width)
    return ""


def amount(count: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun: ``1 row``, ``2,000 rows``, ``3 entries``."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def megabytes(size: float) -> str:
    """Return a number of bytes for people: decimal units, three figures."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}" if unit != "bytes" else f"{int(size)} bytes"
        size /= 1000
    return f"{size:,.3g} TB" if size < 1000 else f"{size:,.0f} TB"


def join(parts: Iterable[str], width: int, separator: str = ", ") -> str:
    """Join parts while they fit in ``width``; an ellipsis stands for the rest. Takes no more parts than fit."""
    out: list[str] = []
    used = 0
    for part in parts:
        used += len(part) + len(separator)
        if used > width + len(separator) and out:
            out.append("…")
            break
        out.append(part)
    return clip(separator.join(out), width)


class Page:
    """What one description may still spend: characters to write and cells of data to read.

    Parameters
    ----------
    budget
        Characters the whole text may have.
    cells
        Cells of data that may be read in all.
    """

    def __init__(self, budget: int, cells: int = CELLS) -> None:
        self.budget = budget
        self.cells = cells
        self._notice = f"… cut at {budget:,} characters"
        self._lines: list[str] = []
        self.room = budget - len(self._notice) - 1

    def afford(self, cells: int) -> bool:
        """Whether so many cells may still be read; if so they count as read."""
        if cells > self.cells:
            return False
        self.cells -= cells
        return True

    def write(self, lines: Iterable[str]) -> None:
        """Write lines while they fit; no line after the first that does not fit is even asked for."""
        for line in lines:
            if len(line) + 1 > self.room:
                self._lines.append(clip(line, max(self.room - 1, 0)))
                self._lines.append(self._notice)
                return
            self._lines.append(line)
            self.room -= len(line) + 1

    def text(self) -> str:
        """Return what was written, never longer than the budget."""
        return clip("\n".join(line for line in self._lines if line), self.budget)


def listing(
    page: Page, lines: Iterable[str], total: int, noun: str, *, plural: str = "", share: float = 1.0
) -> Iterator[str]:
    """Yield lines while the page has room, then one that counts those left out.

    Parameters
    ----------
    total
        How many lines there are in all; they need not be produced to be counted.
    noun
        What a line stands for; ``plural`` where it is not made by adding an s.
    share
        Part of the page's present room this list may take.
    """
    floor = page.room * (1 - share) + _CLOSING
    shown = 0
    for line in lines:
        if page.room - len(line) - 1 < floor and shown < total - 1:
            break
        yield line
        shown += 1
    if shown < total:
        yield f"  … {amount(total - shown, f'more {noun}', plural and f'more {plural}')}"
