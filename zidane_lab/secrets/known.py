"""Find known values in a text, however many there are, in the time of one pass over its bytes.

A value of ``n`` bytes covers at least one *whole* block of ``b`` bytes of any text it stands in, if ``n >= 2 b - 1``.
So the text is cut into blocks, and only values that hold one of its blocks at the right offset are searched for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

__all__ = ["SHORTEST", "KnownValues"]

SHORTEST: Final = 8
"""Characters of the shortest value that is searched for; a shorter one would be found in ordinary texts."""

_LONGEST_TOKEN: Final = 4_096
_LONGEST_WORD: Final = 64
_CODEC: Final = "surrogatepass"
_SIZES: Final = (("Q", 8, 15), ("I", 4, 7))
"""Format and bytes of a block, and of the shortest value it finds."""


class KnownValues:
    """A set of values that can be found in texts."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._blocks: dict[str, defaultdict[int, list[str]]] = {code: defaultdict(list) for code, _, _ in _SIZES}
        self._sets: dict[str, set[int]] = {code: set() for code, _, _ in _SIZES}
        self._heads: defaultdict[str, list[str]] = defaultdict(list)
        self._starts: set[str] = set()
        self._spaced = 0
        self._tails: defaultdict[str, list[str]] = defaultdict(list)

    def __contains__(self, value: str) -> bool:
        return value in self._values

    def __len__(self) -> int:
        return len(self._values)

    def add(self, value: str) -> None:
        """Take in a value of at least :data:`SHORTEST` characters."""
        if value in self._values or len(value) < SHORTEST:
            return
        data = value.encode("utf-8", _CODEC)
        code, size, _ = next(each for each in _SIZES if len(data) >= each[2])
        blocks = self._blocks[code]
        for offset in range(size):
            (block,) = memoryview(data[offset : offset + size]).cast(code)  # type: ignore[call-overload]  # one of two
            if value not in blocks[block]:
                blocks[block].append(value)
            self._sets[code].add(block)
        if not value.isalpha():  # of a word, a part is another word
            self._heads[value[:SHORTEST]].append(value)
            self._tails[value[-SHORTEST:]].append(value)
        known = len(value) if value.isalpha() else SHORTEST  # the rest is found by the first eight characters
        self._starts.update(value[:size] for size in range(1, min(known, _LONGEST_WORD) + 1))
        if any(map(str.isspace, value)):
            self._spaced = max(self._spaced, len(value))
        self._values.add(value)

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Return where values stand; places may overlap."""
        if not self._values:
            return
        for value in self._candidates(text):
            bounded = value.isalpha()  # a word is not looked for within words
            at = text.find(value)
            while at >= 0:
                end = at + len(value)
                if not bounded or not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
                    yield at, end
                at = text.find(value, at + 1)

    def _candidates(self, text: str) -> set[str]:
        data = text.encode("utf-8", _CODEC)
        found: set[str] = set()
        for code, size, _ in _SIZES:
            blocks = self._blocks[code]
            if blocks:
                view = memoryview(data)[: len(data) // size * size].cast(code)  # type: ignore[call-overload]  # as above
                for block in self._sets[code].intersection(view):
                    found.update(blocks[block])
        return found

    def open_at(self, text: str) -> int | None:
        """Return from where on the end of a text is the beginning of a value; ``None`` if it is that of none."""
        end, reach = len(text), self._spaced
        if not self._values or (not reach and text[-1:].isspace()):
            return None
        start = max(0, end - reach)
        while start > max(0, end - _LONGEST_TOKEN) and not text[start - 1].isspace():
            start -= 1
        begun = self.begun(text, start, end)
        if begun is not None:
            return begun
        return next((at for at in range(max(start, end - _LONGEST_WORD), end) if text[at:] in self._starts), None)

    def begun(self, text: str, start: int, end: int) -> int | None:
        """Return from where ``text[:end]`` ends in the beginning of a value, not before ``start``."""
        for at in range(start, end - SHORTEST + 1):
            for value in self._heads.get(text[at : at + SHORTEST], ()):
                if value.startswith(text[at:end]):
                    return at
        return None

    def ended(self, text: str, start: int, end: int) -> int | None:
        """Return up to where ``text[start:]`` begins with the end of a value, not behind ``end``."""
        for at in range(end, start + SHORTEST - 1, -1):
            for value in self._tails.get(text[at - SHORTEST : at], ()):
                if value.endswith(text[start:at]):
                    return at
        return None
