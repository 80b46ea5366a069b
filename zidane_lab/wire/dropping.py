"""Leave out calls without results and results without calls, and say what was left out.

For histories taken over from elsewhere, where a made-up error result would be a lie. A running conversation is mended
instead (:mod:`zidane_lab.wire.pairing`), so that the model sees what it tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from zidane_lab.turns import ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.tail import drop_empty, is_empty

__all__ = ["PairingDrop", "PairingDropKind", "drop_invalid_pairings"]

PairingDropKind: TypeAlias = Literal[
    "call-without-result", "duplicate-call", "result-without-call", "duplicate-result", "emptied-turn"
]


@dataclass(frozen=True, slots=True)
class PairingDrop:
    """Something left out. ``index`` is the place of its turn among those that were not empty from the start."""

    kind: PairingDropKind
    index: int
    call_id: str | None = None


def drop_invalid_pairings(turns: tuple[Turn, ...]) -> tuple[tuple[Turn, ...], tuple[PairingDrop, ...]]:
    """Keep only calls that the very next turn answers, each once, and only their results.

    Turns that hold nothing from the start are not in the result; those that lose all they held are reported.

    Returns
    -------
    tuple
        The turns (the very same tuple when all is well) and what was left out, in order.
    """
    given = drop_empty(turns)
    drops: list[PairingDrop] = []
    out: list[Turn] = []
    used: set[str] = set()
    open_calls: set[str] = set()  # of the turn before, each answered in this one
    for index, turn in enumerate(given):
        if turn.role == "user":
            wrong, open_calls = _wrong_in_user(turn, open_calls), set()
        else:
            wrong = _wrong_in_assistant(turn, used, _answered(given, index + 1))
            open_calls = {call.id for place, call in _calls(turn) if place not in wrong}
            used |= open_calls
        mended = turn
        if wrong:
            mended = replace(turn, blocks=tuple(b for place, b in enumerate(turn.blocks) if place not in wrong))
            drops += (PairingDrop(kind, index, call_id) for kind, call_id in wrong.values())
        if is_empty(mended):
            drops.append(PairingDrop("emptied-turn", index))
        else:
            out.append(mended)
    return (tuple(out) if drops else given), tuple(drops)


_Wrong: TypeAlias = dict[int, tuple[PairingDropKind, str]]
"""For the places of blocks within a turn, what is wrong with them and the call they belong to."""


def _wrong_in_user(turn: Turn, open_calls: set[str]) -> _Wrong:
    wrong: _Wrong = {}
    done: set[str] = set()
    for place, block in enumerate(turn.blocks):
        if isinstance(block, ToolCallBlock):
            wrong[place] = ("call-without-result", block.id)
        elif isinstance(block, ToolResultBlock):
            if block.call_id not in open_calls:
                wrong[place] = ("result-without-call", block.call_id)
            elif block.call_id in done:
                wrong[place] = ("duplicate-result", block.call_id)
            done.add(block.call_id)
    return wrong


def _wrong_in_assistant(turn: Turn, used: set[str], answered: set[str]) -> _Wrong:
    wrong: _Wrong = {}
    here: set[str] = set()
    for place, block in enumerate(turn.blocks):
        if isinstance(block, ToolResultBlock):
            wrong[place] = ("result-without-call", block.call_id)
        elif isinstance(block, ToolCallBlock):
            if block.id in used or block.id in here:
                wrong[place] = ("duplicate-call", block.id)
            elif block.id not in answered:
                wrong[place] = ("call-without-result", block.id)
            here.add(block.id)
    return wrong


def _calls(turn: Turn) -> Iterator[tuple[int, ToolCallBlock]]:
    return ((place, block) for place, block in enumerate(turn.blocks) if isinstance(block, ToolCallBlock))


def _answered(turns: tuple[Turn, ...], index: int) -> set[str]:
    """Return the calls that the turn at ``index`` has results for."""
    if index >= len(turns) or turns[index].role != "user":
        return set()
    return {result.call_id for result in turns[index].tool_results}
