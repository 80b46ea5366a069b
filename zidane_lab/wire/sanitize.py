"""Take out of a history the reasoning its next reader would refuse.

The builders of requests follow the same policy with every request; this is for whoever takes turns over from
elsewhere and wants them clean once and for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from zidane_lab.providers.reasoning import ReasoningWire, reasoning_action
from zidane_lab.turns import Block, TextBlock, ThinkingBlock, Turn
from zidane_lab.wire.pairing import TOOL_USE_INTERRUPTED

__all__ = ["SanitizedHistory", "sanitize_history"]


@dataclass(frozen=True, slots=True)
class SanitizedHistory:
    """Clean turns: ``removed`` blocks of reasoning are gone, ``stripped`` ones have lost their seal."""

    turns: tuple[Turn, ...]
    removed: int = 0
    stripped: int = 0


def sanitize_history(turns: tuple[Turn, ...], target: str, *, wire: ReasoningWire | None = None) -> SanitizedHistory:
    """Apply :func:`~zidane_lab.providers.reasoning.reasoning_action` to every turn.

    Turns that need nothing stay the same objects, and the tuple too when none does. A turn that loses all it held gets
    the text a repair would put there, so that the order of roles holds.
    """
    removed = stripped = 0
    out: list[Turn] = []
    for turn in turns:
        blocks: list[Block] = []
        changed = False
        for block in turn.blocks:
            action = reasoning_action(block, target, wire=wire) if isinstance(block, ThinkingBlock) else "keep"
            if action == "drop":
                removed += 1
            elif action == "strip-signature" and isinstance(block, ThinkingBlock):
                stripped += 1
                blocks.append(replace(block, signature=None))
            else:
                blocks.append(block)
            changed = changed or action != "keep"
        out.append(replace(turn, blocks=tuple(blocks) or (TextBlock(TOOL_USE_INTERRUPTED),)) if changed else turn)
    return SanitizedHistory(tuple(out) if removed or stripped else turns, removed, stripped)
