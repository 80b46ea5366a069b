"""The credentials of one conversation and the placeholders that stand for them.

A placeholder is ``[secret:github-token:3f9a2c71d0]``: what the value looks like, and a keyed digest of it. So one value
has one placeholder for as long as the key is the same, also in a later kernel, and without the key nothing can be
learnt from it. The values themselves are in memory only: whoever wants one back must have seen it in this process.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import json
import os
import re
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from zidane_lab.secrets.checks import bits
from zidane_lab.secrets.environment import secrets_in
from zidane_lab.secrets.known import SHORTEST, KnownValues
from zidane_lab.secrets.patterns import KINDS
from zidane_lab.secrets.scan import NAMELESS, kind_of

__all__ = ["KEY_FILE", "PLACEHOLDER", "Vault", "session_key"]

KEY_FILE: Final = "placeholders.key"
"""Name of the file in the user's folder with the key of all placeholders."""

_DIGITS: Final = 10
"""Of a digest, in hexadecimal; 40 bits, so that a million credentials would hardly share one."""

_FORMS: Final = ("base64", "hex", "escaped", "part")
_NAMES: Final = "|".join(sorted({kind.name for kind in KINDS} | {NAMELESS}, key=len, reverse=True))
PLACEHOLDER: Final = re.compile(rf"\[secret:(?:{_NAMES})(?:-(?:{'|'.join(_FORMS)}))?:[0-9a-f]{{{_DIGITS},16}}\]")
"""How placeholders look."""

_SEARCHABLE: Final = 12
"""Characters of the shortest value known only from the name it stood under that is looked for everywhere else."""


class Vault:
    """Knows credentials, and turns them into placeholders and back.

    Parameters
    ----------
    key
        Of the digests, from :func:`session_key`; a new one if left out, which no other process will have.
    environ
        Variables to keep an eye on (``os.environ``): what they hold at any time is known.
    names
        Variables that hold credentials although their names do not say so.
    values
        More credentials.
    patterns
        Regular expressions of the person's own: each finds credentials within a line, whole or as its group ``secret``.

    Notes
    -----
    May be used from any thread.
    """

    def __init__(
        self,
        key: bytes | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        names: Collection[str] = (),
        values: Collection[str] = (),
        patterns: Collection[str] = (),
    ) -> None:
        self.patterns = tuple(map(re.compile, patterns))
        self._key = key if key is not None else secrets.token_bytes(32)
        self._environ, self._names = environ, frozenset(names)
        self._seen: object = None
        self._sources: list[Callable[[], Iterable[str]]] = []
        self._guard = threading.RLock()
        self._placeholders: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._added: set[str] = set()
        self.known = KnownValues()
        """What is looked for in every text, in all its forms."""
        for value in values:
            self.add(value)
        self.refresh()

    def __repr__(self) -> str:
        return f"<Vault of {len(self._values)} credentials>"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("A vault stays in its process: it cannot be pickled or copied.")

    def watch(self, source: Callable[[], Iterable[str]]) -> Callable[[], None]:
        """Ask ``source`` for credentials before every text; it must be quick. The returned function ends it."""
        self._sources.append(source)

        def end() -> None:
            self._sources = [each for each in self._sources if each is not source]

        return end

    def refresh(self) -> None:
        """Take in what the environment and whatever else is watched hold now; nearly free when nothing has changed."""
        for source in self._sources:
            for value in source():
                self.add(value)
        if self._environ is None:
            return
        # The mapping behind os.environ can be compared without decoding every value.
        now = getattr(self._environ, "_data", self._environ)
        if now != self._seen:
            self._seen = dict(now)
            for value in secrets_in(dict(self._environ), self._names):
                self.add(value)

    def add(self, value: str) -> str:
        """Look for a credential in every text from now on, also in other forms; return its placeholder.

        One of fewer than eight characters is not looked for.
        """
        placeholder = self.hold(value)
        if value not in self.known and len(value) >= SHORTEST:
            with self._guard:
                self._added.add(value)
                self.known.add(value)
                for form, text in _forms(value):
                    if text != value and len(text) >= SHORTEST:
                        self.hold(text, form=form, of=value)
                        self.known.add(text)
        return placeholder

    def take_over(self, other: Vault) -> None:
        """Take in what another vault has met, whose placeholders are of the same key."""
        with other._guard:
            added, held = sorted(other._added), sorted(other._values.items())
        for value in added:
            self.add(value)
        with self._guard:
            for placeholder, value in held:
                self._values.setdefault(placeholder, value)
                self._placeholders.setdefault(value, placeholder)

    def learn(self, value: str) -> None:
        """Take note of a credential that was met: if nothing else can look like it, it is looked for everywhere."""
        if value not in self.known and _is_telling(value):
            self.add(value)

    def hold(self, value: str, *, form: str = "", of: str | None = None) -> str:
        """Return the placeholder of a text, and remember what it stands for.

        Parameters
        ----------
        form
            What the text is of the credential: ``base64``, ``hex``, ``escaped`` or ``part``.
        of
            The credential, if it is known.
        """
        with self._guard:
            known = self._placeholders.get(value)
            if known is not None:
                return known
            digest = hmac.new(self._key, value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
            name = kind_of(of if of is not None else value) + (f"-{form}" if form else "")
            size = _DIGITS
            placeholder = f"[secret:{name}:{digest[:size]}]"
            while placeholder in self._values:  # of another value
                size += 2
                placeholder = f"[secret:{name}:{digest[:size]}]"
            self._placeholders[value], self._values[placeholder] = placeholder, value
            return placeholder

    def value_of(self, placeholder: str) -> str | None:
        """Return what a placeholder stands for; ``None`` if this process has not seen it."""
        return self._values.get(placeholder)


def _is_telling(value: str) -> bool:
    """Whether a text cannot be anything but this credential, so that it may be looked for in all others."""
    if kind_of(value) != NAMELESS:
        return True
    mixed = any(map(str.isdigit, value)) + any(map(str.isalpha, value)) + any(not char.isalnum() for char in value)
    return len(value) >= _SEARCHABLE and mixed > 1 and bits(value) > 3.0


def _forms(value: str) -> Iterator[tuple[str, str]]:
    """Return the other forms in which a value may be met: escaped, and encoded with whatever may stand before it."""
    for text in (quote(value, safe=""), quote(value), json.dumps(value)[1:-1], repr(value)[1:-1], html.escape(value)):
        yield "escaped", text
    data = value.encode("utf-8", "surrogatepass")
    yield "hex", data.hex()
    if len(data) >= 12:
        for shift in range(3):
            text = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
            ragged = (shift + len(data)) % 3 != 0  # the last character depends on what follows
            text = text[(0, 2, 3)[shift] : len(text) - ragged]
            yield "base64", text
            yield "base64", text.replace("+", "-").replace("/", "_")
    lines = value.replace("\\n", "\n").split("\n")
    if len(lines) > 2:  # a key of several lines is also met a line at a time
        yield from (("part", line) for line in lines if len(line) >= 24 and not line.startswith("-----"))


def session_key(folder: Path | None, session_id: str) -> bytes:
    """Return the key of one conversation's placeholders: the same as long as the user's folder is.

    Parameters
    ----------
    folder
        The user's folder, where the key of all is kept, readable by its owner only; never beside a session.
    session_id
        The conversation: the same credential has another placeholder in each.

    Returns
    -------
    bytes
        A key nobody will have again where the folder cannot be used.
    """
    master = _master(folder) if folder is not None else None
    return hmac.new(master or secrets.token_bytes(32), session_id.encode(), hashlib.sha256).digest()


def _master(folder: Path) -> bytes | None:
    """Read the key of all conversations, or make it; two processes at once agree on one."""
    path = folder / KEY_FILE
    with suppress(OSError):
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            fresh = folder / f".{KEY_FILE}.{secrets.token_hex(8)}"
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(32))
            try:
                os.link(fresh, path)  # fails when another process was first
            except FileExistsError:
                pass
            except OSError:  # no links here
                fresh.replace(path)
            fresh.unlink(missing_ok=True)
        with suppress(ValueError):
            key = bytes.fromhex(path.read_text(encoding="ascii").strip())
            return key if len(key) >= 16 else None
    return None
