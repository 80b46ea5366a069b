"""Between a session and what keeps it: the interface, a store in memory, and one session's files.

A store takes entries in order and has them safe when ``append`` returns. :class:`FileStore` is the one
behind notebooks; others (a database, a service) need only the same few methods.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import Protocol

from zidane_lab.errors import SessionError, SessionLockedError
from zidane_lab.session.blobs import BlobStore, restore, take_out
from zidane_lab.session.entries import Entry, Header, dump_line, plain
from zidane_lab.session.journal import Journal, OpenFile
from zidane_lab.session.layout import SessionPaths, make_folder, paths_of, safe_name
from zidane_lab.session.lock import Owner, SessionLock
from zidane_lab.session.numbered import write_numbered
from zidane_lab.session.reader import Contents, read_session

__all__ = ["FileStore", "MemoryStore", "Store", "read_file"]


class Store(Protocol):
    """Keeps one session."""

    @property
    def header(self) -> Header:
        """Which session it is."""
        ...

    @property
    def path(self) -> Path | None:
        """The file a person can look at, if there is one."""
        ...

    @property
    def folder(self) -> Path | None:
        """Where files that belong to the session go, if anywhere."""
        ...

    @property
    def unsaved(self) -> int:
        """Entries taken in that are not safe yet."""
        ...

    def load(self) -> Contents:
        """Return what is kept, and begin to hold the session for writing.

        Raises
        ------
        SessionLockedError
            Another process is writing it.
        SessionError
            It cannot be read.
        """
        ...

    def append(self, entries: Sequence[Entry]) -> None:
        """Keep ``entries``, after everything taken in before; they are safe on return.

        Raises
        ------
        SessionError
            They could not be kept. Raised once for a trouble that lasts: the entries wait, in order, and
            each later call tries again, silently, until it succeeds.
        """
        ...

    def save_output(self, name: str, text: str) -> Path | None:
        """Keep a full output in a file; ``None`` if it could not be kept."""
        ...

    def close(self) -> None:
        """Let go of the session.

        Raises
        ------
        SessionError
            Entries are still not safe, after one more try.
        """
        ...


class MemoryStore:
    """Keeps nothing beyond the process: for tests, subagents and throw-away conversations."""

    path: Path | None = None
    folder: Path | None = None
    unsaved: int = 0

    def __init__(self, header: Header) -> None:
        self.header = header

    def load(self) -> Contents:
        """Return the empty session."""
        return Contents(self.header, (), (), 0)

    def append(self, entries: Sequence[Entry]) -> None:
        """Take ``entries`` as kept: the session itself holds what they say."""

    def save_output(self, name: str, text: str) -> Path | None:
        """Keep nothing."""
        del name, text
        return None

    def close(self) -> None:
        """Let go of nothing."""


def read_file(path: Path) -> Contents:
    """Read a session's file without holding it, and without mending it.

    Raises
    ------
    SessionError
        It cannot be read or is no session.
    """
    paths = paths_of(path)
    blobs = BlobStore(paths.blobs)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error}.", hint="Check the path and your rights to it.") from error
    return read_session(data, lambda raw: restore(raw, blobs.get))


class FileStore:
    """Keeps a session in its file and folder; nothing is made before the first entry.

    Parameters
    ----------
    paths
        Where.
    header
        The first line of a session that does not exist yet; ``None`` to open one that does.
    owner
        Who is writing, for the lock.
    seed
        Entries a new session begins with; they make it exist at once.
    open_file
        Opens the session's file.
    """

    def __init__(
        self,
        paths: SessionPaths,
        header: Header | None,
        owner: Owner,
        *,
        seed: Sequence[Entry] = (),
        open_file: OpenFile = FileIO,
    ) -> None:
        self._paths, self._header, self._owner = paths, header, owner
        self._seed, self._open_file = tuple(seed), open_file
        self._new = header is not None
        self._blobs = BlobStore(paths.blobs)
        self._lock: SessionLock | None = None
        self._journal = Journal(paths.file, None, open_file)
        self._contents: Contents | None = None  # only while its end is to be mended
        self._backlog: list[Entry] = []
        self._failing = False

    @property
    def header(self) -> Header:
        """Which session it is; known once it is loaded."""
        if self._header is None:
            raise SessionError("The session is not loaded yet.", hint="Use Session.open.")
        return self._header

    @property
    def path(self) -> Path:
        """The session's file; it need not exist yet."""
        return self._paths.file

    @property
    def folder(self) -> Path:
        """Where its outputs, blobs and tasks go; it need not exist yet."""
        return self._paths.folder

    @property
    def unsaved(self) -> int:
        """Entries that wait for the disk."""
        return len(self._backlog)

    def load(self) -> Contents:
        """Take the lock, read the file and mend its end (see :class:`Store`).

        In a folder that cannot be written the session opens all the same; keeping entries fails later.
        """
        if self._new:
            return self._begin()
        if not self._paths.file.is_file():
            raise SessionError(f"There is no session {self._paths.file}.", hint="`%zidane /sessions` lists them.")
        with contextlib.suppress(OSError):
            self._lock = SessionLock.acquire(self._paths.lock, self._owner)
        try:
            contents = read_file(self._paths.file)
        except SessionError:
            self._let_go()
            raise
        self._header, self._contents = contents.header, contents
        self._journal = Journal(self._paths.file, contents.size, self._open_file)
        if self._lock is not None:
            with contextlib.suppress(OSError):  # tried again before the first entry
                self._mend()
        return contents

    def _begin(self) -> Contents:
        try:
            self.append(self._seed)
        except SessionError:
            self._let_go()
            raise
        return Contents(self.header, self._seed, (), 0)

    def append(self, entries: Sequence[Entry]) -> None:
        """Write ``entries`` and wait until they are on disk (see :class:`Store`)."""
        self._backlog.extend(entries)
        try:
            self._flush()
        except OSError as error:
            if self._failing:
                return
            self._failing = True
            raise SessionError(
                f"The session cannot be saved to {self._paths.file}: {error}.",
                hint="The conversation goes on in memory. Free some space, or make the folder writable: what is "
                "missing is written then, in order.",
            ) from error
        self._failing = False

    def _flush(self) -> None:
        if not self._backlog:
            return
        if self._lock is None:
            if self._new:
                make_folder(self._paths.parent)
            self._lock = SessionLock.acquire(self._paths.lock, self._owner)
        try:
            self._lock.check()
        except SessionLockedError:  # a lock file somebody deleted is no reason to stop: try to take it anew
            self._lock.release()
            self._lock = None
            self._lock = SessionLock.acquire(self._paths.lock, self._owner)
        self._mend()
        lines = [self._line(entry) for entry in self._backlog]
        if self._new:
            lines.insert(0, dump_line(self.header.to_json()))
        self._journal.append(b"".join(lines))
        self._new = False
        self._backlog.clear()

    def _line(self, entry: Entry) -> bytes:
        """Encode an entry; what it refers to is on disk before it is."""
        raw = entry.to_json()
        try:
            return dump_line(take_out(raw, self._blobs.put))
        except RecursionError:
            return dump_line(take_out(plain(raw), self._blobs.put))

    def _mend(self) -> None:
        """Put a torn end aside, or give a whole one its newline."""
        if self._contents is None:
            return
        if torn := self._contents.torn:
            write_numbered(self._paths.folder, "", "torn-", ".txt", torn)
            self._journal.cut(self._contents.size - len(torn))
        elif self._contents.unended:
            self._journal.append(b"\n")
        self._contents = None

    def save_output(self, name: str, text: str) -> Path | None:
        """Write a full output to ``outputs/<n>.<name>.txt``; ``None`` if that is not possible now."""
        label = safe_name(name)
        data = text.encode("utf-8", "backslashreplace")
        try:
            if self._new:
                make_folder(self._paths.parent)
            return write_numbered(self._paths.folder, self._paths.outputs.name, "", f".{label}.txt", data)
        except OSError:
            return None

    def close(self) -> None:
        """Write what still waits, close the file and release the lock (see :class:`Store`)."""
        trouble: Exception | None = None
        try:
            self._flush()
        except (OSError, SessionLockedError) as error:
            trouble = error
        self._let_go()
        if trouble is not None:
            raise SessionError(
                f"{self.unsaved} entries of the session could not be saved to {self._paths.file}: {trouble}",
                hint="They are lost with this process; what was saved before them is safe.",
            ) from trouble

    def _let_go(self) -> None:
        self._journal.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None
