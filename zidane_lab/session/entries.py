"""One line of a session file: a header first, then entries, each naming the entry it follows.

The file is an append-only tree. Every entry has an ``id`` and a ``parent`` (``null`` for a root); the
conversation is the path from a root to the active leaf, which is the last entry written unless a ``leaf``
entry moved it. Nothing is ever changed in place, and types this version does not know are kept.

======== ==================================================================================================
turn     ``turn``: one turn of the conversation
run      ``run``: a run began (id, prompt, model, cell id, options)
run-end  ``run_id``, ``status``, ``finish``, ``usage``, ``seconds``, ``error``
model    ``model``: the model chosen from here on
title    ``title``, ``source`` (``user`` or ``auto``)
repair   ``what``: what opening the file mended, in words
custom   ``kind``, ``data``: evidence and whatever extensions keep
leaf     ``target``: the entry that is followed from here on (``null``: none, a new root begins)
======== ==================================================================================================

``run`` and ``run-end`` also carry ``summary`` (turns, title, model so far), so that a list of sessions can
be drawn from the ends of their files.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from zidane_lab.errors import SessionError
from zidane_lab.turns import FORMAT_VERSION, now

__all__ = ["Entry", "Header", "dump_line", "entry_from_json", "header_from_json", "new_entry_id", "plain", "timestamp"]

_LONGEST_INT: Final = 13_000
"""Bits; some 3,900 digits, below the limit of Python's own conversion (4,300 digits)."""

_DEEPEST: Final = 90
"""Levels of nesting kept of data that cannot be stored as it is; readers may stand on a deep stack."""


def timestamp() -> str:
    """Return the present moment as stored: ISO 8601 in UTC, to the millisecond."""
    return now().isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: which session this is, and where it began."""

    id: str
    created_at: str = field(default_factory=timestamp)
    notebook: str | None = None
    cwd: str | None = None
    parent_session: str | None = None
    zidane_lab: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the line as data."""
        out: dict[str, Any] = {
            "type": "session",
            "version": FORMAT_VERSION,
            "id": self.id,
            "created_at": self.created_at,
            "notebook": self.notebook,
            "cwd": self.cwd,
            "zidane_lab": self.zidane_lab,
        }
        if self.parent_session is not None:
            out["parent_session"] = self.parent_session
        return out


@dataclass(frozen=True, slots=True)
class Entry:
    """A later line. ``data`` is what its type holds besides the four common fields."""

    type: str
    data: Mapping[str, Any]
    parent: str | None
    id: str
    at: str = field(default_factory=timestamp)

    def to_json(self) -> dict[str, Any]:
        """Return the line as data."""
        return {**self.data, "type": self.type, "id": self.id, "parent": self.parent, "at": self.at}


def new_entry_id(taken: Container[str]) -> str:
    """Mint an entry id of eight hex digits that is not ``taken``."""
    while (minted := secrets.token_hex(4)) in taken:
        pass
    return minted


def header_from_json(raw: object) -> Header:
    """Read the first line.

    Raises
    ------
    SessionError
        It is no header, or one of a newer version.
    """
    if not isinstance(raw, dict) or raw.get("type") != "session" or not isinstance(raw.get("id"), str):
        raise SessionError("The file does not begin as a session.", hint="Choose another file, or start a new session.")
    version = raw.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise SessionError(f"The session says version {version!r}.", hint="Its first line is damaged; start a new one.")
    if version > FORMAT_VERSION:
        raise SessionError(
            f"The session has version {version}; this version of zidane_lab reads up to {FORMAT_VERSION}.",
            hint="Upgrade zidane_lab to open it.",
        )

    def text(name: str) -> str | None:
        return value if isinstance(value := raw.get(name), str) else None

    return Header(
        id=raw["id"],
        created_at=text("created_at") or "",
        notebook=text("notebook"),
        cwd=text("cwd"),
        parent_session=text("parent_session"),
        zidane_lab=text("zidane_lab") or "",
    )


def entry_from_json(raw: object) -> Entry | None:
    """Read a later line; ``None`` if it is no entry."""
    if not isinstance(raw, dict) or "parent" not in raw:  # missing is not null: that would begin a new root
        return None
    kind, entry_id, parent, at = raw.pop("type", None), raw.pop("id", None), raw.pop("parent"), raw.pop("at", "")
    if not (isinstance(kind, str) and isinstance(entry_id, str) and (parent is None or isinstance(parent, str))):
        return None
    return Entry(kind, raw, parent, entry_id, at if isinstance(at, str) else "")


def dump_line(raw: Mapping[str, Any]) -> bytes:
    """Return ``raw`` as one line of JSON in UTF-8, newline included.

    What JSON cannot say never costs a line: it is written as :func:`plain` says it.
    """
    try:
        text = _encode(raw)
    except (TypeError, ValueError, RecursionError):
        text = _encode(plain(raw))
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair: escape it, as JSON can
        return json.dumps(json.loads(text)).encode("ascii") + b"\n"


def _encode(raw: Mapping[str, Any]) -> str:
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":"))


def plain(value: Any, above: tuple[int, ...] = ()) -> Any:
    """Return ``value`` as JSON can say it; ``above`` holds the containers it is in.

    Sets become lists, other objects their ``repr``, keys become strings, and what contains itself or is
    nested too deeply becomes a text saying so.
    """
    if isinstance(value, int) and value.bit_length() > _LONGEST_INT:
        return f"[a number of {value.bit_length():,} bits]"  # Python itself refuses to write or read it as text
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if id(value) in above or len(above) > _DEEPEST:
        return "[nested in itself, or too deeply]"
    above = (*above, id(value))
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): plain(item, above) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, above) for item in value]
    return repr(value)
