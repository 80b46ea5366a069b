"""Writing several files, all or none, and one writer at a time for each of them.

Calls of one conversation run one after another, but several agents may work in one process. Other processes are not
kept out; what they wrote is noticed by a last look at the content.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, TypeAlias

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.files import Stored
from zidane_lab.tools.paths import show_name

__all__ = ["put_back", "writing"]

_Locks: TypeAlias = weakref.WeakValueDictionary[tuple[str, str, str], asyncio.Lock]

_LOCKS: Final[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Locks]] = weakref.WeakKeyDictionary()


@asynccontextmanager
async def writing(files: ExecutionContext, paths: Iterable[str]) -> AsyncIterator[None]:
    """Keep the other calls on this loop from writing the same files, under whatever name; links are followed."""
    known = _LOCKS.setdefault(asyncio.get_running_loop(), weakref.WeakValueDictionary())
    keys = sorted({_key(files, path) for path in paths})
    locks = []
    for key in keys:
        if (lock := known.get(key)) is None:
            known[key] = lock = asyncio.Lock()
        locks.append(lock)
    async with AsyncExitStack() as stack:
        for lock in locks:  # always in the same order, so that nobody waits for each other
            await stack.enter_async_context(lock)
        yield


def _key(files: ExecutionContext, path: str) -> tuple[str, str, str]:
    return files.info.kind, files.info.name, os.path.realpath(path) if files.info.is_local else path


async def put_back(
    files: ExecutionContext, pairs: Sequence[tuple[Stored, bytes | None]], modes: Sequence[int | None] | None = None
) -> None:
    """Give several files their contents (``None`` removes), all or none.

    Raises
    ------
    ToolError
        One could not be written; those already written are as they were again, or the message names them.
    """
    done: list[Stored] = []
    try:
        for index, (stored, data) in enumerate(pairs):
            done.append(stored)
            await _put(files, stored.path, data, modes[index] if modes else None)
    except (OSError, ToolError) as error:  # the latter where the place itself is gone
        failed = done.pop()
        left = []
        for each in reversed(done):
            try:
                await _put(files, each.path, each.data, each.info.mode if each.info else None)
            except (OSError, ToolError):
                left.append(show_name(each.path))
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        message = f"{show_name(failed.path)} cannot be written: {reason.rstrip('.')}."
        if left:
            raise ToolError(f"{message} Changed already, and not put back: {', '.join(left)}.") from error
        raise ToolError(f"{message} Nothing was changed.", hint="Check the rights to it and the room there.") from error


async def _put(files: ExecutionContext, path: str, data: bytes | None, mode: int | None) -> None:
    if data is None:
        await files.remove(_file_of(path) if files.info.is_local else path)
    else:
        await files.write(path, data, mode=mode)


def _file_of(path: str) -> str:
    """Return what a path leads to: a file that was made through a link goes, not the link, which was there before."""
    return os.path.realpath(path)
