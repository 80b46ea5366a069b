"""Events of an answer as it arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zidane_lab.events.ids import FinishReason, Ids

__all__ = ["HistoryRepaired", "StreamEnd", "StreamProgress", "StreamText", "StreamThinking"]


@dataclass(frozen=True, slots=True)
class StreamText:
    """A piece of visible text. ``block`` counts the blocks of the turn."""

    name: ClassVar[str] = "stream:text"
    ids: Ids
    block: int
    text: str


@dataclass(frozen=True, slots=True)
class StreamThinking:
    """A piece of reasoning text."""

    name: ClassVar[str] = "stream:thinking"
    ids: Ids
    block: int
    text: str


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """Running numbers of a stream, throttled.

    ``estimated`` says that ``output_tokens`` is characters / 4. ``context`` is the prompt's size as the provider
    counted it, or that of the answer before while this one's is not known (0 in the first answer); ``cost`` what
    the answer has cost so far in US dollars, ``None`` where no price is known to apply. ``turn:after`` settles both.
    """

    name: ClassVar[str] = "stream:progress"
    ids: Ids
    output_tokens: int
    estimated: bool
    elapsed: float
    context: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class HistoryRepaired:
    """The provider changed what was sent to have it accepted; ``what`` says it for a person."""

    name: ClassVar[str] = "history:repaired"
    ids: Ids
    what: str


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """A stream ended, well or not; text shown so far is final."""

    name: ClassVar[str] = "stream:end"
    ids: Ids
    finish: FinishReason | None
