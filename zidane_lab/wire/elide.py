"""Tool results left out of requests, a short text in their place.

What is left out is decided once and recorded (:mod:`zidane_lab.wire.state`); here it is carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from zidane_lab.turns import TextBlock, ToolResultBlock, Turn
from zidane_lab.wire.envelope import open_envelope
from zidane_lab.wire.pairing import REPAIR_TEXTS

__all__ = ["apply_elisions", "elide_turn"]


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


def _elide(block: ToolResultBlock, text: str) -> ToolResultBlock:
    if block.is_error and block.text in REPAIR_TEXTS:  # there is no result, and that is said already
        return block
    parts = (TextBlock(text),) if text.strip() else ()
    return block if block.parts == parts else replace(block, parts=parts, metadata=open_envelope(block.metadata))
