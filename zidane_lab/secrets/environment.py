"""Credentials in the environment: known by the names of the variables, whatever they look like."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from zidane_lab.secrets.checks import bits, is_stand_in
from zidane_lab.secrets.known import SHORTEST
from zidane_lab.secrets.scan import scan

__all__ = ["is_secret_name", "secrets_in"]

_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CREDENTIAL_WORDS: Final = (
    "key keys apikey secret secrets token tokens password passwords passwd pass passphrase passcode pwd auth oauth "
    "credential credentials private bearer jwt cookie dsn pat"
)
_LOOSE_WORDS: Final = "key keys pass auth private pat cookie bearer"
_OTHER_WORDS: Final = (
    "file path dir folder url uri host hostname port sock socket name user username email type mode ttl timeout "
    "lifetime expiry expires algorithm region endpoint provider method enabled disabled cmd command agent prefix scope "
    "scopes version length size limit count column columns col cols field fields pattern regex rate"
)
_COMMON_WORDS: Final = (
    "password postgres postgresql localhost anonymous username administrator security production development "
    "optional required disabled enabled automatic interactive publickey keyring standard internal external basicauth "
    "negotiate kerberos developer database changeit"
)
_SECRET: Final = frozenset(_CREDENTIAL_WORDS.split())
_COMMON: Final = frozenset(_COMMON_WORDS.split())
_LOOSE: Final = frozenset(_LOOSE_WORDS.split())
_WORDS: Final = re.compile(r"[a-z]+(?:[ _-][a-z]+)*|[A-Z]+(?:_[A-Z]+)*")
_ENDINGS: Final = ("password", "passwd", "secret", "token", "apikey")
_OTHER: Final = frozenset(_OTHER_WORDS.split())
"""A variable whose name ends so tells where a credential is, or how it is used: ``SSH_AUTH_SOCK``."""

_PATH: Final = re.compile(r"(?:~|\.{1,2})?(?:/[\w.@+ -]+)+/?|[A-Za-z]:\\.*")
_NUMBER: Final = re.compile(r"[-+]?[\d.,:_-]+[a-zA-Z]{0,2}")
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^:@\s]*(?::\d+[^@\s]*)?")


def is_secret_name(name: str) -> bool:
    """Whether a variable's name says that it holds a credential: one of its words does, and the last not otherwise."""
    words = [word.lower() for word in _PARTS.findall(name)]
    if len(words) < 2 and words[:1] in (["pwd"], ["key"], ["keys"], ["auth"], ["pat"]):
        return False
    return any(word in _SECRET or word.endswith(_ENDINGS) for word in words) and words[-1] not in _OTHER


def secrets_in(environ: Mapping[str, str], names: Collection[str] = ()) -> Iterator[str]:
    """Return the credentials in an environment.

    Parameters
    ----------
    environ
        Names and values of the variables.
    names
        Variables that hold credentials although their names do not say so.
    """
    for name, value in environ.items():
        if len(value) < SHORTEST:
            continue
        if name in names or (is_secret_name(name) and not (_is_ordinary(value) or _is_word(name, value))):
            yield value
        elif "://" in value or "-" in value or "_" in value:  # an address with a password, a key under any name
            yield from (value[start:end] for start, end, _ in scan(value) if end - start >= SHORTEST)


def _is_word(name: str, value: str) -> bool:
    """Whether a value is of small words and its variable's name speaks of keys of many sorts: ``SORT_KEY=user_id``."""
    words = {word.lower() for word in _PARTS.findall(name)}
    strong = any(word in _SECRET - _LOOSE or word.endswith(_ENDINGS) for word in words) or words & {"api", "access"}
    return not strong and _WORDS.fullmatch(value) is not None


def _is_ordinary(value: str) -> bool:
    """Whether a value is no credential whatever the variable is called: hiding it would hide half of all outputs."""
    return (
        value.lower() in _COMMON
        or is_stand_in(value)
        or _NUMBER.fullmatch(value) is not None
        or _ADDRESS.fullmatch(value) is not None
        or (_PATH.fullmatch(value) is not None and bits(value) < 4.2)
    )
