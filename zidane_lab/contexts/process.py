"""The context that is this machine: its files, and its shell in process groups of their own.

Commands run in ``bash`` where there is one, else in ``sh``; not a login shell, and without its start-up files. They
get this process's environment as it is at the time, without what a kernel adds for itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from zidane_lab.contexts import local_files
from zidane_lab.contexts.base import Command, ContextInfo, FileInfo, OnOutput
from zidane_lab.contexts.local_command import LocalCommand, launch
from zidane_lab.errors import ToolError

__all__ = ["LocalProcess", "kernel_free_environment", "shell_argv"]

_KERNELS_OWN: Final = frozenset({"FORCE_COLOR", "CLICOLOR_FORCE", "JPY_PARENT_PID", "JPY_SESSION_NAME"})
"""Set in a kernel's environment by Jupyter and IPython for their own use. Forced colours would get into pipes."""


_OF_A_MAKE: Final = ("MAKELEVEL", "MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES")
"""Set by a make that has started Jupyter (``make lab``): a make below would take itself for a part of it."""


def kernel_free_environment() -> dict[str, str]:
    """Return this process's environment without what was put there only because it is a kernel."""
    environment = dict(os.environ)
    if "JPY_PARENT_PID" in environment:
        for name in _KERNELS_OWN:
            environment.pop(name, None)
    if environment.get("MPLBACKEND", "").startswith("module://"):  # draws into a notebook, which a command is not in
        del environment["MPLBACKEND"]
    for name in _OF_A_MAKE:
        environment.pop(name, None)
    return environment


def shell_argv(text: str) -> list[str]:
    """Return the arguments that run a command line: bash, else sh; on Windows without bash its own interpreter.

    Raises
    ------
    ToolError
        There is no shell.
    """
    if bash := shutil.which("bash"):
        return [bash, "--noprofile", "--norc", "-c", text]
    if os.name == "nt":
        return [os.environ.get("COMSPEC", "cmd.exe"), "/d", "/c", text]
    for shell in (shutil.which("sh"), "/bin/sh"):
        if shell and Path(shell).is_file():
            return [shell, "-c", text]
    raise ToolError("There is no shell on this machine.", hint="Work with run_python and the file tools instead.")


class LocalProcess:
    """The :class:`~zidane_lab.contexts.base.ExecutionContext` of this machine.

    Parameters
    ----------
    cwd
        Folder that relative paths and commands start from; a function is asked each time (a kernel may move).
    environment
        Returns the variables commands start with.
    session_id
        Whose commands these are, for :func:`zidane_lab.contexts.owned.owned_processes`.
    """

    def __init__(
        self,
        cwd: str | os.PathLike[str] | Callable[[], str | os.PathLike[str]] | None = None,
        *,
        environment: Callable[[], Mapping[str, str]] = kernel_free_environment,
        session_id: str | None = None,
    ) -> None:
        self._cwd: Callable[[], str | os.PathLike[str]]
        if callable(cwd):
            self._cwd = cwd
        else:
            fixed = os.path.abspath(os.fspath(cwd)) if cwd is not None else None  # noqa: PTH100 - links stay
            self._cwd = (lambda: fixed) if fixed is not None else Path.cwd
        self._environment = environment
        self._session_id = session_id
        self._commands: set[LocalCommand] = set()

    @property
    def info(self) -> ContextInfo:
        """What it is: not isolated."""
        return ContextInfo("process", "this machine", is_local=True)

    @property
    def cwd(self) -> str:
        """Folder that relative paths start from, absolute."""
        return os.path.abspath(os.fspath(self._cwd()))  # noqa: PTH100 - links stay

    def resolve(self, path: str) -> str:
        """Return the absolute form of a path; links and ``..`` stay as written."""
        with contextlib.suppress(ValueError):  # a user's name that cannot be one: the path is used as it is
            path = os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises for an unknown user
        return os.path.join(self.cwd, path) if path not in {"", "."} else self.cwd  # noqa: PTH118

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo:
        """Describe a file, folder or link."""
        return await asyncio.to_thread(local_files.describe, self.resolve(path), follow=follow)

    async def read(self, path: str, offset: int = 0, size: int | None = None) -> bytes:
        """Return bytes of a file."""
        return await asyncio.to_thread(local_files.read_bytes, self.resolve(path), offset, size)

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace a file, whole or not at all."""
        await asyncio.to_thread(local_files.replace_file, self.resolve(path), data, mode)

    async def remove(self, path: str) -> None:
        """Remove a file, link or empty folder."""
        await asyncio.to_thread(local_files.remove, self.resolve(path))

    async def list(self, path: str) -> tuple[FileInfo, ...]:
        """Return what is directly in a folder, by name."""
        return await asyncio.to_thread(local_files.list_folder, self.resolve(path))

    async def start(self, command: Command, on_output: OnOutput) -> LocalCommand:
        """Start a command.

        Raises
        ------
        OSError
            Its folder is gone or closed, or the command line is longer than the system takes.
        ToolError
            There is no shell.
        """
        running = launch(
            shell_argv(command.text),
            label=command.text,
            cwd=self.resolve(command.cwd) if command.cwd is not None else self.cwd,
            env={**self._environment(), **command.env},
            stdin=command.stdin,
            timeout=command.timeout,
            on_output=on_output,
            session_id=self._session_id,
        )
        self._commands = {each for each in self._commands if not each.is_over} | {running}
        return running

    async def aclose(self) -> None:
        """Stop what still runs, also what commands left running."""
        commands, self._commands = self._commands, set()
        await asyncio.gather(*(each.stop() for each in commands))
