"""Tool results left out of requests, a short text in their place.

What is left out is decided once and recorded (:mod:`zidane_lab.wire.state`); :func:`apply_elisions` carries it out.
:func:`plan_tail_elision` is one way to decide: when a conversation has grown large, all but its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from zidane_lab.turns import TextBlock, ToolResultBlock, Turn
from zidane_lab.wire.pairing import REPAIR_TEXTS
from zidane_lab.wire.sizes import block_bytes, turns_bytes

__all__ = [
    "LEAST_BYTES",
    "PERSISTED_PREFIX",
    "apply_elisions",
    "elide_turn",
    "elided_text",
    "plan_tail_elision",
    "tail_elision",
]

PERSISTED_PREFIX: Final = '<persisted-output tool="'
"""How the text begins that stands for a result kept in a file; it is short and says where, so it stays."""

LEAST_BYTES: Final = 256
"""Smaller results are not worth leaving out; the texts in place of others are smaller, too."""


def apply_elisions(turns: tuple[Turn, ...], elided: Mapping[str, str]) -> tuple[Turn, ...]:
    """Return ``turns`` with the results of the calls in ``elided`` replaced by the texts given there.

    A result stays a result, of the same call and as much an error as before. The very same tuple comes back when
    there is nothing to replace.
    """
    if not elided:
        return turns
    out = tuple(elide_turn(turn, elided) for turn in turns)
    return turns if all(new is old for new, old in zip(out, turns, strict=True)) else out


def elide_turn(turn: Turn, elided: Mapping[str, str]) -> Turn:
    """Do the same for one turn."""
    if not any(isinstance(block, ToolResultBlock) and block.call_id in elided for block in turn.blocks):
        return turn
    blocks = tuple(
        _elide(block, elided[block.call_id])
        if isinstance(block, ToolResultBlock) and block.call_id in elided
        else block
        for block in turn.blocks
    )
    same = all(new is old for new, old in zip(blocks, turn.blocks, strict=True))
    return turn if same else replace(turn, blocks=blocks)


def elided_text(size: int) -> str:
    """Return what stands for a result of ``size`` bytes; always the same for the same size."""
    return f"[Result of {size:,} bytes left out to save space; call the tool again if it is needed]"


def plan_tail_elision(turns: tuple[Turn, ...], threshold_bytes: int, keep_turns: int) -> dict[str, str]:
    """Choose the results to leave out once ``turns`` have grown too large.

    Parameters
    ----------
    turns
        What would be sent (earlier elisions applied, or their results are counted again).
    threshold_bytes
        Nothing is left out as long as all turns together are not larger than this.
    keep_turns
        So many turns at the end stay whole; a negative number counts as 0.

    Returns
    -------
    dict
        For the ids of calls, the text instead of their results: what :attr:`WireState.elided` holds. Results kept in
        files, and those under :data:`LEAST_BYTES`, stay. All other old ones go at once: it is long before more have to.
    """
    if turns_bytes(turns) <= threshold_bytes:
        return {}
    border = len(turns) - max(keep_turns, 0)
    kept = {result.call_id for turn in turns[max(border, 0) :] for result in turn.tool_results}
    plan: dict[str, str] = {}
    for turn in turns[: max(border, 0)]:
        for result in turn.tool_results:
            size = block_bytes(result)
            if size < LEAST_BYTES or result.call_id in kept or result.text.startswith(PERSISTED_PREFIX):
                continue
            plan.setdefault(result.call_id, elided_text(size))
    return plan


def tail_elision(turns: tuple[Turn, ...], threshold_bytes: int, keep_turns: int) -> tuple[Turn, ...]:
    """Carry out :func:`plan_tail_elision` at once; the very same tuple when nothing is left out."""
    return apply_elisions(turns, plan_tail_elision(turns, threshold_bytes, keep_turns))


def _elide(block: ToolResultBlock, text: str) -> ToolResultBlock:
    if block.is_error and block.text in REPAIR_TEXTS:  # there is no result, and that is said already
        return block
    parts = (TextBlock(text),) if text.strip() else ()
    return block if block.parts == parts else replace(block, parts=parts)
