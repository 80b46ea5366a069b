"""What a context is: a place with files and a shell, reached through one small set of operations.

Paths are texts in the context's own notation (POSIX in containers and on other machines); a relative one starts
from ``cwd``. Files that are not there, not readable, not writable raise the usual :class:`OSError` subclasses in
every context, so tools need not know where they are. :class:`ContextLostError` says that the place itself is gone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from zidane_lab.errors import ToolError

__all__ = [
    "Command",
    "Completed",
    "ContextInfo",
    "ContextLostError",
    "ExecutionContext",
    "FileInfo",
    "FileKind",
    "OnOutput",
    "OutputStream",
    "Running",
]

FileKind: TypeAlias = Literal["file", "folder", "link", "other"]
OutputStream: TypeAlias = Literal["stdout", "stderr"]
OnOutput: TypeAlias = Callable[[OutputStream, bytes], Awaitable[None]]
"""Told each piece of output as it comes; a piece may end in the middle of a line or a character."""


class ContextLostError(ToolError):
    """The place where files and commands live cannot be reached any more."""

    code = "context_lost"
    default_hint = "Start it again, or go on without it; what was written there may be gone."


@dataclass(frozen=True, slots=True)
class ContextInfo:
    """What a context is and can do.

    Parameters
    ----------
    kind
        ``process``: this machine; ``docker``: a container; ``ssh``: another machine; or a name of one's own.
    name
        For people: the container's or the machine's name.
    is_local
        Whether its paths are paths of this process, so that files can be opened directly.
    has_network
        Whether commands can reach the network; ``None`` if nobody knows.
    is_isolated
        Whether what commands do stays inside.
    identity
        Tells it from others of its kind: the same text, the same files. The name, if left out.
    """

    kind: str
    name: str
    is_local: bool = False
    has_network: bool | None = None
    is_isolated: bool = False
    identity: str = ""

    @property
    def where(self) -> str:
        """Tells its files from those of other places, under the same paths; empty for this machine."""
        return "" if self.is_local else f"{self.kind}:{self.identity or self.name}"


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file, folder or link: its absolute path, bytes, time of change in nanoseconds, and mode bits."""

    path: str
    kind: FileKind
    size: int = 0
    mtime_ns: int = 0
    mode: int = 0o644

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or self.path


@dataclass(frozen=True, slots=True)
class Command:
    """A command for the context's shell.

    Parameters
    ----------
    text
        The command line, for ``sh -c`` or what stands for it.
    cwd
        Folder to run in; the context's own if left out.
    env
        Variables added to the context's environment.
    stdin
        Bytes to feed; nothing can be asked for otherwise.
    timeout
        Seconds until it is ended; ``None`` for no limit.
    """

    text: str
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """How a command ended: its exit code, ``None`` when it was ended from outside (by ``signal``, if known).

    ``left_running`` counts the processes it started that still run, as far as the context can tell.
    """

    exit_code: int | None
    signal: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    left_running: int = 0


class Running(Protocol):
    """A command that has been started."""

    @property
    def id(self) -> str:
        """What names it in its context (a process id, say)."""
        ...

    async def wait(self) -> Completed:
        """Wait for its end; may be called by several."""
        ...

    async def stop(self, *, grace: float = 2.0) -> Completed:
        """End it and everything it started: ask, then force after ``grace`` seconds."""
        ...


@runtime_checkable
class ExecutionContext(Protocol):
    """A place with files and a shell."""

    @property
    def info(self) -> ContextInfo:
        """What it is."""
        ...

    @property
    def cwd(self) -> str:
        """Folder that relative paths start from, absolute."""
        ...

    def resolve(self, path: str) -> str:
        """Return the absolute form of a path; ``~`` is the home folder there. Links stay as written."""
        ...

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo:
        """Describe a file, folder or link."""
        ...

    async def read(self, path: str, offset: int = 0, size: int | None = None) -> bytes:
        """Return bytes of a file: ``size`` of them (fewer at its end) from ``offset``, or all the rest."""
        ...

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace a file, whole or not at all; folders on the way are made, mode bits kept unless given."""
        ...

    async def remove(self, path: str) -> None:
        """Remove a file, link or empty folder."""
        ...

    async def list(self, path: str) -> tuple[FileInfo, ...]:
        """Return what is directly in a folder, by name; links are not followed."""
        ...

    async def start(self, command: Command, on_output: OnOutput) -> Running:
        """Start a command in a process group of its own; its output goes to ``on_output``.

        Cancelling whoever waits for it does not end it: :meth:`Running.stop` does.
        """
        ...

    async def aclose(self) -> None:
        """Stop what still runs and release the place."""
        ...
