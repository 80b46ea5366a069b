"""All that masks with one vault, in one object: what holds it needs no other name of this package.

Sessions and kernels are given one and import nothing, so that nobody pays for the formats before the first run.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from zidane_lab.secrets.blocks import mask_blocks, mask_turn
from zidane_lab.secrets.masking import mask, mask_json
from zidane_lab.secrets.streaming import MaskedBytes, StreamMask
from zidane_lab.secrets.vault import Vault
from zidane_lab.turns import Block, Turn

__all__ = ["Screen"]

T = TypeVar("T")
B = TypeVar("B", bound=Block)


@dataclass(frozen=True, slots=True)
class Screen:
    """Lets texts through and credentials not. What needs no masking comes back as the very same object.

    Parameters
    ----------
    vault
        Of the conversation.
    """

    vault: Vault

    def text(self, text: str) -> str:
        """Mask a text; see :func:`~zidane_lab.secrets.masking.mask`."""
        return mask(text, self.vault)

    def json(self, data: T) -> T:
        """Mask JSON-like data, mime bundles too; see :func:`~zidane_lab.secrets.masking.mask_json`."""
        return mask_json(data, self.vault)

    def turn(self, turn: Turn) -> Turn:
        """Mask a turn."""
        return mask_turn(turn, self.vault)

    def blocks(self, blocks: tuple[B, ...]) -> tuple[B, ...]:
        """Mask blocks."""
        return mask_blocks(blocks, self.vault)

    def error(self, error: BaseException) -> None:
        """Mask what an exception says, and those behind it, in place: services quote what they were sent."""
        waiting: list[BaseException | None] = [error]
        met: set[int] = set()
        while waiting:
            each = waiting.pop()
            if each is None or id(each) in met:
                continue
            met.add(id(each))
            waiting += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]
            with suppress(AttributeError, TypeError):  # some keep what they say to themselves
                each.args = self.json(each.args)
            said = {name: getattr(each, name, None) for name in ("strerror", "filename", "filename2")} | vars(each)
            for name, value in said.items():
                if isinstance(value, (str, list, tuple, dict)) and (masked := self.json(value)) is not value:
                    with suppress(AttributeError, TypeError):
                        setattr(each, name, masked)

    def stream(self) -> StreamMask:
        """Return what masks a text that comes in pieces."""
        return StreamMask(self.vault)

    def bytes(self) -> MaskedBytes:
        """Return what masks output that comes in pieces of bytes."""
        return MaskedBytes(self.vault)
