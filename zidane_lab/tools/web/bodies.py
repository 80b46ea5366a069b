"""The body of an answer, unpacked as it arrives and never more of it than was asked for.

The bytes that come out are counted, not those that come in: a few kilobytes can unpack to gigabytes.
"""

from __future__ import annotations

import asyncio
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import httpx

__all__ = ["ENCODINGS", "Body", "Unpacker", "read_body"]

ENCODINGS: Final = "gzip, deflate"
"""What we say we can unpack."""

_OVERHEAD: Final = 65_536
"""Bytes that packing may add to what cannot be packed."""
_GZIP: Final = 16 + zlib.MAX_WBITS
_RAW: Final = -zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class Body:
    """What was read.

    Parameters
    ----------
    data
        The unpacked bytes.
    cut
        There was more than was asked for.
    trouble
        Why the end is missing or cannot be unpacked; empty where all is well.
    """

    data: bytes
    cut: bool = False
    trouble: str = ""


class Unpacker:
    """Unpacks what comes in pieces, to a limit.

    Parameters
    ----------
    encoding
        The ``Content-Encoding`` of the answer.
    most
        Bytes to give out, altogether.

    Raises
    ------
    ValueError
        The encoding is not one of :data:`ENCODINGS`.
    """

    def __init__(self, encoding: str, most: int) -> None:
        encoding = encoding.strip().lower()
        self._kind = {"": "", "identity": "", "gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}.get(encoding)
        if self._kind is None:
            raise ValueError(f"it is packed as {encoding[:40]!r}")
        self._stream = zlib.decompressobj(_GZIP) if self._kind == "gzip" else None
        self.data = bytearray()
        self._most = most
        self.is_full = False
        self._came = 0

    def feed(self, piece: bytes) -> None:
        """Take the next piece.

        Raises
        ------
        ValueError
            It cannot be unpacked.
        """
        self._came += len(piece)
        if not self._kind:
            self._keep(piece)
            return
        if self._stream is None:  # deflate comes with a header, or, from some servers, without
            with_header = len(piece) >= 2 and piece[0] & 0x0F == 8 and (piece[0] << 8 | piece[1]) % 31 == 0
            self._stream = zlib.decompressobj(zlib.MAX_WBITS if with_header else _RAW)
        while piece and not self.is_full:
            if self._stream.eof:
                if self._kind != "gzip" or not piece.startswith(b"\x1f\x8b"):
                    return  # padding behind the end
                self._stream = zlib.decompressobj(_GZIP)
            try:
                self._keep(self._stream.decompress(piece, self._most - len(self.data) + 1))
            except zlib.error as error:
                raise ValueError("it cannot be unpacked") from error
            piece = self._stream.unconsumed_tail or self._stream.unused_data
        if self._came > self._most + _OVERHEAD:  # packed data that gives nothing
            self.is_full = True

    @property
    def is_complete(self) -> bool:
        """Whether the packed data has come to its end."""
        return not self._kind or self.is_full or self._came == 0 or (self._stream is not None and self._stream.eof)

    def _keep(self, data: bytes) -> None:
        room = self._most - len(self.data)
        self.data += data[:room]
        self.is_full = self.is_full or len(data) > room


async def read_body(response: httpx.Response, most: int, until: float | None = None) -> Body:
    """Read an answer to its end or to ``most`` bytes; what came of a broken one is kept.

    Parameters
    ----------
    until
        When to stop, in the time of the running loop: a server may go on sending a little for ever.

    Raises
    ------
    httpx.TimeoutException
        Nothing more came for too long, and nothing had come before.
    """
    import httpx

    try:
        unpacker = Unpacker(response.headers.get("content-encoding", ""), most)
    except ValueError as error:
        return Body(b"", trouble=str(error))
    trouble = ""
    try:
        async with asyncio.timeout_at(until):
            async for piece in response.aiter_raw():
                unpacker.feed(piece)
                if unpacker.is_full:
                    break
    except TimeoutError:
        trouble = "the server was still sending when the time was over"
    except ValueError as error:
        trouble = str(error)
    except httpx.TimeoutException:
        if not unpacker.data:
            raise
        trouble = "the server fell silent before the end"
    except httpx.TransportError:
        trouble = "the connection broke before the end"
    if not trouble and not unpacker.is_complete:
        trouble = "its end is missing"
    return Body(bytes(unpacker.data), unpacker.is_full, trouble)
