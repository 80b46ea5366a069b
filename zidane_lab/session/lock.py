"""Who writes a session: one process at a time, and everybody can read which.

The file ``<id>.lock`` holds ``{"pid", "host", "kernel", "started"}`` for people, and an advisory lock of
the operating system for certainty: the system drops it when the process dies, however it dies, so a lock
left behind is taken over at once and a process number used again fools nobody. Only where the file system
cannot lock do the contents decide: a living process of this machine, or any process of another one, is
left its session.

A lock can also be *lost*: a person deletes the file, or a file system that pretends to lock lets another
machine in. :meth:`SessionLock.check` notices before each write.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sys
import time
import weakref
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from zidane_lab.errors import SessionLockedError
from zidane_lab.session.entries import timestamp

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["Owner", "SessionLock", "locked_by"]

_TRIES: Final = 5
_PAUSE: Final = 0.02
"""Seconds between tries: :func:`locked_by` holds a shared lock for an instant, which is no reason to refuse."""
_UNSUPPORTED: Final = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL})
_FAR: Final = 1 << 30
"""Windows locks bytes against reading too, so one far behind the contents is locked."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lock."""

    pid: int = field(default_factory=os.getpid)
    host: str = field(default_factory=socket.gethostname)
    kernel: str = ""
    started: str = field(default_factory=timestamp)

    def __str__(self) -> str:
        kernel = f", kernel {self.kernel}" if self.kernel else ""
        return f"process {self.pid} on {self.host}{kernel}, since {self.started}"

    @property
    def may_live(self) -> bool:
        """Whether it is, as far as can be told from here, still running."""
        if self.host != socket.gethostname() or sys.platform == "win32":  # no harmless way to ask
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except (OSError, OverflowError):
            return True
        return True


class SessionLock:
    """The right to write one session, held from :meth:`acquire` to :meth:`release`."""

    def __init__(self, path: Path, owner: Owner, handle: int, contents: bytes) -> None:
        self.path, self.owner = path, owner
        self._handle: int | None = handle
        self._contents = contents
        self._let_go = weakref.finalize(self, _release, handle, path)  # also when nobody closed the session
        _held.add(self)

    @classmethod
    def acquire(cls, path: Path, owner: Owner) -> SessionLock:
        """Take the lock, or take it over from a process that is gone.

        Raises
        ------
        SessionLockedError
            Somebody is writing this session; the message says who.
        OSError
            The lock file cannot be made (a read-only folder).
        """
        contents = json.dumps(asdict(owner)).encode()
        for _ in range(_TRIES):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
            try:
                got = _try_lock(handle)
                before = _read_owner(handle)
                if got is None:  # this file system cannot lock
                    got = before is None or not before.may_live
                if got and _same_file(handle, path):
                    os.ftruncate(handle, 0)
                    os.lseek(handle, 0, os.SEEK_SET)
                    os.write(handle, contents)
                    taken, handle = handle, -1
                    return cls(path, owner, taken, contents)
            finally:
                if handle >= 0:
                    os.close(handle)
            if not got:
                time.sleep(_PAUSE)
        raise SessionLockedError(f"This session is being written by {before or 'another process'}.")

    def check(self) -> None:
        """Make sure the lock is still ours.

        Raises
        ------
        SessionLockedError
            The lock file was deleted or taken over, or this process is a fork of the one that took it.
        """
        if self._handle is None or self.owner.pid != os.getpid():
            raise SessionLockedError("This process does not hold the session's lock.")
        os.lseek(self._handle, 0, os.SEEK_SET)
        if os.fstat(self._handle).st_nlink == 0 or os.read(self._handle, 4096) != self._contents:
            raise SessionLockedError("The session's lock was deleted or taken over by another process.")

    def release(self) -> None:
        """Give the lock back; harmless when it was lost or given back before."""
        self._handle = None
        self._let_go()

    def _forget(self) -> None:
        """In a fork: drop the inherited handle, or the lock would outlive the process that took it."""
        if self._let_go.detach() is not None and self._handle is not None:
            os.close(self._handle)
        self._handle = None


def _release(handle: int, path: Path) -> None:
    try:
        if _same_file(handle, path):
            os.ftruncate(handle, 0)
            with contextlib.suppress(OSError):  # Windows refuses while it is open; empty says as much
                path.unlink()
    finally:
        os.close(handle)


_held: weakref.WeakSet[SessionLock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_held):
        lock._forget()  # noqa: SLF001 - same module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def locked_by(path: Path) -> Owner | None:
    """Return who writes the session whose lock file is ``path``, or ``None``.

    A process that left without a trace of its name is an owner with ``pid`` 0.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        free = _try_lock(handle, shared=True)
        owner = _read_owner(handle)
        if free is None:
            return owner if owner is not None and owner.may_live else None
        return None if free else owner or Owner(pid=0, host="unknown", started="unknown")
    finally:
        os.close(handle)


def _try_lock(handle: int, *, shared: bool = False) -> bool | None:
    """Try to lock an open file: done, refused, or (``None``) this file system cannot."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        return None if error.errno in _UNSUPPORTED else False
    return True


def _same_file(handle: int, path: Path) -> bool:
    """Whether ``path`` still names the open file, not one made after it was deleted."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat(follow_symlinks=False))
    except OSError:
        return False


def _read_owner(handle: int) -> Owner | None:
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        raw = json.loads(os.read(handle, 4096))
        return Owner(int(raw["pid"]), str(raw["host"]), str(raw["kernel"]), str(raw["started"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
