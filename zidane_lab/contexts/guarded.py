"""A context with a policy around it: files are refused here, commands are kept inside by the system where it can.

Where it cannot (no bubblewrap), the policy still holds for files, and :attr:`GuardedContext.info` says that commands
are not isolated; with ``is_required`` they are refused instead.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
from dataclasses import replace
from typing import Final

from zidane_lab.contexts.base import Command, ContextInfo, ExecutionContext, FileInfo, OnOutput, OutputStream, Running
from zidane_lab.contexts.isolation import isolated, isolation_availability
from zidane_lab.contexts.policy import IsolationPolicy
from zidane_lab.errors import ToolError

__all__ = ["GuardedContext", "real_path"]

_REAL: Final = r"""
rest=
while [ ! -e "$path" ] && [ ! -L "$path" ] && [ -n "$path" ]; do rest=/${path##*/}$rest; path=${path%/*}; done
real=$(readlink -f -- "${path:-/}" && echo .) || exit 1
real=${real%??}
printf '%s%s' "${real%/}" "$rest"
"""


async def real_path(place: ExecutionContext, path: str) -> str:
    """Return a path of a place with all links followed; what is not there yet may be at its end.

    Raises
    ------
    OSError
        It cannot be found out.
    """
    full = place.resolve(path)
    if place.info.is_local:
        try:
            return await asyncio.to_thread(os.path.realpath, full)
        except ValueError as error:
            raise OSError(errno.EINVAL, f"not a path: {error}", path) from error
    output: list[bytes] = []

    async def take(stream: OutputStream, data: bytes) -> None:
        if stream == "stdout":
            output.append(data)

    running = await place.start(Command(f"path={shlex.quote(full)}\n{_REAL}", cwd="/", timeout=30.0), take)
    completed = await running.wait()
    found = b"".join(output).decode("utf-8", "surrogateescape")
    if completed.exit_code != 0 or ".." in found.split("/"):
        raise OSError(errno.ELOOP, "where it leads to cannot be found out", path)
    return found or "/"


class GuardedContext:
    """The :class:`~zidane_lab.contexts.base.ExecutionContext`.

    Parameters
    ----------
    place
        The context inside.
    policy
        What may be touched, in the place's own paths.
    is_required
        Refuse commands that cannot be kept inside.
    """

    def __init__(self, place: ExecutionContext, policy: IsolationPolicy, *, is_required: bool = False) -> None:
        self.place, self.policy, self.is_required = place, policy, is_required
        self._can_isolate = place.info.is_local and bool(isolation_availability())

    @property
    def info(self) -> ContextInfo:
        """What it is, and whether commands are really kept inside."""
        info = self.place.info
        if not self._can_isolate:
            return info
        return replace(info, is_isolated=True, has_network=self.policy.network)

    @property
    def cwd(self) -> str:
        """Folder that relative paths start from."""
        return self.place.cwd

    @property
    def reason(self) -> str:
        """Why commands are not kept inside; empty when they are."""
        if self.info.is_isolated:
            return ""
        return isolation_availability().reason if self.place.info.is_local else "they run on another machine"

    def resolve(self, path: str) -> str:
        """Return the absolute form of a path; links and ``..`` stay as written."""
        return self.place.resolve(path)

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo:
        """Describe a file, folder or link."""
        return await self.place.stat(path, follow=follow)

    async def read(self, path: str, offset: int = 0, size: int | None = None) -> bytes:
        """Return bytes of a file.

        Raises
        ------
        PermissionError
            The policy keeps it from the agent.
        """
        await self._check_read(path)
        return await self.place.read(path, offset, size)

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace a file, whole or not at all.

        Raises
        ------
        PermissionError
            The policy does not let it be written.
        """
        await self._check_write(path)
        await self.place.write(path, data, mode=mode)

    async def remove(self, path: str) -> None:
        """Remove a file, link or empty folder.

        Raises
        ------
        PermissionError
            The policy does not let it be removed.
        """
        folder, _, name = self.resolve(path).rstrip("/").rpartition("/")
        await self._check_write(folder or "/", name)  # a link is removed where it is, not where it leads to
        await self.place.remove(path)

    async def list(self, path: str) -> tuple[FileInfo, ...]:
        """Return what is directly in a folder, by name."""
        await self._check_read(path)
        return await self.place.list(path)

    async def start(self, command: Command, on_output: OnOutput) -> Running:
        """Start a command, inside the policy where that can be.

        Raises
        ------
        ToolError
            It cannot be kept inside, and has to be.
        """
        if self._can_isolate:
            folder = self.resolve(command.cwd) if command.cwd is not None else self.cwd
            await self.place.list(folder)  # bubblewrap's complaint would look like the command's
            command = isolated(command, self.policy, self.cwd)
        elif self.is_required and not self.place.info.is_isolated:
            raise ToolError(
                f"The command cannot be kept inside: {self.reason}.",
                hint="Install bubblewrap, choose a container as the context, or set `isolation` to auto or off.",
            )
        return await self.place.start(command, on_output)

    async def aclose(self) -> None:
        """Stop what still runs and release the place."""
        await self.place.aclose()

    async def _check_write(self, path: str, name: str = "") -> None:
        real = await real_path(self.place, path)
        objection = self.policy.judge_write(f"{real.rstrip('/')}/{name}" if name else real)
        if objection is not None:
            raise PermissionError(errno.EACCES, objection, self.resolve(path))

    async def _check_read(self, path: str) -> None:
        if self.place.info.is_local and not await asyncio.to_thread(self.policy.may_read, self.resolve(path)):
            raise PermissionError(errno.EACCES, "the policy keeps this from the agent", self.resolve(path))
