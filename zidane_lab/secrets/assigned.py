"""Values written under the name of a credential: ``password = "…"``, ``"apiKey": "…"``, ``--token …``.

The name says what it is; whether the value is one has to be judged (:func:`~zidane_lab.secrets.checks.is_random`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from zidane_lab.secrets.checks import is_random

__all__ = ["NAME_ANCHORS", "OPEN_VALUE", "assigned"]

_WHOSE: Final = {
    "secret": "client app consumer webhook",
    "password": "db database user admin root smtp mail",
    "key": "api access private secret account auth signing encryption shared master license storage subscription "
    "session service deploy",
    "token": "access auth refresh api bot id session bearer oauth personal",
}
_STRONG: Final = (
    *("password", "passwd", "passphrase", "pwd", "secret", "connection string"),
    *(f"{whose} {what}" for what, owners in _WHOSE.items() for whose in owners.split()),
)
_WEAK: Final = ("token", "credential")


def _written(words: str) -> Iterator[str]:
    """Write words as names do: ``api_key``, ``API-KEY``, ``apiKey``, ``ApiKey``, ``apikey``."""
    parts = words.split()
    for join in ("", "_", "-", " "):
        joined = join.join(parts)
        yield from (joined, joined.upper(), join.join(map(str.capitalize, parts)))
        yield parts[0] + join + join.join(map(str.capitalize, parts[1:])) if parts[1:] else joined


NAME_ANCHORS: Final[dict[str, bool]] = {
    **{form: False for words in _STRONG for form in _written(words)},
    **{form: True for words in _WEAK for form in _written(words)},
}
"""Each way to write a name, and whether it is a weak one, which is used for other things as well."""

_SUFFIX: Final = r"""
    (?: [_-]? (?: access|key|id|value|prod|production|dev|test|staging|live|base|new|old|v?\d{1,2} ) ){0,3}
    (?: \\?["'\]] ){0,3} [ \t]{0,3}"""
_VALUE: Final = re.compile(
    rf"""(?xi) {_SUFFIX} (?P<by> => | := | = | : | , | (?<=[ \t]) )[ \t]{{0,3}} (?: [bru]{{1,2}}(?=\\?["']) )?
    (?: (?P<quote> \\?["'`] ) (?P<quoted> (?: (?!(?P=quote)) (?: \\[^\n\r] | [^\n\r] ) ){{6,512}} ) (?P=quote)
      | (?P<plain> [^\s"'`,;<>()\[\]{{}}|&\\]{{8,512}} ) )"""
)
_WORD: Final = re.compile(r"(?<![a-z])[A-Z]?[a-z]{5,}|(?<![A-Z])[A-Z]{6,}")
_HUMPS: Final = re.compile(r"_|(?<=[a-z0-9])(?=[A-Z])")
_AFTER_CODE: Final = re.compile(r"[ \t]*(?:[,()\]]|=(?!=))")
OPEN_VALUE: Final = re.compile(
    rf"""(?xi) (?<![a-z0-9]) -{{0,2}} (?: {"|".join(dict.fromkeys(re.escape(each.lower()) for each in NAME_ANCHORS))} )
    {_SUFFIX} (?: => | := | = | : | , )? [ \t]{{0,3}} [bru]{{0,2}}
    (?: \\?["'`] [^\n\r]{{0,520}} | [^\s"'`,;<>()\[\]{{}}|&\\]{{0,520}} )? \Z"""
)
"""A name at the end of a text whose value is still to come, or only begun."""


def assigned(text: str, at: int, anchor: str) -> tuple[int, int] | None:
    """Return where the value is that stands behind a name at ``at``; ``None`` if there is none worth keeping back.

    Parameters
    ----------
    anchor
        The name as it is written, one of :data:`NAME_ANCHORS`.
    """
    match = _VALUE.match(text, at + len(anchor))
    if match is None:
        return None
    by, quoted = match["by"], match["quoted"]
    if by in ("", ",") and (quoted is None or not by) and not _is_option(text, at):
        return None
    start, end = match.span("quoted" if quoted is not None else "plain")
    value = text[start:end]
    if quoted is None:
        value = value.rstrip(".:!?")
        end = start + len(value)
        if text[end : end + 1] in ("(", "[") and value.isidentifier():
            return None  # a call: `private_key = b64_to_key(…)`
        if by and _is_identifier(value) and (text[start - 1 : start] in (" ", "\t") or _AFTER_CODE.match(text, end)):
            return None  # another name of a program: `password = user_password_2`, `key: PKCS7PrivateKey`
    return (start, end) if is_random(value, weak=NAME_ANCHORS[anchor]) else None


def _is_identifier(value: str) -> bool:
    """Whether a value without quotes is made of several words, as names in programs are: ``s3_connection``."""
    words = [word for word in _HUMPS.split(value) if word]
    digits = sum(map(str.isdigit, value))
    return (
        value.isidentifier() and digits <= 2 and 1 < len(words) <= len(value) / 3.5 and _WORD.search(value) is not None
    )


def _is_option(text: str, at: int) -> bool:
    """Whether the name is an option of a command line, after which a space is enough."""
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] in "-_"):
        at -= 1
    return text.startswith("-", at)
