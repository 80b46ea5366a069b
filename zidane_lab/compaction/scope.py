"""Which part of a conversation is to be summarised."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

from zidane_lab.errors import CompactInvalidInputError

__all__ = ["KEEP_TURNS", "Direction", "From", "Full", "Scope", "Tail", "UpTo", "parse_scope"]

KEEP_TURNS: Final = 4
"""Turns that stay word for word unless said otherwise."""

_NUMBER: Final = re.compile(r"-?[0-9]{1,9}")

Direction: TypeAlias = Literal["full", "tail", "from", "up_to"]
"""What kind of part it is."""


@dataclass(frozen=True, slots=True)
class Full:
    """All of it; nothing stays word for word."""

    direction: ClassVar[Direction] = "full"

    def __str__(self) -> str:
        return "full"


@dataclass(frozen=True, slots=True)
class Tail:
    """All before the last ``keep_turns`` turns; less than 0 counts as 0."""

    direction: ClassVar[Direction] = "tail"
    keep_turns: int = KEEP_TURNS

    def __str__(self) -> str:
        return f"tail {self.keep_turns}"


@dataclass(frozen=True, slots=True)
class From:
    """From a turn on, to the end."""

    direction: ClassVar[Direction] = "from"
    turn_id: str

    def __str__(self) -> str:
        return f"from {self.turn_id}"


@dataclass(frozen=True, slots=True)
class UpTo:
    """From the start up to a turn, and that turn too."""

    direction: ClassVar[Direction] = "up_to"
    turn_id: str

    def __str__(self) -> str:
        return f"up_to {self.turn_id}"


Scope: TypeAlias = Full | Tail | From | UpTo


def parse_scope(text: str, *, keep_turns: int = KEEP_TURNS) -> Scope:
    """Read a scope: ``full``, ``tail``, ``tail 6``, ``from <turn>`` or ``up_to <turn>``; nothing means ``tail``.

    Parameters
    ----------
    keep_turns
        What ``tail`` keeps when it is given no number.

    Raises
    ------
    CompactInvalidInputError
        The text is none of these.
    """
    words = text.split()
    match [words[0].lower().replace("-", "_"), *words[1:]] if words else ["tail"]:
        case ["full"]:
            return Full()
        case ["tail"]:
            return Tail(keep_turns)
        case ["tail", number] if _NUMBER.fullmatch(number):
            return Tail(int(number))
        case ["from", turn_id]:
            return From(turn_id)
        case ["up_to", turn_id]:
            return UpTo(turn_id)
    raise CompactInvalidInputError(
        f"{text!r} says no part of a conversation.",
        hint="Say `full`, `tail`, `tail 6`, `from <turn>` or `up_to <turn>`.",
    )
