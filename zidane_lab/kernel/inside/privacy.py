"""What is never shown although it is there: credentials by their name, and the process environment.

A name says it best: ``OPENAI_API_KEY``, ``db_password``, ``authToken``. This is a courtesy towards a person
who has such a value in a variable, not a wall: code that is allowed to run can print anything.
"""

from __future__ import annotations

import os
import re
from typing import Any

from zidane_lab.kernel.inside.static import subclass_of

__all__ = ["hides", "is_environment", "is_secret_name", "without_passwords"]

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS = frozenset(
    (
        *("password", "passwd", "passphrase", "secret", "secrets", "token", "apikey"),
        *("credential", "credentials", "authorization", "bearer", "cookie"),
    )
)
_SECRET_PAIRS = frozenset(
    {("api", "key"), ("access", "key"), ("private", "key"), ("secret", "key"), ("auth", "key"), ("signing", "key")}
)
_URL_PASSWORD = re.compile(r"(://[^/\s:@]{0,200}:)[^@\s/]{1,400}(?=@|$)")
_PLACE = ("HOME", "USER", "USERPROFILE", "SYSTEMROOT", "SHELL", "PWD", "LOGNAME", "LANG")


def is_secret_name(name: object) -> bool:
    """Whether a name says that it holds a credential (``max_tokens`` and ``tokenizer`` do not)."""
    if type(name) is not str or len(name) > 200:
        return False
    words = [word.lower() for word in _WORDS.findall(name)]
    return any(word in _SECRET_WORDS for word in words) or any(
        (words[i], words[i + 1]) in _SECRET_PAIRS for i in range(len(words) - 1)
    )


def hides(name: object, value: object) -> bool:
    """Whether ``value`` is not to be shown under ``name``: text or bytes under a credential's name."""
    cls = type(value)
    return (subclass_of(cls, str) or subclass_of(cls, bytes)) and is_secret_name(name)


def is_environment(mapping: Any) -> bool:
    """Whether a mapping is the process environment, or a plain copy of one."""
    if type(mapping) is type(os.environ):
        return True
    return (
        subclass_of(type(mapping), dict)
        and dict.__contains__(mapping, "PATH")
        and any(dict.__contains__(mapping, name) for name in _PLACE)
    )


def without_passwords(text: str) -> str:
    """Blank the password in addresses such as ``postgresql://me:secret@host/db``."""
    return _URL_PASSWORD.sub(r"\1…", text) if "://" in text else text
