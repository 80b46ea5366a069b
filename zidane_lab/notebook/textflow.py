"""Streaming text as a few displays: what to send, and when.

Sending a growing text again and again is quadratic, and a page that renders 200 KB of Markdown stands still
for a second. So text is cut into pieces: only the last piece is ever updated, as plain text; once a
paragraph or fence ends near the piece's size it is frozen, sent one last time as Markdown, and never again.

Pacing, all in bytes of text: a piece is frozen near ``total / 16``, at least 1 KB and at most 16 KB, so short
answers come in small steps and long ones in few; a fence that goes on for 6 KB is closed and opened again. An
update of ``n`` bytes may follow the last one after ``max(100 ms, 10 ms per KB)`` and, as provisional sends use up
their allowance of 100 KB, ever later: the whole of a 200 KB answer stays below three times its text. This module
is pure: the clock is an argument.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Piece", "TextFlow"]

LARGEST: Final = 16_000
SMALLEST: Final = 1_000
ENDLESS: Final = 6_000
"""A fence or paragraph that finds no end is cut at this length (or twice the size aimed at, if that is more)."""
ALLOWANCE: Final = 100_000
MESSAGE: Final = 700
"""Bytes of a message around its text (headers, ids, keys), counted into the allowance."""
RATE: Final = 10_000
"""Provisional bytes per second while the allowance is untouched."""

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$")
_CONTINUES: Final = re.compile(r"^(?:[ \t]|[-*+] |\d{1,9}[.)] |\||>)")


@dataclass(frozen=True, slots=True)
class Piece:
    """Something to show: the whole text of display ``number``; ``frozen`` when it is final."""

    number: int
    text: str
    frozen: bool


class TextFlow:
    """Turns text deltas of one block into pieces to show."""

    def __init__(self) -> None:
        self._tail = ""
        self._number = 0
        self._total = 0
        self._spent = 0
        self._searched = 0
        self._sent: str | None = None
        self._last = float("-inf")

    @property
    def empty(self) -> bool:
        """Whether nothing was fed."""
        return self._total == 0

    def feed(self, text: str) -> None:
        """Add text."""
        self._tail += text
        self._total += len(text.encode("utf-8", "replace"))

    def due(self, now: float) -> float | None:
        """Return in how many seconds the next :meth:`take` has something to show; ``None`` when it has not."""
        if self._cut() is not None:
            return 0.0
        if self._tail == (self._sent or ""):
            return None
        return max(0.0, self._last + self._interval() - now)

    def take(self, now: float) -> list[Piece]:
        """Return what to show now; call it when :meth:`due` says so."""
        pieces: list[Piece] = []
        while (cut := self._cut()) is not None:
            pieces.append(self._freeze(*cut))
        if self._tail != (self._sent or "") and self._last + self._interval() <= now:
            pieces.append(Piece(self._number, self._tail, frozen=False))
            self._spent += len(self._tail.encode("utf-8", "replace")) + MESSAGE
            self._sent, self._last = self._tail, now
        return pieces

    def finish(self) -> list[Piece]:
        """Freeze what is left; the flow is empty afterwards."""
        pieces: list[Piece] = []
        while (cut := self._cut()) is not None:
            pieces.append(self._freeze(*cut))
        if self._tail.strip() or self._sent is not None:
            pieces.append(Piece(self._number, self._tail, frozen=True))
            self._number += 1
        self._tail, self._sent = "", None
        return pieces

    def _interval(self) -> float:
        size = len(self._tail) + MESSAGE
        left = max(1e-6, 1 - self._spent / ALLOWANCE)
        return max(0.1, 0.010 * len(self._tail) / 1000, size / (RATE * left) - MESSAGE / RATE)

    def _freeze(self, text: str, rest: str) -> Piece:
        piece = Piece(self._number, text, frozen=True)
        self._tail, self._sent, self._searched = rest, None, 0
        self._number += 1
        return piece

    def _cut(self) -> tuple[str, str] | None:
        """Split the tail at its best border, if it is long enough to be frozen."""
        target = min(LARGEST, max(SMALLEST, self._total // 16))
        endless = max(ENDLESS, 2 * target)
        if len(self._tail) < target or (len(self._tail) < endless and "\n" not in self._tail[self._searched :]):
            return None  # too short, or no new line since there was no border
        border, fence = _border(self._tail, target)
        if border is not None:
            return self._tail[:border].rstrip("\n") + "\n", self._tail[border:]
        # The last line may be the first of a block once it is complete, so it is looked at again.
        self._searched = self._tail.rfind("\n") + 1
        if len(self._tail) < endless:
            return None
        if fence is not None:  # one long fence: close it here, open it again there
            end = self._tail.rfind("\n", 0, endless) + 1 or endless
            marks, info = fence
            return f"{self._tail[:end].rstrip()}\n{marks}\n", f"{marks}{info}\n{self._tail[end:]}"
        end = max(self._tail.rfind("\n", 0, endless), self._tail.rfind(" ", 0, endless)) + 1 or endless
        return self._tail[:end], self._tail[end:]


def _border(text: str, target: int) -> tuple[int | None, tuple[str, str] | None]:
    """Find the first paragraph border at or after ``target`` (else the last before it), outside any fence.

    Returns
    -------
    border
        Offset where the next paragraph begins; ``None`` when there is none. The line after it is known to
        start a new block (it does not continue a list, a quotation, a table or indented code).
    fence
        The fence still open at the end of the text, as its marks and info string.
    """
    fence: tuple[str, str] | None = None
    best: int | None = None
    offset, blank = 0, False
    lines = text.splitlines(keepends=True)
    for line in lines:
        bare = line.rstrip("\n")
        # What a line begins with is not known before it is complete ("1" may become "1. second").
        starts_block = blank and line.endswith("\n") and bare.strip() != "" and not _CONTINUES.match(bare)
        if fence is None and starts_block and offset > 0:
            if offset >= target:
                return (offset if best is None or offset - target <= target - best else best), fence
            best = offset
        match = _FENCE.match(bare)
        if match and fence is None and "`" not in match[2]:
            fence = (match[1], match[2])
        elif match and fence is not None and match[1].startswith(fence[0]) and not match[2].strip():
            fence = None
        blank = not bare.strip()
        offset += len(line)
    return (best if best is not None and best >= target // 2 else None), fence
