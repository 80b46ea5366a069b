"""The context that is another machine, reached by SSH. Needs the extra ``ssh``.

The other machine must be known: its key is compared with ``known_hosts``, and nothing in anybody's configuration turns
that off. A connection that breaks is not made again behind anybody's back: what ran there may go on or not, and only
the person can tell what that means.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import posixpath
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from zidane_lab.contexts.base import Command, ContextInfo, ContextLostError, FileInfo, OnOutput
from zidane_lab.contexts.channels import Answer, RemoteCommand, answer, start_or_end
from zidane_lab.contexts.launching import LONGEST_ARGUMENT, launch_argv, new_token
from zidane_lab.contexts.posix_paths import absolute
from zidane_lab.errors import ConfigurationError

if TYPE_CHECKING:
    from zidane_lab.contexts.ssh_channel import SshChannel

__all__ = ["SshContext", "SshHost"]

KEEPALIVE_SECONDS: Final = 15.0
KEEPALIVES: Final = 4
"""That many without an answer, and the connection counts as broken."""
CONNECT_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 10.0
"""How long a machine may take to answer when it is asked whether it is still there."""
_STOP_GRACE: Final = 1.0


@dataclass(frozen=True, slots=True)
class SshHost:
    """How a machine is reached.

    Parameters
    ----------
    host
        Its name, address or alias in the person's SSH configuration.
    user, port
        What the configuration says, if left out.
    folder
        Working folder there; relative to the home folder, which it is if left out.
    known_hosts
        Files of known keys; the person's and the system's own if left out.
    keys
        Files of private keys; those of the agent and the usual ones if left out.
    config
        Configuration files; the person's own if left out, none if empty.
    """

    host: str
    user: str | None = None
    port: int | None = None
    folder: str = ""
    known_hosts: tuple[str, ...] | None = None
    keys: tuple[str, ...] | None = None
    config: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.user}@{self.host}" if self.user else self.host

    @property
    def identity(self) -> str:
        """The name, the port and the folder, as far as they are told."""
        port = f":{self.port}" if self.port else ""
        return f"{self.name}{port}{self.folder if self.folder.startswith('/') else f'/~/{self.folder}'}"

    def known_host_files(self) -> list[str]:
        """Return the files of known keys that exist.

        Raises
        ------
        ConfigurationError
            There is none, so no machine could be told from another that claims to be it.
        """
        named = self.known_hosts
        if named is None:
            named = (str(Path("~/.ssh/known_hosts").expanduser()), "/etc/ssh/ssh_known_hosts")
        found = [each for each in named if Path(each).is_file()]
        if not found:
            raise ConfigurationError(
                f"No keys of known hosts are on this machine, so {self.name} cannot be told from an impostor.",
                hint=f"Run `ssh {self.name}` once in a terminal, compare the key it shows, and accept it.",
            )
        return found


class SshContext:
    """The :class:`~zidane_lab.contexts.base.ExecutionContext` of another machine; made by :meth:`connect`.

    Sockets belong to an event loop, so a context is used on the one it was connected on.
    """

    def __init__(self, host: SshHost, connection: Any, client: Any, home: str) -> None:
        from zidane_lab.contexts.sftp_files import SftpFiles

        self.host = host
        self._connection, self._home = connection, home
        self._files = SftpFiles(client, self._lose)
        self._cwd = posixpath.normpath(absolute(host.folder, cwd=home, home=home))
        self._lost: ContextLostError | None = None
        self._commands: set[RemoteCommand] = set()

    @classmethod
    async def connect(cls, host: SshHost) -> SshContext:
        """Connect to a machine and look where the home folder is.

        Raises
        ------
        ConfigurationError
            The library is not installed, or no known keys are there.
        ContextLostError
            The machine does not answer, is not the one it should be, or does not let the person in.
        """
        known_hosts = host.known_host_files()
        try:
            import asyncssh
        except ImportError as error:
            raise ConfigurationError(
                "Other machines need asyncssh.", hint='Install it with: pip install "zidane_lab[ssh]".'
            ) from error
        given: dict[str, Any] = {"username": host.user, "port": host.port, "client_keys": host.keys}
        given = {key: list(value) if key == "client_keys" else value for key, value in given.items() if value}
        if host.config is not None:
            given["config"] = list(host.config) or None
        try:
            connection = await asyncssh.connect(
                host.host,
                known_hosts=known_hosts,
                # Whatever the person's configuration wants for terminals: nothing of this machine goes there, and
                # nobody there gets at its keys or its screen.
                agent_forwarding=False,
                x11_forwarding=False,
                send_env=None,
                keepalive_interval=KEEPALIVE_SECONDS,
                keepalive_count_max=KEEPALIVES,
                connect_timeout=CONNECT_SECONDS,
                login_timeout=CONNECT_SECONDS,
                **given,
            )
        except (asyncssh.Error, OSError, ValueError) as error:
            raise ContextLostError(f"{host.name} cannot be reached: {error}.", hint=_advice(host, error)) from error
        try:
            client = await connection.start_sftp_client(path_encoding="utf-8", path_errors="surrogateescape")
            home = str(await client.realpath("."))
        except (asyncssh.Error, OSError) as error:
            connection.abort()
            raise ContextLostError(
                f"{host.name} does not offer its files: {error}.", hint="Its SSH server needs the SFTP subsystem."
            ) from error
        return cls(host, connection, client, home)

    @property
    def info(self) -> ContextInfo:
        """What it is: nobody knows what can be reached from there, and nothing keeps commands from the rest of it."""
        return ContextInfo("ssh", self.host.name, identity=self.host.identity)

    @property
    def cwd(self) -> str:
        """Folder that relative paths start from."""
        return self._cwd

    def resolve(self, path: str) -> str:
        """Return the absolute form of a path; links and ``..`` stay as written."""
        return absolute(path, cwd=self.cwd, home=self._home)

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo:
        """Describe a file, folder or link."""
        self._check()
        return await self._files.stat(self.resolve(path), follow=follow)

    async def read(self, path: str, offset: int = 0, size: int | None = None) -> bytes:
        """Return bytes of a file."""
        self._check()
        return await self._files.read(self.resolve(path), offset, size)

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace a file, whole or not at all."""
        self._check()
        await self._files.write(self.resolve(path), data, mode=mode)

    async def remove(self, path: str) -> None:
        """Remove a file, link or empty folder."""
        self._check()
        await self._files.remove(self.resolve(path))

    async def list(self, path: str) -> tuple[FileInfo, ...]:
        """Return what is directly in a folder, by name."""
        self._check()
        return await self._files.list(self.resolve(path))

    async def start(self, command: Command, on_output: OnOutput) -> RemoteCommand:
        """Start a command.

        Raises
        ------
        OSError
            Its folder is gone or closed, the command cannot be one, or the server allows no more at the same time.
        ContextLostError
            The connection is gone.
        """
        return await start_or_end(lambda hear: self._start_command(command, hear), on_output)

    async def lost(self) -> ContextLostError | None:
        """Look whether the machine still answers; return what is to be said if not."""
        if self._lost is not None:
            return self._lost
        if self._connection.is_closed():
            return self._lose("it was closed")
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._files.stat(self._home)
        except TimeoutError:
            self._lose(f"nothing was heard for {LOOK_SECONDS:g} s")
            self._connection.abort()
        except ContextLostError as error:
            return error
        except OSError:  # an answer, at least
            pass
        return self._lost

    async def aclose(self) -> None:
        """Stop what still runs and close the connection. It cannot be used again."""
        commands, self._commands = self._commands, set()
        if self._lost is None:
            await asyncio.gather(*(each.stop(grace=_STOP_GRACE) for each in commands), return_exceptions=True)
            self._lost = ContextLostError(f"The connection to {self.host.name} was closed.")
        for each in commands:
            each.lose(self._lost)
        self._connection.close()
        try:
            async with asyncio.timeout(5):
                await self._connection.wait_closed()
        except TimeoutError:
            self._connection.abort()

    # --- the connection -----------------------------------------------------------------------

    async def _start_command(self, command: Command, on_output: OnOutput) -> RemoteCommand:
        folder = self.resolve(command.cwd) if command.cwd is not None else self.cwd
        token = new_token()
        argv = launch_argv(command, token, folder, stdin="-" if command.stdin else "")
        channel = await self._open(argv, command.stdin)
        running = await RemoteCommand.begin(channel, self._ask, command, on_output, token=token, folder=folder)
        self._commands = {each for each in self._commands if not each.is_over} | {running}
        return running

    def _check(self) -> None:
        if self._lost is not None:
            raise self._lost

    def _lose(self, why: str) -> ContextLostError:
        """Take note that the connection is gone, for good."""
        if self._lost is None:
            self._lost = ContextLostError(f"The connection to {self.host.name} is gone: {why}.")
        return self._lost

    async def _open(self, argv: Sequence[str], stdin: bytes = b"") -> SshChannel:
        from zidane_lab.contexts.ssh_channel import SshChannel

        self._check()
        line = f"exec {shlex.join(argv)}"
        if len(line.encode("utf-8", "surrogateescape")) > LONGEST_ARGUMENT:
            raise OSError(errno.E2BIG, "the command line is too long: put it into a file and run that")
        with self._errors():
            return await SshChannel.open(self._connection, line, name=self.host.name, stdin=stdin)

    async def _ask(self, argv: Sequence[str]) -> Answer:
        return await answer(await self._open(argv))

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        import asyncssh

        try:
            yield
        except asyncssh.ChannelOpenError as error:
            if self._connection.is_closed():
                raise self._lose(str(error)) from error
            raise OSError(errno.EAGAIN, f"{self.host.name} allows no more commands at the same time") from error
        except (asyncssh.Error, OSError) as error:
            raise self._lose(str(error)) from error


def _advice(host: SshHost, error: Exception) -> str:
    import asyncssh

    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return (
            f"Its key is not the one in known_hosts, or none is there. Run `ssh {host.name}` in a terminal and compare "
            "the key with what the machine's owner says; never accept a changed one unseen."
        )
    if isinstance(error, asyncssh.PermissionDenied):
        return "Add your key to the SSH agent (ssh-add), or name it in ~/.ssh/config; passwords are not asked for here."
    return "Check the name and the network, then choose the place again; or work on this machine."
