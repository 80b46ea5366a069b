"""Encode each turn once, though it is sent in every request of its conversation.

A request repeats the one before and adds a turn or two. What was made of a turn is kept beside the turn it was made
of, so that a long history costs a look-up a turn and one copy of its bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Generic, TypeAlias, TypeVar

from zidane_lab.turns import Turn

__all__ = ["TurnMemo", "json_inner"]

T = TypeVar("T")
_Entry: TypeAlias = tuple[Turn, Turn | None, T]


class TurnMemo(Generic[T]):
    """What a function makes of each turn, given the turn before it.

    Turns are told apart by identity: they are values that never change, and the memo holds the ones it knows, so
    that no other object can take their place. It knows those of the last two calls, which is what lets two
    conversations take turns (a side question between two steps); all others are forgotten.

    Parameters
    ----------
    make
        Called with a turn and the one before it (``None`` for the first); it must depend on nothing else.
    """

    def __init__(self, make: Callable[[Turn, Turn | None], T]) -> None:
        self._make = make
        self._last: dict[int, _Entry[T]] = {}
        self._before_last: dict[int, _Entry[T]] = {}

    def __len__(self) -> int:
        return len(self._last.keys() | self._before_last.keys())

    def of(self, turns: Iterable[Turn]) -> list[T]:
        """Return what is made of each of the turns, in order."""
        known, older = self._last, self._before_last
        entries: dict[int, _Entry[T]] = {}
        out: list[T] = []
        before: Turn | None = None
        for turn in turns:
            key = id(turn)
            entry = known.get(key) or older.get(key)
            if entry is None or entry[1] is not before:
                entry = (turn, before, self._make(turn, before))
            entries[key] = entry
            out.append(entry[2])
            before = turn
        self._last, self._before_last = entries, known
        return out


def json_inner(text: str) -> bytes:
    """Return ``text`` as JSON in UTF-8 without its quotation marks, so that pieces can be joined to one string.

    Lone surrogates become question marks, as in :func:`~zidane_lab.providers.payload.encode_body`.
    """
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "replace")
