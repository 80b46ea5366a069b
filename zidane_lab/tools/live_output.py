"""What the person sees of a command while it runs: decoded, harmless for a terminal, bundled, and bounded.

Colours, carriage returns and backspaces stay, for whoever draws them. Sequences that set titles, clipboards or
anything else of a terminal are taken out, also when they come in pieces.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Callable
from typing import Final

from zidane_lab.contexts.base import OutputStream

__all__ = ["LIVE_CHARACTERS", "Harmless", "LiveOutput"]

FLUSH_SECONDS: Final = 0.05
"""How long pieces are gathered before they are shown."""

LIVE_CHARACTERS: Final = 200_000
"""Characters of one command shown live. A page that gets every line of a chatty program stops being usable."""

_TEXT: Final = r"\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\"
_ESCAPE: Final = re.compile(rf"\x1b(?:(?P<color>\[[0-9;:]*m)|\[[0-?]*[ -/]*[@-~]|{_TEXT}|[ -/]*[0-Z\\-~])?")
_CONTROL: Final = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
_LONGEST_ESCAPE: Final = 4_096
"""Characters of an escape sequence that are waited for; what is longer is none."""


class Harmless:
    """Takes out of a text, piece by piece, what would do something to a terminal."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str, *, final: bool = False) -> str:
        """Return what can be shown now; the beginning of an escape sequence waits for its end."""
        text, self._held = self._held + text, ""
        if not final and (begun := _begun_at(text)) is not None:
            text, self._held = text[:begun], text[begun:]
        return _CONTROL.sub("", _ESCAPE.sub(lambda match: match[0] if match["color"] else "", text))


def _begun_at(text: str) -> int | None:
    """Return where an escape sequence begins that has not ended by the end of the text."""
    window = max(0, len(text) - _LONGEST_ESCAPE)
    at = text.find("\x1b", window)
    while at >= 0:
        match = _ESCAPE.match(text, at)
        if match is None or match.end() <= at + 1:
            return at  # nothing after ESC makes a sequence yet
        if match.end() == at + 2 and text[at + 1] in "[]PX^_":
            return at  # only an introducer: the rest is still to come
        at = text.find("\x1b", match.end())
    return None


class LiveOutput:
    """Shows output as it comes.

    Parameters
    ----------
    show
        Shows a text of a stream (``stdout``, ``stderr``) to the person.
    limit
        Most characters shown; then one line says that the rest is not.
    """

    def __init__(self, show: Callable[[str, str], None], *, limit: int = LIVE_CHARACTERS) -> None:
        self._show, self._room = show, limit
        self._harmless: dict[str, Harmless] = {"stdout": Harmless(), "stderr": Harmless()}
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in self._harmless}
        self._waiting: list[tuple[str, str]] = []
        self._timer: asyncio.TimerHandle | None = None

    def take(self, stream: OutputStream, data: bytes) -> None:
        """Take a piece; it is shown within a moment."""
        if self._room <= 0:
            return
        if b"\0" in data:
            self._room = 0
            self._waiting.append((stream, "\n[binary output; it is not shown]\n"))
        elif text := self._harmless[stream].feed(self._decoders[stream].decode(data)):
            self._add(stream, text)
        if self._waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)

    def _add(self, stream: str, text: str) -> None:
        self._waiting.append((stream, text[: self._room]))
        self._room -= len(text)
        if self._room <= 0:
            self._waiting.append((stream, "\n[more output is coming; it is not shown here while it does]\n"))

    def flush(self) -> None:
        """Show what waits, neighbouring pieces of a stream as one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        at = 0
        while at < len(waiting):
            stream = waiting[at][0]
            texts = []
            while at < len(waiting) and waiting[at][0] == stream:
                texts.append(waiting[at][1])
                at += 1
            self._show(stream, "".join(texts))

    def close(self) -> None:
        """Show the last of it."""
        if self._room > 0:
            for stream, harmless in self._harmless.items():
                if rest := harmless.feed(self._decoders[stream].decode(b"", True), final=True):
                    self._add(stream, rest)
        self.flush()
