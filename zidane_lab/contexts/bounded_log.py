"""A log that cannot fill the disk: all of the output up to a limit, beyond it the beginning and the newest part.

Positions are those of the whole output, whether or not that part is still there, so a reader can go on from where it
was. The gap says in the file itself how much is missing.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from zidane_lab.errors import ToolError
from zidane_lab.session.layout import make_folder, make_own_folder

__all__ = [
    "LOG_BYTES",
    "MEMORY_BYTES",
    "BoundedLog",
    "Piece",
    "in_memory",
    "in_session_folder",
    "in_temporary_file",
    "read_piece",
]

LOG_BYTES: Final = 16 * 1_048_576
"""Most bytes of a log in a file."""

MEMORY_BYTES: Final = 1_048_576
"""Most bytes of a log in memory: where nothing is kept on disk, or the disk fails."""

_HEAD, _TAIL = 4, 2
"""A quarter of the limit is for the beginning; half is kept of the newest when room is made."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of the output from ``start`` up to ``end``; the next piece begins there."""

    data: bytes
    start: int
    end: int


class BoundedLog:
    """The log.

    Parameters
    ----------
    opened
        Opens the file when the first byte comes, to read and write.
    limit
        Most bytes kept.
    """

    def __init__(self, opened: Callable[[], IO[bytes]], *, limit: int = LOG_BYTES) -> None:
        self._opened, self._limit = opened, limit
        self._file: IO[bytes] | None = None
        self._path: Path | None = None
        self._size = 0
        self._head = self._gap_end = 0
        self._notice = 0
        self.total = 0
        """Bytes of the whole output."""
        self.trouble: str | None = None
        """Why the log is not where it should be, if it is not."""

    @property
    def gap(self) -> range:
        """Positions of what is no longer there."""
        return range(self._head, self._gap_end)

    def append(self, data: bytes) -> None:
        """Add output. A disk that fails costs what was there, but not the command."""
        if not data:
            return
        try:
            self._append(data)
        except OSError as error:
            self.trouble = f"The log could not be written ({error.strerror or error}); only its newest part is kept."
            self._file, self._opened = None, in_memory
            self._limit = min(self._limit, MEMORY_BYTES)
            self._size = self._head = self._notice = 0
            self._gap_end = self.total
            self._append(data)

    def _append(self, data: bytes) -> None:
        if self._file is None:
            self._file = self._opened()
        self._file.seek(self._size)
        self._file.write(data)
        self._size += len(data)
        self.total += len(data)
        if self._size > self._limit:
            self._make_room(self._file)
        self._file.flush()

    def _make_room(self, file: IO[bytes]) -> None:
        keep = self._limit // _TAIL
        file.seek(self._size - keep)
        tail = file.read(keep)
        tail = tail[tail.find(b"\n", 0, keep // 8) + 1 :]  # from the beginning of a line, if one is near
        if not self.gap:
            self._head = self._limit // _HEAD
        self._gap_end = self.total - len(tail)
        notice = f"\n[… {self._gap_end - self._head:,} bytes left out …]\n".encode()
        self._notice = len(notice)
        file.seek(self._head)
        file.write(notice + tail)
        file.truncate()
        self._size = self._head + len(notice) + len(tail)

    def read(self, start: int, size: int) -> Piece:
        """Return output from a position on; within the gap, from its end on."""
        start = max(0, min(start, self.total))
        if start in self.gap:
            start = self._gap_end
        if self.gap and start < self._head:
            data = self._at(start, min(size, self._head - start))
        else:
            shift = self._gap_end - self._head - self._notice if self.gap else 0
            data = self._at(start - shift, size)
        return Piece(data, start, start + len(data))

    def newest(self, size: int) -> Piece:
        """Return the end of the output."""
        start = max(0, self.total - size)
        return self.read(max(start, self._gap_end) if self.gap else start, size)

    def whole(self) -> bytes:
        """Return everything there is, with the notice in the gap."""
        return self._at(0, self._size)

    def _at(self, position: int, size: int) -> bytes:
        if self._file is not None:
            self._file.seek(position)
            return self._file.read(max(0, size))
        if self._path is None:
            return b""
        try:
            with self._path.open("rb") as file:
                file.seek(position)
                return file.read(max(0, size))
        except OSError:
            return b""  # somebody has removed it

    def close(self) -> None:
        """Nothing more will come: hold no descriptor, but open a file that has a name again for each read."""
        if self._file is not None and isinstance(name := getattr(self._file, "name", None), str):
            self._file.close()
            self._file, self._path = None, Path(name)

    def discard(self) -> None:
        """Give everything up."""
        if self._file is not None:
            self._file.close()
        self._file = self._path = None


def read_piece(path: Path, start: int | None, size: int) -> tuple[Piece, int]:
    """Return a piece of a log that another process wrote (its end, without a start), and how long the file is.

    Raises
    ------
    ToolError
        It cannot be read.
    """
    try:
        with path.open("rb") as file:
            total = file.seek(0, io.SEEK_END)
            begin = max(0, total - size) if start is None or start > total else max(0, start)
            file.seek(begin)
            data = file.read(size)
    except OSError as error:
        raise ToolError(f"The log {path.name} cannot be read: {error}.", hint="Run the command again.") from error
    return Piece(data, begin, begin + len(data)), total


def in_memory() -> IO[bytes]:
    """Open a log that is lost with the process."""
    return io.BytesIO()


def in_temporary_file() -> IO[bytes]:
    """Open a log in a file without a name."""
    return tempfile.TemporaryFile()


def in_session_folder(folder: Path, name: str, inner: str = "tasks") -> Callable[[], IO[bytes]]:
    """Return what opens a log in a session's own folder, which is made when the first byte comes.

    Parameters
    ----------
    folder
        The session's own folder.
    name
        Of the file; it must not exist yet.
    """

    def opened() -> IO[bytes]:
        if not folder.parent.is_dir():
            make_folder(folder.parent)
        return (make_own_folder(folder, inner) / name).open("x+b")

    return opened
