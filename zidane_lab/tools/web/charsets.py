"""Which encoding a text of the web is in: by its own mark, by what the server and the page say, and by what fits.

Only encodings that browsers know are taken. Python has others that pass for text (``punycode``, ``idna``,
``unicode_escape``), and decoding some of them takes time with the square of the length.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

__all__ = ["GUESSED", "decoded"]

GUESSED: Final = "its encoding is not known: read as Windows-1252, letters may be wrong"
"""The note on a text that fits no encoding that it may be in, if it is a text at all."""

_MARKS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_DECLARED: Final = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_DECLARED_WITHIN: Final = 2_048
_LONGEST: Final = 40

_KNOWN: Final = frozenset(
    re.findall(
        r"\S+",
        "utf-8 utf-8-sig utf-16 utf-16-le utf-16-be koi8-r koi8-u mac-roman mac-cyrillic cp866 cp874 cp932 cp949 "
        "gb18030 big5hkscs euc_jp iso2022_jp cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 "
        "iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 "
        "iso8859-15 iso8859-16",
    )
)
_MEANT: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
}
"""What browsers take a name for (https://encoding.spec.whatwg.org/#names-and-labels): the larger set of the same."""
_ALSO: Final = {
    "windows-874": "cp874",
    "windows-31j": "cp932",
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-euc-jp": "euc_jp",
    "x-mac-cyrillic": "mac-cyrillic",
    "iso-8859-8-i": "iso8859-8",
    "unicode-1-1-utf-8": "utf-8",
}
"""Names that browsers know and Python does not."""
_WESTERN: Final = "cp1252"


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
    said = _codec(charset)
    if said == _WESTERN and not names and _is_utf8(data):
        return data.decode("utf-8"), f"the server calls it {charset[:_LONGEST]}, but it is UTF-8"
    names.append(said)
    if is_markup and (match := _DECLARED.search(data[:_DECLARED_WITHIN])):
        own = _codec(match[1].decode("ascii", "replace"))
        # What can be read byte by byte is not UTF-16, whatever it says.
        names.append("utf-8" if own.startswith("utf-16") else own)
    wanted = next((name for name in names if name), "")
    for name in [*names, "utf-8", *(["latin-1"] if wanted == _WESTERN else [])]:
        try:
            if name:
                return data.decode(name), ""
        except ValueError:
            continue
    if wanted in {"", "utf-8", "utf-8-sig"} and _mostly_utf8(data):
        return data.decode("utf-8", "replace"), "some bytes are no UTF-8 and were replaced"
    if wanted not in {"", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"}:
        text = data.decode(wanted, "replace")
        if text.count("\ufffd") <= max(1, len(data) // 1_000):
            return text, f"some bytes are no {wanted} and were replaced"
    return data.decode(_WESTERN, "replace"), GUESSED


def _codec(name: str) -> str:
    """Return what Python calls an encoding, as browsers understand its name; empty for one they do not know."""
    name = name.strip().lower()
    if not name or len(name) > _LONGEST or not name.isascii():
        return ""
    try:
        found = codecs.lookup(_ALSO.get(name, name)).name
    except (LookupError, ValueError):
        return ""
    found = _MEANT.get(found, found)
    return found if found in _KNOWN else ""


def _is_utf8(data: bytes) -> bool:
    """Whether there is more than ASCII, all of it valid UTF-8: no text of a page is that by chance."""
    try:
        return not data.isascii() and bool(data.decode("utf-8"))
    except ValueError:
        return False


def _mostly_utf8(data: bytes) -> bool:
    """Whether text is UTF-8 but for a few bytes, or is cut in the middle of a character."""
    wrong = data.decode("utf-8", "replace").count("\ufffd")
    return wrong <= max(1, len(data) // 1_000)
