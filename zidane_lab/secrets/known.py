"""Find known values in a text, however many there are, in the time of one pass over its bytes.

A value of ``n`` bytes covers at least one *whole* block of ``b`` bytes of any text it stands in, if ``n >= 2 b - 1``.
So the text is cut into blocks, and a value is looked for only where a block is that it holds at the right offset.
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
        self._blocks: dict[str, defaultdict[int, set[tuple[bytes, int]]]] = {
            code: defaultdict(set) for code, _, _ in _SIZES
        }
        self._sets: dict[str, set[int]] = {code: set() for code, _, _ in _SIZES}
        self._words: set[bytes] = set()
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
            blocks[block].add((data, offset))
            self._sets[code].add(block)
        if value.isalpha():
            self._words.add(data)
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
        data = text.encode("utf-8", _CODEC)
        found = sorted(self._places(data))
        exact = len(data) == len(text)  # then a character is a byte
        at = characters = 0
        for start, value in found:
            characters += start - at if exact else len(data[at:start].decode("utf-8", _CODEC))
            at = start
            left, right = characters, characters + (len(value) if exact else len(value.decode("utf-8", _CODEC)))
            if value not in self._words or not (text[left - 1 : left].isalnum() or text[right : right + 1].isalnum()):
                yield left, right  # a word is not looked for within words

    def _places(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Return where values begin in a text's bytes; each is found by the first whole block of the text in it."""
        for code, size, _ in _SIZES:
            blocks = self._blocks[code]
            if not blocks:
                continue
            view = memoryview(data)[: len(data) // size * size].cast(code)  # type: ignore[call-overload]  # as above
            met = self._sets[code].intersection(view)
            for number in [number for number, block in enumerate(view) if block in met] if met else ():
                for value, offset in blocks[view[number]]:
                    start = number * size - offset
                    if start >= 0 and data.startswith(value, start):
                        yield start, value

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
