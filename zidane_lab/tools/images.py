"""Figures as a model can take them: at most 1,024 pixels on the long side, never cut.

The original stays in the cell's output; this is the copy that is sent. Shrinking needs Pillow, which
whoever has matplotlib has; without it a larger picture is left out, and the note says so.
"""

from __future__ import annotations

import base64
import binascii
import io
import struct
from typing import Any, Final

from zidane_lab.turns import ImageBlock

__all__ = ["LONG_SIDE", "for_model"]

LONG_SIDE: Final = 1024
"""Pixels. Vision models scale larger pictures down themselves, at the sender's expense."""

MOST_BYTES: Final = 4_000_000
"""The smallest limit for one picture among the services we speak to is 5 MB as base64 text."""

MOST_PIXELS: Final = 64_000_000
"""A picture with more is not unpacked: each takes four bytes of the kernel's memory."""

_FORMATS: Final = {"image/png": "PNG", "image/jpeg": "JPEG"}
"""What is sent as it is; anything else that Pillow knows becomes PNG."""


def for_model(media_type: str, encoded: str) -> tuple[ImageBlock | None, str]:
    """Return the picture to send and a note like ``"640x480 PNG"``; ``None`` and the reason when it is left out.

    Parameters
    ----------
    media_type
        ``image/png`` or ``image/jpeg``; other pictures become PNG, of several frames the first.
    encoded
        Base64 text, as in a mime bundle.
    """
    try:
        data = base64.b64decode("".join(encoded.split()), validate=True)
    except (binascii.Error, ValueError):
        return None, "its data is not valid base64"
    name = _FORMATS.get(media_type, "PNG")
    size = _png_size(data) if media_type == "image/png" else None
    if size is not None and max(size) <= LONG_SIDE and len(data) <= MOST_BYTES:
        return ImageBlock(media_type, data), f"{size[0]}x{size[1]} {name}"
    try:
        from PIL import Image
    except ImportError:
        return None, f"it is larger than {LONG_SIDE} pixels and Pillow is not installed to shrink it"
    return _drawn_anew(Image, data, media_type, name)


def _drawn_anew(pillow: Any, data: bytes, media_type: str, name: str) -> tuple[ImageBlock | None, str]:
    """Return a picture shrunk, or in another format, by Pillow's ``Image``."""
    try:
        with pillow.open(io.BytesIO(data)) as picture:
            size = picture.size
            if size[0] * size[1] > MOST_PIXELS:
                return None, f"it has {size[0]:,} × {size[1]:,} pixels, too many to shrink it here"
            if media_type in _FORMATS and max(size) <= LONG_SIDE and len(data) <= MOST_BYTES:
                return ImageBlock(media_type, data), f"{size[0]}x{size[1]} {name}"
            kept = picture if media_type in _FORMATS else picture.convert("RGBA" if _is_see_through(picture) else "RGB")
            kept.thumbnail((LONG_SIDE, LONG_SIDE))
            out = io.BytesIO()
            kept.save(out, format=name)
            width, height = kept.size
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        what = name if media_type in _FORMATS else "a picture"
        return None, f"it cannot be read as {what} ({type(error).__name__})"
    if out.tell() > MOST_BYTES:
        return None, f"it is {out.tell():,} bytes even at {width}x{height}"
    block = ImageBlock(media_type if media_type in _FORMATS else "image/png", out.getvalue())
    shrunk = f" (shrunk from {size[0]}x{size[1]})" if (width, height) != size else ""
    return block, f"{width}x{height} {name}{shrunk}"


def _is_see_through(picture: Any) -> bool:
    return picture.mode in {"LA", "PA", "RGBA"} or "transparency" in picture.info


def _png_size(data: bytes) -> tuple[int, int] | None:
    """Read width and height from a PNG's header (its first chunk is always IHDR)."""
    if len(data) < 24 or data[:8] != b"\x89PNG\r\n\x1a\n":
        return None
    width, height = struct.unpack(">II", data[16:24])
    return int(width), int(height)
