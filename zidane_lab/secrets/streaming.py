"""Mask a text that comes in pieces, wherever it was cut: what may begin a credential waits for the rest."""

from __future__ import annotations

import codecs
import re
import threading
from typing import Final

from zidane_lab.secrets.assigned import OPEN_VALUE
from zidane_lab.secrets.masking import mask, places
from zidane_lab.secrets.patterns import NEAR_ANCHORS
from zidane_lab.secrets.scan import begun_at
from zidane_lab.secrets.vault import Vault

__all__ = ["MaskedBytes", "StreamMask"]

_LONGEST: Final = 20_000
"""Characters that wait at most; a private key has fewer."""

_IN_WORD: Final = "z"
"""Stands for what came before, if that was part of a word; no credential begins so."""

_OPEN_KEY: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----(?![\s\S]*-----END [A-Z0-9 ]{0,48}-----)"
)
_OPEN_NEAR: Final = re.compile(rf"(?<![A-Za-z0-9])(?:{NEAR_ANCHORS})[^\n\r]{{0,160}}\Z")
_NAMES: Final = (OPEN_VALUE, _OPEN_NEAR)
_LINE: Final = re.compile(r"[^\n\r]*\Z")
_REACH: Final = 1_200
"""Characters of an unfinished line that are looked at."""


class StreamMask:
    """Masks one stream. What comes out is, put together, what :func:`~zidane_lab.secrets.masking.mask` makes of it all.

    Except that a credential known only from the name it stood under is not found before that place. Finished lines
    come out at once, and of an unfinished one all but what looks like the beginning of a credential.
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._held = self._before = ""
        self._guard = threading.Lock()

    def feed(self, text: str) -> str:
        """Take a piece and return what can be shown."""
        self._vault.refresh()
        with self._guard:
            text = self._held + text
            at = self._open_at(text)
            if len(text) - at > _LONGEST:
                at = len(text)
            self._held = text[at:]
            return self._masked(text[:at])

    def finish(self) -> str:
        """Return what waits: nothing more comes, or something else comes first."""
        with self._guard:
            text, self._held = self._held, ""
            return self._masked(text)

    def _masked(self, text: str) -> str:
        """Mask a piece that is complete; whether a word begins at its beginning depends on the character before."""
        if not text:
            return text
        before, self._before = self._before, _IN_WORD if text[-1].isascii() and text[-1].isalnum() else " "
        masked = mask(before + text, self._vault)
        return masked[len(before) :] if masked.startswith(before) else mask(text, self._vault)

    def _open_at(self, text: str) -> int:
        """Return from where on a credential may go on behind the end of the text."""
        opens = [len(text)]
        if "-----BEGIN " in text and (key := _OPEN_KEY.search(text)) is not None:
            opens.append(key.start())
        if (known := self._vault.known.open_at(text)) is not None:
            opens.append(known)
        if text and text[-1] not in "\n\r":
            line = _LINE.search(text, max(0, len(text) - _REACH))
            start = line.start() if line is not None else len(text)
            opens.append(begun_at(text, start))
            if self._vault.patterns:  # who knows where one of the person's own would begin
                opens.append(start)
            at = _token_at(text, min(opens))
            opens += [name.start() for each in _NAMES if (name := each.search(text, start, at)) is not None]
        at = _token_at(text, min(opens))
        if not 0 < at < len(text):
            return at
        shift = len(self._before)  # what is one already is not taken apart either
        found = places(self._before + text, self._vault, learn=False)
        return next((start - shift for start, end, _ in found if start - shift < at < end - shift), at)


def _token_at(text: str, at: int) -> int:
    """Return where the token begins in which a place is: what it is shows at its beginning."""
    while 0 < at < len(text) and not text[at - 1].isspace() and len(text) - at < _LONGEST:
        at -= 1
    return at


class MaskedBytes:
    """The same for bytes of UTF-8 text, as commands print them; what is no text comes through as it is."""

    def __init__(self, vault: Vault) -> None:
        self._stream = StreamMask(vault)
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what can be kept."""
        return self._stream.feed(self._decode(data)).encode("utf-8", "surrogateescape")

    def finish(self) -> bytes:
        """Return what waits."""
        rest = self._stream.feed(self._decode(b"", True)) + self._stream.finish()
        return rest.encode("utf-8", "surrogateescape")
