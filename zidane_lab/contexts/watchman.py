"""Ends commands that outlive a kernel which had no chance to end them itself (``kill -9``, out of memory).

Run as a script by :mod:`zidane_lab.contexts.owned`, once per kernel, with nothing but the standard library. The kernel
writes which process groups it has started (``+ 4711``) and which have ended (``- 4711``) into a pipe. When the pipe
breaks, or the parent is another one than at the start, the kernel is gone: what is left of its groups is ended, with
what they started in other groups (``timeout`` makes one of its own). Where there is no ``/proc``, only the groups are.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import Final

__all__ = ["end", "relatives", "watch"]

LOOK_SECONDS: Final = 1.0
"""How often the parent is looked at; a fork of the kernel may hold the pipe open after its death."""

GRACE_SECONDS: Final = 2.0


def watch(orders: int, parent: int) -> set[int]:
    """Follow the orders until the kernel is gone, and return the groups that are left.

    Parameters
    ----------
    orders
        File descriptor to read from.
    parent
        Process id of the kernel.
    """
    groups: set[int] = set()
    torn = b""
    is_there = True
    while True:
        # The kernel may be gone before we have begun: what it wrote until then is read all the same.
        is_there = is_there and os.getppid() == parent
        if not select.select([orders], [], [], LOOK_SECONDS if is_there else 0)[0]:
            if is_there:
                continue
            break
        data = os.read(orders, 4096)
        if not data:
            break
        *lines, torn = (torn + data).split(b"\n")
        for line in lines:
            sign, _, number = line.partition(b" ")
            if number.isdigit() and int(number) > 1:
                (groups.add if sign == b"+" else groups.discard)(int(number))
    return groups


def relatives(groups: set[int]) -> set[int]:
    """Return the groups of everything that is in the sessions the groups lead, or descends from one of their processes.

    Our own group is never among them. Without ``/proc`` nothing is found.
    """
    seen: dict[int, tuple[int, int, int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib takes long to import, and this lives all the time
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    words = file.read().rpartition(b")")[2].split()
                    seen[int(name)] = (int(words[1]), int(words[2]), int(words[3]))
    family = {pid for pid, (_, group, session) in seen.items() if group in groups or session in groups}
    while more := {pid for pid, (parent, _, _) in seen.items() if parent in family} - family:
        family |= more
    return {group for pid in family if (group := seen[pid][1]) > 1} - {os.getpgrp()}


def end(groups: set[int], *, grace: float = GRACE_SECONDS) -> None:
    """Ask the groups and their relatives to end, and force those that have not after ``grace`` seconds."""
    groups = groups | relatives(groups)
    _send(groups, signal.SIGTERM)
    _send(groups, signal.SIGCONT)
    deadline = time.monotonic() + grace
    while (groups := {group for group in groups if _send({group}, 0)}) and time.monotonic() < deadline:
        time.sleep(0.05)
    _send(groups, signal.SIGKILL)


def _send(groups: set[int], number: int) -> bool:
    """Send a signal to groups; whether any of them was there."""
    there = False
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
            there = True
    return there


if __name__ == "__main__":
    end(watch(0, int(sys.argv[1])))
