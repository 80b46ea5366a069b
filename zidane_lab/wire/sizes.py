"""Sizes in bytes, for thresholds that decide what is kept, spilled or left out.

Text counts as UTF-8, media as the bytes they hold (not their longer base64 form).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from zidane_lab.turns import (
    Block,
    CommandBlock,
    CompactSummaryBlock,
    CustomBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
)

__all__ = ["block_bytes", "result_text_bytes", "turns_bytes", "utf8_length"]


def utf8_length(text: str) -> int:
    """Return the bytes of ``text`` in UTF-8.

    The halves of a surrogate pair count 4 together; a lone surrogate counts 3, as the replacement character that
    is written in its place.
    """
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return len(joined.encode())


def block_bytes(block: Block) -> int:
    """Return the bytes of what a model is sent of a block; of a result, all its parts."""
    if isinstance(block, (TextBlock, ThinkingBlock, CompactSummaryBlock)):
        return utf8_length(block.text)
    if isinstance(block, ToolCallBlock):
        arguments = block.raw if block.raw is not None else json.dumps(block.input, ensure_ascii=False, default=str)
        return utf8_length(block.name) + utf8_length(arguments)
    if isinstance(block, ToolResultBlock):
        return sum(block_bytes(part) for part in block.parts)
    if isinstance(block, (CommandBlock, CustomBlock)):
        return 0
    return len(block.data)


def result_text_bytes(block: ToolResultBlock) -> int:
    """Return the bytes of a result's texts alone: what a budget on tool output counts."""
    return sum(utf8_length(part.text) for part in block.parts if isinstance(part, TextBlock))


def turns_bytes(turns: Iterable[Turn]) -> int:
    """Return the bytes of ``turns``: their blocks, one by one."""
    return sum(block_bytes(block) for turn in turns for block in turn.blocks)
