"""Rounds of a conversation, and how it is shortened when it is too long even to be summarised.

A round is what one prompt or one step of the model brought: what was said, the answer, the results of its calls.
Only whole rounds are dropped, so calls keep their results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from zidane_lab.compaction.slicing import borders
from zidane_lab.turns import Block, CompactSummaryBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.sizes import block_bytes, result_text_bytes

__all__ = ["halve_head", "rounds", "told_bytes"]


def rounds(turns: Sequence[Turn]) -> tuple[tuple[Turn, ...], ...]:
    """Part ``turns`` into rounds: a user turn begins one, and so does an answer that follows an answer.

    A run of many steps is thus many rounds, though it has one prompt only.
    """
    starts: list[int] = []
    allowed = set(borders(turns))
    answered = False  # whether the round under way has an answer
    for place, turn in enumerate(turns):
        if place == 0 or (place in allowed and (turn.role == "user" or answered)):
            starts.append(place)
            answered = False
        answered = answered or turn.role == "assistant"
    return tuple(tuple(turns[start:end]) for start, end in pairwise([*starts, len(turns)]))


def halve_head(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Drop rounds from the head until at most half of the bytes are left.

    At least one round goes and at least one stays, so a last round of more than half stays whole. Halving, since
    few retries are made: going round by round a very long conversation would never become short enough.

    Returns
    -------
    tuple of Turn
        The very same tuple when there is one round only: it cannot be shortened.
    """
    parts = rounds(turns)
    if len(parts) < 2:
        return turns
    sizes = [told_bytes(part) for part in parts]
    half, left = sum(sizes) / 2, sum(sizes)
    dropped = 0
    while dropped < len(parts) - 1 and (dropped == 0 or left > half):
        left -= sizes[dropped]
        dropped += 1
    return tuple(turn for part in parts[dropped:] for turn in part)


def told_bytes(turns: Iterable[Turn]) -> int:
    """Return the size of what a summary of ``turns`` is made of, in bytes of UTF-8.

    Texts, calls and the texts of results count; pictures and reasoning are not shown to who summarises.
    """
    return sum(_block_bytes(block) for turn in turns for block in turn.blocks)


def _block_bytes(block: Block) -> int:
    if isinstance(block, ToolResultBlock):
        return result_text_bytes(block)
    return block_bytes(block) if isinstance(block, (TextBlock, CompactSummaryBlock, ToolCallBlock)) else 0
