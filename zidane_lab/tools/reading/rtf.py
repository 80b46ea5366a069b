"""Rich text as plain text: control words away, characters kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from zidane_lab.tools.reading.source import Source

__all__ = ["MOST_BYTES", "rtf_lines", "rtf_text"]

MOST_BYTES: Final = 16 * 1_048_576

_TOKEN: Final = re.compile(
    r"\\([a-z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9a-fA-F]{2})|\\([^a-z])|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.ASCII
)
"""A control word with its number, a byte, a symbol, a brace, a line end (which says nothing), or text."""
_SKIPPED: Final = frozenset(
    {"colortbl", "datastore", "fldinst", "fonttbl", "footer", "generator", "header", "info", "listoverridetable"}
    | {"listtable", "object", "pict", "pntext", "rsidtbl", "stylesheet", "themedata", "xmlnstbl"}
)
"""Groups that hold no text of the document."""
_STATE: Final = _SKIPPED | {"ansicpg", "uc"}
_CHARS: Final = {
    "par": "\n",
    "line": "\n",
    "page": "\n",
    "sect": "\n",
    "row": "\n",
    "cell": "\t",
    "tab": "\t",
    "emdash": "—",
    "endash": "–",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
}
_SYMBOLS: Final = {"~": "\u00a0", "_": "\u2011", "\\": "\\", "{": "{", "}": "}", "\n": "\n", "\r": "\n"}


def rtf_lines(source: Source) -> Iterator[str]:
    """Yield the text of a document by lines."""
    yield from rtf_text(source.read(MOST_BYTES).decode("latin-1")).split("\n")


def rtf_text(data: str) -> str:
    """Return the text of a document (its source as Latin-1)."""
    reader = _Reader()
    for match in _TOKEN.finditer(data):
        word, number, hexadecimal, symbol, brace, text = match.groups()
        if brace or symbol == "*" or word in _STATE:
            reader.state(brace or symbol or word, number)
        elif not reader.skipping:
            reader.content(word, number, hexadecimal, symbol, text)
    # Characters outside the first plane come as two halves.
    return "".join(reader.out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Reader:
    """The state of a reader: which group it is in, and how bytes are characters."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.skipping = False
        self._stack: list[tuple[bool, int]] = []
        self._fallback, self._left, self._codec = 1, 0, "cp1252"

    def state(self, what: str, number: str | None) -> None:
        """Enter or leave a group, or change how it is read."""
        if what == "{":
            self._stack.append((self.skipping, self._fallback))
        elif what == "}":
            self.skipping, self._fallback = self._stack.pop() if self._stack else (False, 1)
        elif what == "ansicpg":
            self._codec = _codec(f"cp{number}")
        elif what == "uc":
            self._fallback = int(number or 1)
        else:
            self.skipping = True

    def content(
        self, word: str | None, number: str | None, hexadecimal: str | None, symbol: str | None, text: str | None
    ) -> None:
        """Take what is written; after a character by number comes a stand-in for readers that do not know it."""
        if word == "u" and number:
            self.out.append(chr(int(number) % 0x10000))
            self._left = self._fallback
        elif self._left and hexadecimal:
            self._left -= 1
        elif hexadecimal:
            self.out.append(bytes.fromhex(hexadecimal).decode(self._codec, "replace"))
        elif word:
            self.out.append(_CHARS.get(word, ""))
        elif symbol:
            self.out.append(_SYMBOLS.get(symbol, ""))
        elif text:
            taken = min(self._left, len(text))
            self._left -= taken
            self.out.append(text[taken:])


def _codec(name: str) -> str:
    try:
        "".encode(name)
    except LookupError:
        return "cp1252"
    return name
