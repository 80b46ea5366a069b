"""An append-only file whose every line is whole and on disk before ``append`` returns.

A write that fails is taken back to the last good byte, so that no half line ever stands in the middle of
the file; a file that changed by another hand is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import TypeAlias

from zidane_lab.errors import SessionLockedError
from zidane_lab.session.layout import sync_folder

__all__ = ["Journal", "OpenFile"]

OpenFile: TypeAlias = Callable[[Path, str], FileIO]
"""Opens a file unbuffered, by path and mode; tests put disks that fill up in its place."""


class Journal:
    """The writing end of one session file.

    Parameters
    ----------
    path
        The file.
    size
        Bytes it has now; ``None`` if it does not exist yet and is to be made.
    """

    def __init__(self, path: Path, size: int | None, open_file: OpenFile = FileIO) -> None:
        self.path = path
        self._open_file = open_file
        self._file: FileIO | None = None
        self._exists = size is not None
        self._good = size or 0  # bytes that are whole lines, on disk
        self._end: int | None = size or 0  # bytes the file should have now; None after a failure to take back

    def append(self, data: bytes) -> None:
        """Write ``data`` at the end and wait until it is on disk.

        Raises
        ------
        OSError
            It could not be written; nothing of it stays, or the next call removes what stays.
        SessionLockedError
            Somebody else changed the file.
        """
        self._write(self._good, data)

    def cut(self, size: int) -> None:
        """Shorten the file to ``size`` bytes, on disk.

        Raises
        ------
        OSError
            It could not be done.
        SessionLockedError
            Somebody else changed the file.
        """
        self._write(size, b"")

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, start: int, data: bytes) -> None:
        file = self._ready()
        try:
            if self._end != start:
                file.truncate(start)
                self._good = start
            file.seek(start)
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            os.fsync(file.fileno())
        except BaseException:
            self._take_back(file)
            raise
        self._good = self._end = start + len(data)

    def _take_back(self, file: FileIO) -> None:
        self._end = None
        try:
            file.truncate(self._good)
        except OSError:
            return  # known by `_end`: the next write cuts first
        self._end = self._good

    def _ready(self) -> FileIO:
        """Return the open file, sure that it is the one we know."""
        if self._file is None:
            self._file = self._open_file(self.path, "r+b" if self._exists else "x+b")
            if not self._exists:
                self._exists = True
                sync_folder(self.path.parent)
        status = os.fstat(self._file.fileno())
        if status.st_nlink == 0:
            self.close()
            raise FileNotFoundError(f"{self.path} was deleted")
        if self._end is not None and status.st_size != self._end:
            raise SessionLockedError(f"{self.path.name} was changed by another process.")
        return self._file
