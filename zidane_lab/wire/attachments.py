"""Short texts in place of images, sound, films and documents.

A summary is written from words: the model could not point at a picture that is gone afterwards, and a history full
of pictures may not fit a second time.
"""

from __future__ import annotations

from dataclasses import replace

from zidane_lab.turns import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    ResultPart,
    TextBlock,
    ToolResultBlock,
    Turn,
    VideoBlock,
)

__all__ = ["attachment_text", "strip_attachments"]


def strip_attachments(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Replace attachments, those in tool results too, by ``[image]``, ``[audio]``, ``[video]`` or ``[document]``.

    The very same tuple comes back when there are none.
    """
    out = tuple(_strip(turn) for turn in turns)
    return turns if all(new is old for new, old in zip(out, turns, strict=True)) else out


def attachment_text(block: ImageBlock | AudioBlock | VideoBlock | DocumentBlock) -> TextBlock:
    """Return the text that stands for an attachment."""
    return TextBlock(f"[{block.kind}]")


def _strip(turn: Turn) -> Turn:
    blocks = tuple(_strip_block(block) for block in turn.blocks)
    return (
        turn if all(new is old for new, old in zip(blocks, turn.blocks, strict=True)) else replace(turn, blocks=blocks)
    )


def _strip_block(block: Block) -> Block:
    if isinstance(block, ToolResultBlock):
        parts = tuple(_strip_part(part) for part in block.parts)
        same = all(new is old for new, old in zip(parts, block.parts, strict=True))
        return block if same else replace(block, parts=parts)
    if isinstance(block, (ImageBlock, AudioBlock, VideoBlock, DocumentBlock)):
        return attachment_text(block)
    return block


def _strip_part(part: ResultPart) -> ResultPart:
    return part if isinstance(part, TextBlock) else attachment_text(part)
