"""Bytes of the web as text: decoded by what is known of them, free of what cannot be seen.

Characters without a picture serve to hide words from people that a model reads all the same: letters of the tag
block, characters of no width, marks that turn the direction of writing. They go, with terminal sequences.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

__all__ = ["cleaned", "decoded", "one_line"]

_MARKS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_DECLARED: Final = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_DECLARED_WITHIN: Final = 2_048
_TERMINAL: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls, but not tab and line feed
    "\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""The characters that join and separate letters in several scripts, U+200C and U+200D, are none of these."""
_BREAKS: Final = re.compile("\r\n?|[\u2028\u2029\x85]")


def decoded(data: bytes, charset: str, *, is_markup: bool = False) -> tuple[str, str]:
    """Return bytes as text, and a note where that took a guess.

    Parameters
    ----------
    charset
        What the server says; a byte order mark counts more.
    is_markup
        The text itself may say its encoding near its beginning.
    """
    names = [name for mark, name in _MARKS if data.startswith(mark)]
    names.append(charset)
    if is_markup and (match := _DECLARED.search(data[:_DECLARED_WITHIN])):
        names.append(match[1].decode("ascii", "replace"))
    for name in [*names, "utf-8"]:
        try:
            if name and codecs.lookup(name)._is_text_encoding:  # noqa: SLF001 - as str.decode does
                return data.decode(name), ""
        except (LookupError, ValueError):
            continue
    wanted = next((name for name in names if _is_codec(name)), "utf-8")
    if wanted.replace("_", "-").lower() in {"utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii"} and _mostly_utf8(data):
        return data.decode("utf-8", "replace"), "some bytes are no UTF-8 and were replaced"
    return data.decode("cp1252", "replace"), "its encoding is not known: read as Windows-1252, letters may be wrong"


def cleaned(text: str) -> str:
    """Return text with plain line ends and without terminal sequences and characters that cannot be seen."""
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    return _UNSEEN.sub("", _BREAKS.sub("\n", text))


def one_line(text: str, most: int) -> str:
    """Return text on one line of at most ``most`` characters."""
    line = " ".join(cleaned(text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _is_codec(name: str) -> bool:
    try:
        return bool(name) and codecs.lookup(name) is not None
    except (LookupError, ValueError):
        return False


def _mostly_utf8(data: bytes) -> bool:
    """Whether text is UTF-8 but for a few bytes, or is cut in the middle of a character."""
    wrong = data.decode("utf-8", "replace").count("\ufffd")
    return wrong <= max(1, len(data) // 1_000)
