"""From session turns to the turns of a request, valid for any provider.

The result starts and ends with a user turn, has no empty turns or blank texts, holds only blocks a model
may see, in the role that may carry them, and answers every call in the turn after it. The same session
always gives the same turns, so what a model has seen once is sent again unchanged.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from zidane_lab.turns import (
    AudioBlock,
    Block,
    CommandBlock,
    CompactSummaryBlock,
    CustomBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    VideoBlock,
)
from zidane_lab.wire.attachments import attachment_text
from zidane_lab.wire.cutoff import apply_summary_cutoff, summary_text
from zidane_lab.wire.elide import apply_elisions
from zidane_lab.wire.envelope import put_in_envelope
from zidane_lab.wire.pairing import MISSING_RESULT, TOOL_USE_INTERRUPTED, OnRepair, repair_pairing
from zidane_lab.wire.state import WireState
from zidane_lab.wire.tail import CONTINUE, drop_empty, ensure_user_head, ensure_user_tail

__all__ = ["NO_STATE", "merge_same_role", "visible_turn", "visible_turns", "wire_turns"]

NO_STATE: Final = WireState()
"""Nothing has been decided."""

_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names every service accepts. Source: the patterns of Anthropic's and OpenAI's references, the shorter length."""


def wire_turns(
    turns: tuple[Turn, ...],
    *,
    state: WireState = NO_STATE,
    placeholder: str = MISSING_RESULT,
    tail: str = CONTINUE,
    merge_roles: bool = False,
    on_repair: OnRepair | None = None,
    strict: bool = False,
) -> tuple[Turn, ...]:
    """Return the turns to send for a session's ``turns``.

    Summaries take the place of what they stand for, then results are left out, then what is left is made fit to send.
    :class:`~zidane_lab.wire.incremental.WireBuilder` gives the same, faster for a session that grows.

    Parameters
    ----------
    state
        What has been decided about the session: results to leave out, compactions undone.
    placeholder
        Text of the error result a call without result gets.
    tail
        Text of the user turn put in when the history ends in an assistant turn.
    merge_roles
        Join neighbours of the same role, for services that want the roles to alternate.
    on_repair, strict
        See :func:`~zidane_lab.wire.pairing.repair_pairing`; ``index`` counts the turns that are not empty and not
        replaced by a summary.

    Returns
    -------
    tuple of Turn
        The very same tuple when it was fit to send; empty when there is nothing to send.

    Raises
    ------
    ToolPairingError
        Calls and results do not match and ``strict`` is set.
    """
    out = apply_elisions(apply_summary_cutoff(turns, state.undone), state.elided)
    out = drop_empty(visible_turns(out))
    out = repair_pairing(out, placeholder=placeholder, on_repair=on_repair, strict=strict)
    out = ensure_user_tail(ensure_user_head(out), tail)
    return merge_same_role(out) if merge_roles else out


def visible_turns(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Keep of each turn what a model may see; turns left with nothing stay, empty.

    Commands, custom blocks, blank texts and reasoning after an answer's last word go; a summary becomes text; a block
    its role may not carry becomes a short text; results come before everything else in their turn, the texts of those
    that carry a tag in their envelope; names of tools that no service would take back get ``_`` for odd characters.
    """
    out = tuple(visible_turn(turn) for turn in turns)
    return turns if all(new is old for new, old in zip(out, turns, strict=True)) else out


def merge_same_role(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Join neighbouring turns of one role under the first one's id. Mend the pairing before."""
    out: list[Turn] = []
    for turn in turns:
        if out and out[-1].role == turn.role:
            out[-1] = replace(out[-1], blocks=out[-1].blocks + turn.blocks)
        else:
            out.append(turn)
    return turns if len(out) == len(turns) else tuple(out)


def visible_turn(turn: Turn) -> Turn:
    """Do the same for one turn."""
    view = _user_block if turn.role == "user" else _assistant_block
    blocks = tuple(seen for block in turn.blocks if (seen := view(block)) is not None)
    if turn.role == "user" and any(isinstance(block, ToolResultBlock) for block in blocks[1:]):
        blocks = tuple(sorted(blocks, key=lambda block: not isinstance(block, ToolResultBlock)))
    while blocks and isinstance(blocks[-1], ThinkingBlock):  # a service refuses an answer that ends in reasoning
        blocks = blocks[:-1]
    same = len(blocks) == len(turn.blocks) and all(new is old for new, old in zip(blocks, turn.blocks, strict=True))
    return turn if same else replace(turn, blocks=blocks)


def _user_block(block: Block) -> Block | None:
    if isinstance(block, ToolCallBlock):  # nobody can have run it
        return TextBlock(TOOL_USE_INTERRUPTED)
    if isinstance(block, ThinkingBlock):
        return None
    return _common_block(block)


def _assistant_block(block: Block) -> Block | None:
    if isinstance(block, (ImageBlock, DocumentBlock, AudioBlock, VideoBlock)):  # accepted from users only
        return attachment_text(block)
    if isinstance(block, ToolCallBlock) and not _TOOL_NAME.fullmatch(block.name):  # made up by a model, or imported
        return replace(block, name=re.sub(r"[^A-Za-z0-9_-]", "_", block.name)[:64] or "unnamed_tool")
    return _common_block(block)


def _common_block(block: Block) -> Block | None:
    if isinstance(block, (CommandBlock, CustomBlock)):
        return None
    if isinstance(block, CompactSummaryBlock):
        return TextBlock(summary_text(block.text)) if block.text.strip() else None
    if isinstance(block, TextBlock):  # services refuse blank texts
        return block if block.text.strip() else None
    if isinstance(block, ToolResultBlock):
        parts = tuple(part for part in block.parts if not isinstance(part, TextBlock) or part.text.strip())
        return put_in_envelope(block if len(parts) == len(block.parts) else replace(block, parts=parts))
    return block
