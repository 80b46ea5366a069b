"""Rough sizes in tokens, for budgets and gauges; never for prices.

Four UTF-16 units are counted as one token, a common rule of thumb that tends to overestimate English and
underestimate scripts with short words. Use a provider's own counts wherever they are known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

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

__all__ = ["MEDIA_TOKENS", "UNITS_PER_TOKEN", "estimate_block", "estimate_tokens", "estimate_turns"]

UNITS_PER_TOKEN: Final = 4
"""UTF-16 units counted as one token."""

MEDIA_TOKENS: Final = 1_600
"""What one image, document, sound or film is counted as: the most a large image costs on common services."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of ``text``: its length in UTF-16 units / 4, rounded up."""
    units = len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    return -(-units // UNITS_PER_TOKEN)


def estimate_block(block: Block) -> int:
    """Estimate the tokens of one block; what never reaches a model counts nothing."""
    if isinstance(block, (TextBlock, ThinkingBlock, CompactSummaryBlock)):
        return estimate_tokens(block.text)
    if isinstance(block, ToolCallBlock):
        arguments = block.raw if block.raw is not None else json.dumps(block.input, ensure_ascii=False, default=str)
        return estimate_tokens(block.name) + estimate_tokens(arguments)
    if isinstance(block, ToolResultBlock):
        return sum(estimate_block(part) for part in block.parts)
    if isinstance(block, (CommandBlock, CustomBlock)):
        return 0
    return MEDIA_TOKENS


def estimate_turns(turns: Iterable[Turn]) -> int:
    """Estimate the tokens of ``turns``: their blocks, one by one."""
    return sum(estimate_block(block) for turn in turns for block in turn.blocks)
