"""Files wherever they are: on this machine directly, elsewhere through an execution context, behind one small face.

Reading tools are plain functions that run in a worker thread. Elsewhere every look is a question to the context,
which lives on the agent's loop: :func:`threaded` moves the function to a thread and remembers the loop, so that
:func:`files_of` can put the questions there.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import io
import os
import posixpath
import stat
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol, TypeVar, cast

from zidane_lab.contexts.base import ExecutionContext, FileInfo, FileKind
from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.paths import missing, require_path, resolve_path, short_name, unescaped
from zidane_lab.tools.reading.ordinary import objection, open_ordinary, what_it_is

if TYPE_CHECKING:
    from zidane_lab.contexts.policy import IsolationPolicy

__all__ = [
    "KEPT",
    "Files",
    "LocalFiles",
    "PlaceFiles",
    "files_of",
    "found",
    "is_elsewhere",
    "modified_at",
    "real_path",
    "threaded",
]

T = TypeVar("T")

_BUFFER: Final = 262_144
"""Bytes fetched at once from elsewhere: each fetch may be a process of its own there."""

_PATIENCE: Final = 120.0
"""Seconds one question to a context may take."""

_THREADS: Final = 8

KEPT: Final = "the isolation policy keeps it from the agent"
"""Why something is not read."""

_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("_loop", default=None)


class Files(Protocol):
    """Files of one place. Whatever cannot be had raises :class:`OSError`."""

    @property
    def cwd(self) -> str:
        """Folder that relative paths start from, absolute."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether paths are paths of this process."""
        ...

    def resolve(self, path: str) -> str:
        """Return the absolute form of a path; :class:`~zidane_lab.errors.ToolError` if it cannot be one."""
        ...

    def stat(self, path: str, *, follow: bool = True) -> FileInfo:
        """Describe a file, folder or link."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Open an ordinary file for reading; it can be sought in."""
        ...

    def list(self, path: str) -> Sequence[FileInfo]:
        """Return what is directly in a folder, in no order; links are not followed."""
        ...

    def may_read(self, path: str) -> bool:
        """Whether this may be looked into, as far as that is known here; a place refuses by itself."""
        ...

    def kept_below(self, folder: str) -> frozenset[str]:
        """Return what below a folder may not be looked into, by its path from there."""
        ...


class LocalFiles:
    """The files of this machine.

    Parameters
    ----------
    cwd
        Folder that relative paths start from, absolute.
    policy
        What may be read; everything unless given. Links are followed before it is asked.
    """

    is_local = True

    def __init__(self, cwd: Path | str, policy: IsolationPolicy | None = None) -> None:
        self.cwd, self._policy = os.fspath(cwd), policy

    def resolve(self, path: str) -> str:
        """Return the absolute form of a path; links and ``..`` stay as written."""
        return str(resolve_path(path, Path(self.cwd)))

    def stat(self, path: str, *, follow: bool = True) -> FileInfo:
        """Describe a file; ``mode`` has the bits of its type too. A link itself may always be described."""
        if follow:
            self._require(path)
        return _info(path, os.stat(path, follow_symlinks=follow))  # noqa: PTH116 - a text that may be no Path

    def open(self, path: str) -> BinaryIO:
        """Open an ordinary file for reading, without ever waiting for one that is not."""
        self._require(path)
        if (reason := objection(os.path.realpath(path))) is not None:
            raise PermissionError(errno.EACCES, f"it is {reason}")
        descriptor = open_ordinary(path)
        try:
            if self._policy is not None:
                self._require(_path_of(descriptor, path))  # links may have been changed since
            if not os.fstat(descriptor).st_size:  # empty, or made up by the system as it is read, and not there yet
                os.read(descriptor, 1)
                os.lseek(descriptor, 0, os.SEEK_SET)
            return cast("BinaryIO", open(descriptor, "rb"))  # noqa: PTH123 - closed by the caller
        except BaseException:
            os.close(descriptor)
            raise

    def list(self, path: str) -> Sequence[FileInfo]:
        """Return what is directly in a folder; what is gone meanwhile is left out."""
        self._require(path)
        found = []
        with os.scandir(path) as entries:
            for entry in entries:
                try:
                    found.append(_info(entry.path, entry.stat(follow_symlinks=False)))
                except OSError:
                    continue
        return found

    def may_read(self, path: str) -> bool:
        """Whether the policy lets this be read; links are followed."""
        return self._policy is None or self._policy.may_read(path)

    def kept_below(self, folder: str) -> frozenset[str]:
        """Return what the policy hides below a folder that may be read."""
        if self._policy is None:
            return frozenset()
        start = f"{os.path.realpath(folder).rstrip(os.sep)}{os.sep}"
        return frozenset(each[len(start) :] for each in self._policy.hidden if each.startswith(start))

    def _require(self, path: str) -> None:
        if not self.may_read(path):
            raise PermissionError(errno.EACCES, KEPT)


class PlaceFiles:
    """The files of an execution context; to be used in another thread than the loop's."""

    is_local = False

    def __init__(self, place: ExecutionContext, loop: asyncio.AbstractEventLoop) -> None:
        self._place, self._loop = place, loop
        self.cwd = place.cwd

    def resolve(self, path: str) -> str:
        """Return the absolute form of a path there."""
        require_path(path)
        return self._place.resolve(path)

    def stat(self, path: str, *, follow: bool = True) -> FileInfo:
        """Describe a file there."""
        return self._ask(self._place.stat(path, follow=follow))

    def open(self, path: str) -> BinaryIO:
        """Open a file there; its bytes come as they are needed."""
        info = self.stat(path)
        if info.kind != "file":
            raise OSError(errno.EINVAL, f"it is {what_it_is(info.mode)}")
        if (reason := objection(posixpath.normpath(path))) is not None:
            raise PermissionError(errno.EACCES, f"it is {reason}")
        raw = _Fetched(lambda offset, size: self._ask(self._place.read(path, offset, size)), info.size)
        return cast("BinaryIO", io.BufferedReader(raw, _BUFFER))

    def list(self, path: str) -> Sequence[FileInfo]:
        """Return what is directly in a folder there."""
        return self._ask(self._place.list(path))

    def may_read(self, path: str) -> bool:
        """Return that it may: the place itself refuses what may not be read there."""
        del path
        return True

    def kept_below(self, folder: str) -> frozenset[str]:
        """Return nothing, for the same reason."""
        del folder
        return frozenset()

    def _ask(self, question: Awaitable[T]) -> T:
        task = asyncio.run_coroutine_threadsafe(cast("Coroutine[Any, Any, T]", question), self._loop)
        try:
            return task.result(_PATIENCE)
        except TimeoutError:
            task.cancel()
            raise OSError(f"no answer from {self._place.info.name} within {_PATIENCE:g} s") from None


class _Fetched(io.RawIOBase):
    """A file whose bytes are fetched piece by piece."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int) -> None:
        self._fetch, self._size, self._at = fetch, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._fetch(self._at, len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def _policy_of(place: ExecutionContext) -> IsolationPolicy | None:
    """Return the policy around a place of this machine, if there is one: its files are opened here, not by it."""
    from zidane_lab.contexts.guarded import GuardedContext

    return place.policy if isinstance(place, GuardedContext) else None


def _path_of(descriptor: int, path: str) -> str:
    """Return the path of what is open, where the system tells; else the path it was opened by."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - a text
    except OSError:
        return path


def is_elsewhere(context: ToolContext) -> bool:
    """Whether the files are not this machine's."""
    return context.place is not None and not context.place.info.is_local


def files_of(context: ToolContext) -> Files:
    """Return the files a tool works on.

    Raises
    ------
    ToolError
        They are elsewhere, and this was not called through :func:`threaded`.
    """
    if context.place is None:
        return LocalFiles(context.cwd)
    if context.place.info.is_local:
        return LocalFiles(context.place.cwd, _policy_of(context.place))
    if (loop := _loop.get()) is None:
        raise ToolError(f"Files in {context.place.info.name} are reached through the tool.", hint="Run the tool.")
    return PlaceFiles(context.place, loop)


def found(files: Files, path: str) -> tuple[str, FileInfo]:
    """Return the absolute path and the state of something that exists; links are followed.

    Raises
    ------
    ToolError
        It does not exist (the message has near names), or cannot be reached.
    """
    target = files.resolve(path)
    try:
        return target, files.stat(target)
    except (FileNotFoundError, NotADirectoryError):
        if (other := unescaped(path)) is not None:  # a name as it was shown
            with contextlib.suppress(OSError, ValueError, ToolError):
                return files.resolve(other), files.stat(files.resolve(other))
        raise missing(files, target) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ToolError(f"{short_name(target)} cannot be reached: {reason}.", hint="Choose another path.") from error


def real_path(files: Files, path: str) -> str:
    """Return a path without links and ``..``, where that can be found out."""
    return os.path.realpath(path) if files.is_local else posixpath.normpath(path)


def threaded(function: Callable[..., T]) -> Callable[..., Awaitable[T]]:
    """Return an asynchronous form of a tool's function that runs it in a thread from which any place is reached."""

    @functools.wraps(function)
    async def waiting(*arguments: Any, **named: Any) -> T:
        loop = asyncio.get_running_loop()
        token = _loop.set(loop)
        try:
            call = functools.partial(copy_context().run, function, *arguments, **named)
            return await loop.run_in_executor(_threads(), call)
        finally:
            _loop.reset(token)

    return waiting


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Return threads of our own: a context may need one of the loop's for each question, while ours wait for it."""
    return ThreadPoolExecutor(_THREADS, "zidane-read")


def modified_at(info: FileInfo) -> float:
    """Return the time of the last change in seconds, by the arithmetic of ``os.stat_result.st_mtime``."""
    seconds, rest = divmod(info.mtime_ns, 1_000_000_000)
    return seconds + 1e-9 * rest


def _info(path: str, status: os.stat_result) -> FileInfo:
    kinds: tuple[tuple[Callable[[int], bool], FileKind], ...] = (
        (stat.S_ISREG, "file"),
        (stat.S_ISDIR, "folder"),
        (stat.S_ISLNK, "link"),
    )
    kind: FileKind = next((name for test, name in kinds if test(status.st_mode)), "other")
    return FileInfo(path, kind, status.st_size, status.st_mtime_ns, status.st_mode)
