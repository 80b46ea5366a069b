"""Files of this machine, for :class:`~zidane_lab.contexts.process.LocalProcess`. Everything here blocks."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import Final

from zidane_lab.contexts.base import FileInfo, FileKind

__all__ = ["describe", "list_folder", "read_bytes", "remove", "replace_file"]

_KINDS: Final[dict[int, FileKind]] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


@contextlib.contextmanager
def _nameable(path: str) -> Iterator[None]:
    """Turn the complaint about a text that cannot be a path (a NUL in it, say) into an :class:`OSError`."""
    try:
        yield
    except ValueError as error:
        raise OSError(errno.EINVAL, f"not a path: {error}", path) from error


def describe(path: str, *, follow: bool = True) -> FileInfo:
    """Describe a file, folder or link."""
    with _nameable(path):
        return _info(path, os.stat(path, follow_symlinks=follow))  # noqa: PTH116 - a name of odd bytes stays as it is


def _info(path: str, status: os.stat_result) -> FileInfo:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
    return FileInfo(path, kind, status.st_size, status.st_mtime_ns, stat.S_IMODE(status.st_mode))


def list_folder(path: str) -> tuple[FileInfo, ...]:
    """Return what is in a folder, by name; what vanishes meanwhile is left out."""
    found = []
    with _nameable(path), os.scandir(path) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                found.append(_info(entry.path, entry.stat(follow_symlinks=False)))
    return tuple(sorted(found, key=lambda info: info.name))


def read_bytes(path: str, offset: int, size: int | None) -> bytes:
    """Return bytes of a file.

    Raises
    ------
    OSError
        It cannot be read; or it is a pipe, a socket or a device, where reading could wait for ever.
    """
    with _nameable(path):
        _refuse_special(path, os.stat(path))  # noqa: PTH116
        with open(path, "rb") as handle:  # noqa: PTH123
            if offset:
                handle.seek(offset)
            return handle.read() if size is None else handle.read(size)


def replace_file(path: str, data: bytes, mode: int | None) -> None:
    """Write a file beside the old one and put it in its place; folders on the way are made.

    A link stays one: what it leads to is replaced. A file with several names (hard links) becomes one of its own.

    Raises
    ------
    OSError
        It cannot be written; the old content is untouched.
    """
    with _nameable(path):
        target = os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114 - as above
        folder = os.path.dirname(target)  # noqa: PTH120
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        before = _status(target)
        if before is not None:
            _refuse_special(target, before)
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
        # The name must fit where the target's own fits, and say whose it is if it is ever left behind.
        temporary = os.path.join(folder, f".zidane-{secrets.token_hex(8)}.tmp")  # noqa: PTH118
        try:
            _write_new(temporary, data, mode, before)
            os.replace(temporary, target)  # noqa: PTH105
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            raise


def _write_new(path: str, data: bytes, mode: int | None, before: os.stat_result | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    # What replaces a file is nobody else's to read before it has the old one's rights.
    handle = os.open(path, flags, 0o666 if before is None else 0o600)
    with open(handle, "wb") as file:  # noqa: PTH123
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if before is not None:
        if hasattr(os, "chown"):
            with contextlib.suppress(OSError):  # only who may give files away can keep the owner
                os.chown(path, before.st_uid, before.st_gid)
        mode = stat.S_IMODE(before.st_mode) if mode is None else mode
    if mode is not None:
        os.chmod(path, mode)  # noqa: PTH101


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None


def _refuse_special(path: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not an ordinary file", path)


def remove(path: str) -> None:
    """Remove a file, a link (not what it leads to) or an empty folder."""
    with _nameable(path):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            os.rmdir(path)  # noqa: PTH106
        else:
            os.unlink(path)  # noqa: PTH108
