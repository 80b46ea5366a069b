"""Rich text as plain text: control words away, characters kept."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["rtf_text"]

_TOKEN: Final = re.compile(
    r"\\([a-z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9a-fA-F]{2})|\\([^a-z])|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.ASCII
)
_SKIPPED: Final = frozenset(
    {"colortbl", "datastore", "fldinst", "fonttbl", "footer", "generator", "header", "info", "listoverridetable"}
    | {"listtable", "object", "pict", "pntext", "rsidtbl", "stylesheet", "themedata", "xmlnstbl"}
)
"""Groups that hold no text of the document."""
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


def rtf_text(data: str) -> str:
    """Return the text of a document (its source as Latin-1)."""
    out: list[str] = []
    stack: list[tuple[bool, int]] = []
    skipping, fallback, left, codec = False, 1, 0, "cp1252"
    for match in _TOKEN.finditer(data):
        word, number, hexadecimal, symbol, brace, text = match.groups()
        if brace == "{":
            stack.append((skipping, fallback))
        elif brace == "}":
            skipping, fallback = stack.pop() if stack else (False, 1)
        elif symbol == "*" or word in _SKIPPED:
            skipping = True
        elif word == "ansicpg" and number:
            codec = _codec(f"cp{number}")
        elif word == "uc":
            fallback = int(number or 1)
        elif skipping:
            continue
        elif word == "u" and number:
            out.append(chr(int(number) % 0x10000))
            left = fallback
        elif left and (hexadecimal or text):
            taken = 1 if hexadecimal else min(left, len(text))
            left -= taken
            out.append("" if hexadecimal else text[taken:])
        elif hexadecimal:
            out.append(bytes.fromhex(hexadecimal).decode(codec, "replace"))
        else:
            out.append(_CHARS.get(word, "") if word else _SYMBOLS.get(symbol, "") if symbol else text or "")
    # Characters outside the first plane come as two halves.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _codec(name: str) -> str:
    try:
        "".encode(name)
    except LookupError:
        return "cp1252"
    return name
