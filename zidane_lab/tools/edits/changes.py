"""What was changed, with what was there before, so that it can be taken back.

One call makes one set of changes. A session keeps the sets as records and the contents beside it by their hashes, so
undoing (:mod:`~zidane_lab.tools.edits.undo`) works after a restart too.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from zidane_lab.errors import SessionError
from zidane_lab.session.blobs import BlobStore
from zidane_lab.session.read_state import PLACE
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edits.files import Stored
from zidane_lab.tools.places import where_of

__all__ = [
    "CHANGE_SET",
    "CHANGE_UNDONE",
    "ChangeLog",
    "ChangeSet",
    "ChangeStore",
    "FileChange",
    "MemoryStore",
    "SessionStore",
    "change_log_of",
]

CHANGE_SET: Final = "change-set"
"""Kind of the session record of a set of changes."""

CHANGE_UNDONE: Final = "change-undone"
"""Kind of the session record that takes a set back, or says that it never was made: ``{"id": …}``."""

_MEMORY: Final = 64 * 1_048_576
"""Bytes of contents kept in memory, where there is no folder for them; the oldest go first."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file: hashes of its content before and after (``None``: no file), and its mode bits before."""

    path: str
    before: str | None
    after: str | None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What one call changed."""

    id: str
    tool: str
    call_id: str
    files: tuple[FileChange, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        files = [
            {"path": each.path, "before": each.before, "after": each.after, "mode": each.mode} for each in self.files
        ]
        return {"id": self.id, "tool": self.tool, "call_id": self.call_id, "files": files}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> ChangeSet | None:
        """Read it back; ``None`` if it is damaged."""
        files = raw.get("files")
        made, tool, call_id = (raw.get(name) for name in ("id", "tool", "call_id"))
        if not (isinstance(made, str) and isinstance(tool, str) and isinstance(call_id, str)):
            return None
        if not isinstance(files, (list, tuple)):
            return None
        found = [_file_change(each) for each in files]
        if not found or None in found:
            return None
        return cls(made, tool, call_id, tuple(each for each in found if each is not None))


def _file_change(raw: object) -> FileChange | None:
    if not isinstance(raw, Mapping) or not isinstance(path := raw.get("path"), str):
        return None
    before, after, mode = (raw.get(name) for name in ("before", "after", "mode"))
    if not all(each is None or isinstance(each, str) for each in (before, after)):
        return None
    return FileChange(path, before, after, mode if isinstance(mode, int) else None)


class ChangeStore(Protocol):
    """Keeps records and contents."""

    def put(self, data: bytes) -> str:
        """Keep a content and return its sha256; :class:`OSError` if it cannot be kept."""
        ...

    def get(self, sha256: str) -> bytes | None:
        """Return a content; ``None`` if it is gone."""
        ...

    def record(self, kind: str, data: Mapping[str, Any]) -> None:
        """Keep a record; :class:`~zidane_lab.errors.SessionError` if it could not be made safe."""
        ...

    def records(self, kind: str) -> Sequence[Mapping[str, Any]]:
        """Return the records of a kind, oldest first."""
        ...


class MemoryStore:
    """Keeps everything for as long as the process lives; contents up to a number of bytes."""

    def __init__(self, room: int = _MEMORY) -> None:
        self._room = room
        self._contents: dict[str, bytes] = {}
        self._records: list[tuple[str, Mapping[str, Any]]] = []
        self._guard = threading.Lock()

    def put(self, data: bytes) -> str:
        """Keep a content, and drop the oldest ones where there is no room."""
        digest = hashlib.sha256(data).hexdigest()
        with self._guard:
            self._contents.pop(digest, None)
            self._contents[digest] = data
            size = sum(map(len, self._contents.values()))
            while size > self._room and len(self._contents) > 1:
                size -= len(self._contents.pop(next(iter(self._contents))))
        return digest

    def get(self, sha256: str) -> bytes | None:
        """Return a content, if it is still there."""
        return self._contents.get(sha256)

    def record(self, kind: str, data: Mapping[str, Any]) -> None:
        """Keep a record."""
        self._records.append((kind, dict(data)))

    def records(self, kind: str) -> Sequence[Mapping[str, Any]]:
        """Return the records of a kind."""
        return [data for name, data in self._records if name == kind]


@runtime_checkable
class Recorder(Protocol):
    """A session, as far as changes go."""

    @property
    def folder(self) -> Path | None:
        """The session's own folder; ``None`` in memory."""
        ...

    def record(self, kind: str, data: Mapping[str, Any]) -> None:
        """Keep something that is not part of the conversation."""
        ...

    def records(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        """Return what was recorded."""
        ...


class SessionStore:
    """Keeps records in a session and contents in its folder.

    In memory are those of a session that is not written, and those that hold credentials: undoing a change of these
    ends with the process.
    """

    def __init__(self, session: Recorder) -> None:
        self._session = weakref.ref(session)
        self._memory = MemoryStore()

    def _blobs(self) -> BlobStore | None:
        folder = self._owner().folder
        return None if folder is None else BlobStore(folder / "blobs")

    def _owner(self) -> Recorder:
        session = self._session()
        if session is None:
            raise SessionError("The session is gone.", hint="Open it again to go on.")
        return session

    def put(self, data: bytes) -> str:
        """Keep a content beside the session."""
        blobs = self._blobs()
        return self._memory.put(data) if blobs is None or self._is_private(data) else blobs.put(data)

    def _is_private(self, data: bytes) -> bool:
        screen = getattr(self._owner(), "screen", None)
        if screen is None:
            return False
        text = data.decode("utf-8", "replace")
        return bool(screen.text(text) != text)

    def get(self, sha256: str) -> bytes | None:
        """Return a content kept beside the session, or in memory."""
        blobs, held = self._blobs(), self._memory.get(sha256)
        return held if held is not None or blobs is None else blobs.get(sha256)

    def record(self, kind: str, data: Mapping[str, Any]) -> None:
        """Keep a record in the session."""
        self._owner().record(kind, data)

    def records(self, kind: str) -> Sequence[Mapping[str, Any]]:
        """Return records of the session."""
        return self._owner().records(kind)


class ChangeLog:
    """The sets of changes of one conversation in one place.

    Parameters
    ----------
    where
        What tells the place from others: what was changed in one is not taken back in another.
    """

    def __init__(self, store: ChangeStore, where: str = "") -> None:
        self._store, self._where = store, where

    def add(self, tool: str, call_id: str, files: Sequence[tuple[Stored, bytes | None]]) -> ChangeSet:
        """Keep what is about to change, and return the set.

        Parameters
        ----------
        files
            Each file as it is now, and what it will hold (``None``: it will be removed).

        Raises
        ------
        OSError
            A content cannot be kept, so the change could not be taken back.
        """
        changes = tuple(
            FileChange(
                before.path,
                None if before.data is None else self._store.put(before.data),
                None if after is None else self._store.put(after),
                None if before.info is None else before.info.mode,
            )
            for before, after in files
        )
        made = ChangeSet(f"change_{secrets.token_hex(6)}", tool, call_id, changes)
        place = {PLACE: self._where} if self._where else {}
        self._store.record(CHANGE_SET, {**made.to_json(), **place})
        return made

    def drop(self, change_id: str) -> None:
        """Say that a set was taken back, or never made."""
        self._store.record(CHANGE_UNDONE, {"id": change_id})

    def standing(self) -> tuple[ChangeSet, ...]:
        """Return the sets that were not taken back, oldest first."""
        gone = {data.get("id") for data in self._store.records(CHANGE_UNDONE)}
        here = (data for data in self._store.records(CHANGE_SET) if data.get(PLACE, "") == self._where)
        found = (ChangeSet.from_json(data) for data in here)
        return tuple(each for each in found if each is not None and each.id not in gone)

    def content(self, sha256: str) -> bytes | None:
        """Return a content that was kept."""
        return self._store.get(sha256)

    def last_content(self, path: str) -> bytes | None:
        """Return what the last standing change left in a file."""
        for change in reversed(self.standing()):
            for each in change.files:
                if each.path == path:
                    return None if each.after is None else self._store.get(each.after)
        return None


_STORES: Final[weakref.WeakKeyDictionary[object, ChangeStore]] = weakref.WeakKeyDictionary()
_GUARD: Final = threading.Lock()


def change_log_of(context: ToolContext) -> ChangeLog | None:
    """Return the log of the conversation and the place of a call; ``None`` for a call outside of a conversation."""
    owner: object = context.outputs
    if owner is None:
        return None
    with _GUARD:
        if (store := _STORES.get(owner)) is None:
            store = _STORES[owner] = SessionStore(owner) if isinstance(owner, Recorder) else MemoryStore()
        return ChangeLog(store, where_of(context))
