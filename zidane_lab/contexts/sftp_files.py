"""Files of another machine by SFTP, with the errors of this one. Imported only when a connection is made."""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import secrets
import stat
from collections.abc import Callable, Iterator
from typing import Any, Final

import asyncssh
from asyncssh import constants

from zidane_lab.contexts.base import ContextLostError, FileInfo, FileKind
from zidane_lab.contexts.posix_paths import checked

__all__ = ["SftpFiles"]

_KINDS: Final[dict[int, FileKind]] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}

_ERRNO: Final = {
    constants.FX_NO_SUCH_FILE: errno.ENOENT,
    constants.FX_NO_SUCH_PATH: errno.ENOENT,
    constants.FX_PERMISSION_DENIED: errno.EACCES,
    constants.FX_WRITE_PROTECT: errno.EROFS,
    constants.FX_FILE_ALREADY_EXISTS: errno.EEXIST,
    constants.FX_NO_SPACE_ON_FILESYSTEM: errno.ENOSPC,
    constants.FX_QUOTA_EXCEEDED: errno.EDQUOT,
    constants.FX_DIR_NOT_EMPTY: errno.ENOTEMPTY,
    constants.FX_NOT_A_DIRECTORY: errno.ENOTDIR,
    constants.FX_FILE_IS_A_DIRECTORY: errno.EISDIR,
    constants.FX_INVALID_FILENAME: errno.EINVAL,
    constants.FX_LINK_LOOP: errno.ELOOP,
    constants.FX_OP_UNSUPPORTED: errno.EOPNOTSUPP,
}
"""Version 3 of the protocol, which nearly everybody speaks, has only three of these; the rest is a plain failure."""


class SftpFiles:
    """The files.

    Parameters
    ----------
    client
        An SFTP client of the library, that takes paths as texts with odd bytes escaped.
    lost
        Told why when the connection is gone, and returns what is to be raised.
    """

    def __init__(self, client: asyncssh.SFTPClient, lost: Callable[[str], ContextLostError]) -> None:
        self._client, self._lost = client, lost

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo:
        """Describe a file, folder or link by its absolute path."""
        with self._errors(path):
            found = await (self._client.stat if follow else self._client.lstat)(checked(path))
            return _info(path, found)

    async def list(self, path: str) -> tuple[FileInfo, ...]:
        """Return what is in a folder, by name."""
        if (await self.stat(path)).kind != "folder":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        found = []
        with self._errors(path):
            async for entry in self._client.scandir(path):
                name = str(entry.filename)
                if name not in {".", ".."}:
                    found.append(_info(f"{path.rstrip('/')}/{name}", entry.attrs))
        return tuple(sorted(found, key=lambda info: info.name))

    async def read(self, path: str, offset: int = 0, size: int | None = None) -> bytes:
        """Return bytes of a file."""
        _refuse_special(await self.stat(path), path)
        with self._errors(path):
            async with self._client.open(path, "rb", encoding=None) as handle:
                if size == 0:
                    return b""
                data: Any = await handle.read(-1 if size is None else size, offset)
                return bytes(data)

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace a file, whole or not at all; folders on the way are made.

        The new file is written beside the old one and renamed over it, which needs a server that can do that
        (OpenSSH's can, since 2008).
        """
        with self._errors(path):
            target = await self._target(checked(path))
            before = await self._before(target)
            folder = posixpath.dirname(target)
            await self._client.makedirs(folder, exist_ok=True)
            temporary = posixpath.join(folder, f".zidane-{secrets.token_hex(8)}.tmp")
            try:
                async with self._client.open(temporary, "xb", encoding=None) as handle:
                    await handle.write(data)
                    with contextlib.suppress(asyncssh.SFTPOpUnsupported):
                        await handle.fsync()
                bits = before.mode if mode is None and before is not None else mode
                if bits is not None:
                    await self._client.chmod(temporary, bits)
                await self._client.posix_rename(temporary, target)
            except BaseException:
                with contextlib.suppress(asyncssh.Error, OSError):
                    await self._client.remove(temporary)
                raise

    async def remove(self, path: str) -> None:
        """Remove a file, link or empty folder."""
        is_folder = (await self.stat(path, follow=False)).kind == "folder"
        with self._errors(path):
            await (self._client.rmdir if is_folder else self._client.remove)(path)

    async def _target(self, path: str) -> str:
        """Return what is to be replaced: where a link leads to, or the path itself."""
        if not await self._client.islink(path):
            return path
        return str(await self._client.realpath(path))

    async def _before(self, target: str) -> FileInfo | None:
        try:
            found = await self.stat(target)
        except FileNotFoundError:
            return None
        _refuse_special(found, target)
        # A rename asks only for the folder's rights; the file's own are to count too.
        with self._errors(target):
            async with self._client.open(target, asyncssh.FXF_WRITE, encoding=None):
                return found

    @contextlib.contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        """Turn the library's errors into this machine's."""
        try:
            yield
        except (asyncssh.SFTPNoConnection, asyncssh.SFTPConnectionLost, asyncssh.DisconnectError) as error:
            raise self._lost(str(error)) from error
        except asyncssh.ChannelOpenError as error:
            raise self._lost(str(error)) from error
        except asyncssh.SFTPError as error:
            code = _ERRNO.get(error.code, errno.EIO)
            text = os.strerror(code) if code != errno.EIO else error.reason or "the server does not say why"
            raise OSError(code, text, path) from error


def _info(path: str, found: asyncssh.SFTPAttrs) -> FileInfo:
    mode = found.permissions or 0
    kind = _KINDS.get(stat.S_IFMT(mode), "other")
    nanoseconds = (found.mtime or 0) * 1_000_000_000 + (found.mtime_ns or 0)
    return FileInfo(path, kind, found.size or 0, nanoseconds, stat.S_IMODE(mode))


def _refuse_special(info: FileInfo, path: str) -> None:
    if info.kind == "folder":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if info.kind != "file":
        raise OSError(errno.EINVAL, "not an ordinary file", path)
