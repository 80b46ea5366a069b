"""Writes large results to files: on this machine by default, elsewhere through a writer of the same shape."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from zidane_lab.session.layout import make_own_folder, sync_folder

__all__ = ["BlobWriter", "LocalWriter", "Written", "encode"]


@dataclass(frozen=True, slots=True)
class Written:
    """Where a text went, and what had to make room for it."""

    path: Path
    evicted_bytes: int = 0
    evicted_files: int = 0


class BlobWriter(Protocol):
    """Writes a text where the model's tools can read it back."""

    async def write(self, path: Path, content: str) -> Written:
        """Write ``content`` to the absolute ``path``, or beside it, and say where it is.

        Raises
        ------
        Exception
            Whatever keeps it from being written; nothing refers to the file then.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalWriter:
    """Writes on this machine: to a draft that is renamed, so that nobody ever reads half a file.

    The folder and the one it is in are made when needed; neither may be a symbolic link.

    Parameters
    ----------
    max_bytes
        Most bytes of ``*.txt`` files in the folder; the oldest go first, never the one just written. ``None``, or
        no positive number: no limit.
    """

    max_bytes: float | None = None

    async def write(self, path: Path, content: str) -> Written:
        """Write a file (see :class:`BlobWriter`); one of that name with other content is kept, and not replaced."""
        return await asyncio.to_thread(self._write, path, encode(content))

    def _write(self, path: Path, data: bytes) -> Written:
        folder = make_own_folder(path.parent.parent, path.parent.name)
        if (known := _content(path)) is not None and known != data:  # ids can come twice, on different branches
            path = path.with_name(f"{path.stem}-{hashlib.sha256(data).hexdigest()[:8]}{path.suffix}")
            known = _content(path)
        if known == data:
            os.utime(path)
        else:
            _replace(path, data)
        sync_folder(folder)
        limit = self.max_bytes
        if limit is None or not (math.isfinite(limit) and limit > 0):
            return Written(path)
        return Written(path, *_evict(folder, path, limit))


def encode(text: str) -> bytes:
    """Return ``text`` as UTF-8; a lone surrogate, which no file can hold, is written as its escape sequence."""
    return text.encode("utf-8", "backslashreplace")


def _content(path: Path) -> bytes | None:
    """Return what a file holds; ``None`` if there is none, or no ordinary one."""
    try:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None
    except OSError:
        return None


def _replace(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{path.name[:40]}-{secrets.token_hex(4)}.tmp")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _evict(folder: Path, newest: Path, limit: float) -> tuple[int, int]:
    """Remove the oldest files until the rest is within ``limit`` bytes; return bytes and files that went."""
    kept: list[tuple[float, str, int]] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".txt") and entry.name != newest.name and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                kept.append((status.st_mtime_ns, entry.name, status.st_size))
    total = newest.stat().st_size + sum(size for *_, size in kept)
    freed = files = 0
    for _, name, size in sorted(kept):
        if total <= limit:
            break
        with contextlib.suppress(OSError):  # keeping house never spoils a result
            (folder / name).unlink()
            total, freed, files = total - size, freed + size, files + 1
    return freed, files
