"""Finding and ending everything a command has started: its session, its process group, and descendants that left both.

A command leads a session of its own. What it puts into another group (``timeout`` does, and a shell with job control)
stays in the session.

A process that has detached itself from both (``setsid`` in a fork whose parent has ended) cannot be told from any
other of the person's processes and is left alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import psutil  # type: ignore[import-untyped]  # publishes no types

__all__ = ["Process", "alive", "end_families", "end_family", "family", "members"]

Process: TypeAlias = "psutil.Process"
"""A process and when it began, so that another one with the same number is not taken for it."""

LOOK_SECONDS: Final = 0.03
_ROUNDS: Final = 5
"""How often what was forked during the killing is looked for."""


def members(group: int) -> list[Process]:
    """Return the living processes (zombies are not) of a group and of the session it leads.

    None where the system has no groups.
    """
    import psutil

    found: list[Process] = []
    if not hasattr(os, "getpgid"):
        return found
    for pid in psutil.pids():
        try:
            if _is_in(pid, group):
                found.append(psutil.Process(pid))
        except (OSError, psutil.Error):
            continue  # it has just ended, or is not ours to look at
    return alive(found)


def _is_in(pid: int, group: int) -> bool:
    """Whether a process is in a group, or in the session of the same number."""
    return group in (os.getpgid(pid), os.getsid(pid))


def family(group: int) -> list[Process]:
    """Return the living processes of a group and all their descendants, in whatever group those are."""
    import psutil

    roots = members(group)
    if not roots:
        with contextlib.suppress(psutil.Error):
            roots = alive([psutil.Process(group)])
    found = {root.pid: root for root in roots}
    for root in roots:
        with contextlib.suppress(psutil.Error):
            found.update((child.pid, child) for child in root.children(recursive=True))
    return alive(found.values())


def alive(processes: Iterable[Process]) -> list[Process]:
    """Return those that still run; another process that got an old number does not count."""
    import psutil

    found = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_family(group: int, *, grace: float, known: Sequence[Process] | None = None) -> None:
    """End a command and everything it started, as :func:`end_families` does."""
    end_families([(group, known)], grace=grace)


def end_families(families: Iterable[tuple[int, Sequence[Process] | None]], *, grace: float) -> None:
    """End commands and everything they started: ask, and force what has not ended after ``grace`` seconds. Blocks.

    Starts no thread, so that it can be used while the interpreter ends.

    Parameters
    ----------
    families
        The process id of each command, which leads a group of the same number. For one that has ended also what it
        left running: its number may be another process's by now, so the group is trusted only as far as one of those
        is still in it.
    """
    own = os.getpgrp() if hasattr(os, "getpgrp") else 0
    targets = [(group, known) for group, known in families if group > 1 and group != own]
    found = [each for group, known in targets for each in _found(group, known)]
    if not found:
        return
    _signal(found, signal.SIGTERM)
    if hasattr(signal, "SIGCONT"):
        _signal(found, signal.SIGCONT)  # one that is stopped hears nothing else
    deadline = time.monotonic() + grace
    while (found := alive(found)) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    for _ in range(_ROUNDS):
        still = [each for group, known in targets if known is None for each in members(group)]
        found = alive({each.pid: each for each in [*found, *still]}.values())
        if not found:
            return
        _signal(found, getattr(signal, "SIGKILL", signal.SIGTERM))
        time.sleep(LOOK_SECONDS)


def _found(group: int, known: Sequence[Process] | None) -> list[Process]:
    return family(group) if known is None else _still_there(group, known)


def _still_there(group: int, known: Sequence[Process]) -> list[Process]:
    import psutil

    found = {process.pid: process for process in alive(known)}
    for process in list(found.values()):
        with contextlib.suppress(OSError, psutil.Error):
            found.update((child.pid, child) for child in process.children(recursive=True))
            if hasattr(os, "getpgid") and _is_in(process.pid, group):
                found.update((each.pid, each) for each in members(group))
    return list(found.values())


def _signal(processes: Iterable[Process], number: int) -> None:
    import psutil

    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            process.send_signal(number)
