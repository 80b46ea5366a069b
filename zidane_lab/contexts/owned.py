"""The processes we have started on this machine: who they are, whose they are, and their end when the kernel ends.

Each command leads a process group of its own. On a normal exit what is left is ended here; after a ``kill -9`` a
small helper process does it (:mod:`zidane_lab.contexts.watchman`; not on Windows). A forked child of the kernel owns
nothing. What puts itself into another session and loses its parent (a daemon) escapes both, on purpose or not.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

from zidane_lab.contexts.process_groups import Process, alive, end_families

__all__ = ["OwnedProcess", "Role", "describe", "disown", "end_owned", "leave", "own", "owned_processes"]

Role: TypeAlias = Literal["command", "task", "monitor", "left-behind"]
"""``left-behind``: its command has ended, but something it started still runs."""

_EXIT_GRACE: Final = 0.5
"""Seconds that commands get to end by themselves when the kernel exits."""


@dataclass(frozen=True, slots=True)
class OwnedProcess:
    """A command we started that has not ended entirely.

    Parameters
    ----------
    pid
        Its process id, which is also its group's.
    label
        For people: the command line.
    session_id
        The session it was started for, if any.
    left
        What it left running, when it has ended itself.
    """

    pid: int
    role: Role
    label: str
    session_id: str | None = None
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    left: tuple[Process, ...] = field(default=(), repr=False)


class _Book:
    """The one list of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.process = os.getpid()
        self.entries: dict[int, OwnedProcess] = {}
        self.watchman: subprocess.Popen[bytes] | None = None
        self.prepared = False

    def prepare(self) -> None:
        """Arrange for the kernel's end, with the first command."""
        if self.prepared:
            return
        self.prepared = True
        atexit.register(self.at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)
        if os.name == "posix" and sys.executable:
            script = Path(__file__).with_name("watchman.py")
            with contextlib.suppress(OSError):  # without it only `kill -9` of the kernel leaves something behind
                self.watchman = subprocess.Popen(  # noqa: S603 - our own script, by our own interpreter
                    [sys.executable, "-I", "-S", str(script), str(self.process)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    start_new_session=True,
                    bufsize=0,
                )

    def tell(self, order: str) -> None:
        """Tell the watchman; one that is gone is done without."""
        if self.watchman is not None and self.watchman.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self.watchman.stdin.write(f"{order}\n".encode("ascii"))

    def forget(self) -> None:
        """Own nothing: this is a fork."""
        self.lock = threading.RLock()
        self.entries = {}
        watchman, self.watchman = self.watchman, None
        if watchman is not None:
            watchman.returncode = 0  # not our child
            if watchman.stdin is not None:
                with contextlib.suppress(OSError):
                    watchman.stdin.close()

    def at_exit(self) -> None:
        if os.getpid() != self.process:
            return
        end_owned(grace=_EXIT_GRACE)
        with self.lock:
            watchman, self.watchman = self.watchman, None
        if watchman is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                if watchman.stdin is not None:
                    watchman.stdin.close()
                watchman.wait(3)


_BOOK: Final = _Book()


def own(pid: int, label: str, *, session_id: str | None = None) -> None:
    """Enter a command that was just started."""
    with _BOOK.lock:
        _BOOK.prepare()
        _strike_out_ended()
        _BOOK.entries[pid] = OwnedProcess(pid, "command", label, session_id)
        _BOOK.tell(f"+ {pid}")


def _strike_out_ended() -> None:
    """Strike out what was left behind and has ended since: nobody else notices, and its number may be used again."""
    with _BOOK.lock:
        for entry in [each for each in _BOOK.entries.values() if each.role == "left-behind"]:
            if not alive(entry.left):
                disown(entry.pid)


def describe(pid: int, *, role: Role, label: str) -> None:
    """Say what a command is for; nothing happens if it has ended, or is not ours."""
    with _BOOK.lock:
        if (entry := _BOOK.entries.get(pid)) is not None:
            _BOOK.entries[pid] = replace(entry, role=role, label=label)


def leave(pid: int, left: Sequence[Process]) -> None:
    """Enter that a command has ended, but not all that it started."""
    with _BOOK.lock:
        if (entry := _BOOK.entries.get(pid)) is not None:
            _BOOK.entries[pid] = replace(entry, role="left-behind", left=tuple(left))


def disown(pid: int) -> None:
    """Strike out a command that has ended, with everything it started."""
    with _BOOK.lock:
        if _BOOK.entries.pop(pid, None) is not None:
            _BOOK.tell(f"- {pid}")


def owned_processes(session_id: str | None = None) -> tuple[OwnedProcess, ...]:
    """Return what has not ended, oldest first; with a session, only what was started for it."""
    _strike_out_ended()
    with _BOOK.lock:
        entries = tuple(_BOOK.entries.values())
    return tuple(each for each in entries if session_id is None or each.session_id == session_id)


def end_owned(session_id: str | None = None, *, grace: float = 2.0) -> int:
    """End everything (of a session) and return how many commands that were. Blocks up to ``grace`` seconds or so."""
    found = owned_processes(session_id)
    end_families([(each.pid, each.left if each.role == "left-behind" else None) for each in found], grace=grace)
    for each in found:
        disown(each.pid)
    return len(found)
