"""Open ordinary files only.

A pipe keeps whoever opens it waiting, opening a device can do something, and a few of the files a system makes up are
used up, block, or are all of its memory. What a path is, is asked before it is opened, and again of what was opened:
it may have been changed in between. Only the standard library is used: this runs elsewhere, too.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import Final

__all__ = ["MADE_UP", "objection", "open_ordinary", "what_it_is"]

MADE_UP: Final = ("/dev", "/proc", "/sys")
"""Folders of files that the system makes up: not searched through."""

_ODD: Final = re.compile(
    r"/proc/(?:kmsg|kcore|kpage\w+|acpi/event|(?:\d+|self|thread-self)(?:/task/\d+)?/(?:mem|pagemap))"
    r"|/sys/kernel/(?:debug/)?tracing/.*trace_pipe(?:_raw)?"
)
"""Ordinary by their mode, and not to be read: see proc(5) and the kernel's documentation of ftrace."""

_KINDS: Final = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISDIR, "a folder"),
)
_FLAGS: Final = ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")


def what_it_is(mode: int) -> str:
    """Name what is no ordinary file, from the bits of its mode."""
    return next((name for test, name in _KINDS if test(mode)), "not an ordinary file")


def objection(real: str) -> str | None:
    """Say why a file that seems ordinary is not read; ``None`` for nearly all.

    Parameters
    ----------
    real
        Its absolute path without links.
    """
    if _ODD.fullmatch(real):
        return "a file that the system makes up: reading it blocks, uses it up, or never ends"
    return None


def open_ordinary(path: str | os.PathLike[str]) -> int:
    """Open a file for reading, without waiting; return its descriptor.

    Raises
    ------
    OSError
        It cannot be opened, or is no ordinary file.
    """
    _require(os.stat(path).st_mode)  # noqa: PTH116 - a text that may be no Path
    flags = os.O_RDONLY
    for each in _FLAGS:
        flags |= getattr(os, each, 0)
    descriptor = os.open(path, flags)
    try:
        _require(os.fstat(descriptor).st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _require(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, f"it is {what_it_is(mode)}")
