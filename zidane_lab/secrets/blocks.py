"""Mask what turns are made of. What holds no credential stays the very same object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from zidane_lab.secrets.masking import mask, mask_json
from zidane_lab.secrets.vault import Vault
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

__all__ = ["mask_block", "mask_blocks", "mask_turn"]

B = TypeVar("B", bound=Block)


def mask_block(block: B, vault: Vault) -> B:
    """Mask one block: its texts, a call's arguments, a result's metadata; pictures and documents stay as they are."""
    changed: dict[str, Any]
    match block:
        case TextBlock() | CompactSummaryBlock():
            changed = {"text": mask(block.text, vault)}
        case ThinkingBlock() if block.signature is None:  # a sealed one may not be touched; the model saw nothing
            changed = {"text": mask(block.text, vault)}
        case ToolCallBlock():
            changed = {"input": mask_json(block.input, vault), "raw": mask_json(block.raw, vault)}
        case ToolResultBlock():
            changed = {"parts": mask_blocks(block.parts, vault), "metadata": mask_json(block.metadata, vault)}
        case CommandBlock():
            changed = {"arguments": mask(block.arguments, vault), "output": mask(block.output, vault)}
        case CustomBlock():
            changed = {"data": mask_json(block.data, vault)}
        case _:
            return block
    if all(getattr(block, name) is value for name, value in changed.items()):
        return block
    return replace(block, **changed)


def mask_blocks(blocks: tuple[B, ...], vault: Vault) -> tuple[B, ...]:
    """Mask several blocks."""
    masked = tuple(mask_block(block, vault) for block in blocks)
    return blocks if all(new is old for new, old in zip(masked, blocks, strict=True)) else masked


def mask_turn(turn: Turn, vault: Vault) -> Turn:
    """Mask a turn's blocks."""
    blocks = mask_blocks(turn.blocks, vault)
    return turn if blocks is turn.blocks else replace(turn, blocks=blocks)
