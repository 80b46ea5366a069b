"""What a person says to an agent: the prompt's blocks, and messages that arrive while it runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from zidane_lab.errors import ConfigurationError
from zidane_lab.turns import Block, TextBlock

__all__ = ["Inbox", "Prompt", "prompt_blocks", "said"]

Prompt: TypeAlias = str | Sequence[Block]
"""What a person asks: text, or blocks (text, images, documents…)."""


def prompt_blocks(prompt: Prompt) -> tuple[Block, ...]:
    """Return the blocks of a prompt.

    Raises
    ------
    ConfigurationError
        There is nothing in it.
    """
    blocks = (TextBlock(prompt),) if isinstance(prompt, str) else tuple(prompt)
    if not any(not isinstance(block, TextBlock) or block.text.strip() for block in blocks):
        raise ConfigurationError("The prompt is empty.", hint="Say what you want done.")
    return blocks


def said(blocks: tuple[Block, ...]) -> str:
    """Return what the person wrote: the first text; what is attached to it comes after."""
    return next((block.text for block in blocks if isinstance(block, TextBlock)), "")


@dataclass(slots=True)
class Inbox:
    """Messages that wait; any thread may add to it."""

    steers: deque[tuple[Block, ...]] = field(default_factory=deque)
    follow_ups: deque[tuple[Block, ...]] = field(default_factory=deque)

    def texts(self) -> tuple[str, ...]:
        """Return the texts that wait, steering messages first."""
        waiting = (*self.steers, *self.follow_ups)
        return tuple("\n\n".join(b.text for b in blocks if isinstance(b, TextBlock)) for blocks in waiting)
