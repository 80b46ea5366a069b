"""What tells a credential from an ordinary text: variety, and the checksums and structures of those that have one."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import zlib
from collections import Counter
from typing import Final

__all__ = [
    "bits",
    "has_checksum",
    "is_jwt",
    "is_random",
    "is_stand_in",
    "is_varied",
    "is_varied_key",
]

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_STAND_IN: Final = re.compile(
    r"""(?ix) [\W_]* (?: x{3,} | y{3,} | \*{2,} | \.{3} | …
        | your | my[-_ ]? (?:secret|token|key|password|api) | example | sample | dummy | fake | placeholder | redacted
        | change[-_ ]?(?:me|it) | insert | replace | enter | todo | none | null | true | false | undefined | unknown
        | not[-_ ]?(?:set|given|available|provided) | hidden | masked | removed | optional | required | default ) .*
    | <[^<>]*> | [$%]?\{+[^{}]*\}+ | \$\(.*\) | \$[A-Za-z_][A-Za-z_0-9]* | %[A-Za-z_]+% | %\(\w+\)\w | %\w"""
)
_EXAMPLE: Final = re.compile(
    r"(?i)example|xxxx|\*\*\*\*|1234567890abcdef1234|abcdefghijklmnopqrstuvwxyz|0123456789abcdef01"
)
_RUN: Final = re.compile(r"(.)\1{7}")


def bits(text: str) -> float:
    """Return the Shannon entropy of a text's characters, in bits per character."""
    total = len(text)
    return -sum(count / total * math.log2(count / total) for count in Counter(text).values()) if total else 0.0


def is_stand_in(text: str) -> bool:
    """Whether a text stands where a credential would: ``your-key-here``, ``****``, ``$TOKEN``, ``None``."""
    return _STAND_IN.fullmatch(text) is not None or _RUN.search(text) is not None


def is_varied(body: str) -> bool:
    """Whether what follows the fixed beginning of a key may be one, and not ``xxxx`` or a word of a documentation."""
    return len(set(body)) >= min(9, len(body) * 2 // 3) and not _RUN.search(body) and not _EXAMPLE.search(body)


def is_varied_key(body: str) -> bool:
    """The same for beginnings that words have too: there must be digits and letters, and no rhythm of words."""
    digits = sum(map(str.isdigit, body))
    return is_varied(body) and digits >= max(2, len(body) // 20) and any(map(str.isalpha, body)) and bits(body) > 2.9


def is_random(text: str, *, least: int = 8, weak: bool = False) -> bool:
    """Whether a value given under a credential's name is one.

    Parameters
    ----------
    least
        Characters it must have.
    weak
        The name is also used for other things (``token`` of a text): ask for more.
    """
    if len(text) < least or is_stand_in(text) or _EXAMPLE.search(text):
        return False
    if _ORDINARY.fullmatch(text) and not _KEY_LIKE_A_PATH.fullmatch(text):
        return False
    digits = sum(map(str.isdigit, text))
    lower, upper = any(map(str.islower, text)), any(map(str.isupper, text))
    symbols = any(not char.isalnum() and char not in "_-.:/ " for char in text)
    if weak:
        if len(text) < 16 or not digits or not (lower or upper) or " " in text or not text.isascii():
            return False
        return (digits >= 3 and bits(text) > 3.0) or (lower and upper and bits(text) > 3.8)
    if not (lower or upper) or not (digits or symbols):
        return False
    return len(set(text)) >= 6 and bits(text) > 2.5


_ORDINARY: Final = re.compile(
    r"""(?x) [-+]?[\d.,_]+(?:[eE][-+]?\d{1,3})? [a-zA-Z%]{0,3}                     # a number, with a unit perhaps
    | \d{4}-\d\d-\d\d (?:[T ][\d:.,+Z-]+)? | \d\d?[./]\d\d?[./]\d{2,4}          # a date
    | [A-Za-z_]\w* (?:\.[A-Za-z_]\w*)+ (?:\(.*)? | [A-Za-z_]\w*\(.* | [A-Za-z_]\w*\[.*   # an attribute, a call, an item
    | (?:~|\.{1,2})?/[\w./ -]* | (?:.*[/\\])?\.\.(?:[/\\].*)?                   # a path
    | [A-Za-z]:\\.* | [\w./-]+\.[a-z]{2,5}                                     # and a file
    | [a-z][a-z0-9+.-]*://[^:@\s]*                                            # an address without a password
    | <.* | [A-Za-z_]{1,40}=\w* | .*["']\s*[,:=].* """
)


_KEY_LIKE_A_PATH: Final = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])/[A-Za-z0-9]{24,}(?:/[A-Za-z0-9]+)*")
"""Base64 that begins with the sign which folders have, too."""


def has_checksum(body: str) -> bool:
    """Whether the last six characters are the CRC-32 of those before them, as GitHub and npm write it (base 62)."""
    number, digits = zlib.crc32(body[:-6].encode()), ""
    while number:
        number, rest = divmod(number, 62)
        digits = _BASE62[rest] + digits
    return digits.rjust(6, "0") == body[-6:]


def is_jwt(token: str) -> bool:
    """Whether a text with dots begins with the header of a JSON Web Token."""
    header = _json(token.partition(".")[0])
    return isinstance(header, dict) and ("alg" in header or "enc" in header or "typ" in header)


def _json(part: str) -> object:
    try:
        return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
