"""Pictures as a model can take them."""

from __future__ import annotations

import base64
import warnings
from dataclasses import replace
from typing import Final

from zidane_lab.tools.images import LONG_SIDE, for_model
from zidane_lab.turns import ImageBlock, ResultPart, TextBlock

__all__ = ["MAX_IMAGE_BYTES", "converted", "picture"]

MAX_IMAGE_BYTES: Final = 20 * 1_048_576
"""A larger file is described, not read."""

_AS_IT_IS: Final = 1_048_576
"""Bytes of a picture that is sent without being shrunk first."""
_MEASURED: Final = frozenset({"image/png", "image/jpeg", "image/gif"})
"""What :func:`~zidane_lab.tools.filetypes.image_size` measures, where its first bytes tell."""


def picture(media_type: str, data: bytes, name: str, pixels: tuple[int, int] | None) -> tuple[ResultPart, ...]:
    """Return a picture, shrunk if it is large, or a note why it is not here."""
    small = pixels is not None and max(pixels) <= LONG_SIDE
    if len(data) <= _AS_IT_IS and (small or media_type not in _MEASURED):
        return (ImageBlock(media_type, data, name),)
    return converted(media_type, data, name)


def converted(media_type: str, data: bytes, name: str) -> tuple[ResultPart, ...]:
    """Return a picture of a size and in a format that a model takes, or a note why it is not here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of large pictures; a far too large one is an error
        image, note = for_model(media_type, base64.b64encode(data).decode("ascii"))
    return (TextBlock(f"[not attached: {note}]"),) if image is None else (replace(image, name=name),)
