"""The context that is a container: started on first need, removed at the end, closed to the outside by default.

Needs the extra ``docker`` and a daemon. Files are read and written by commands in the container, as the person commands
run as; so nothing is written that a command could not write (the daemon's own copying would, as root).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Final

from zidane_lab.contexts.base import Command, ContextInfo, ContextLostError, FileInfo, OnOutput
from zidane_lab.contexts.channels import Answer, RemoteCommand, answer, start_or_end
from zidane_lab.contexts.container import ContainerSpec, remove_leftovers
from zidane_lab.contexts.docker_exec import DockerExec
from zidane_lab.contexts.launching import launch_argv, new_token
from zidane_lab.contexts.posix_paths import absolute
from zidane_lab.contexts.shell_files import ShellFiles
from zidane_lab.errors import ConfigurationError, ToolError

__all__ = ["DockerContext", "docker_client"]

_GONE: Final = (404, 409)
"""Statuses of a daemon that does not know the container any more, or says that it does not run."""

_STOP_GRACE: Final = 1.0


def docker_client() -> Any:
    """Connect to the daemon the environment names.

    Raises
    ------
    ConfigurationError
        The SDK is not installed, or no daemon answers.
    """
    try:
        import docker  # type: ignore[import-untyped]  # publishes no types
    except ImportError as error:
        raise ConfigurationError(
            "Containers need the Docker SDK.", hint='Install it with: pip install "zidane_lab[docker]".'
        ) from error
    try:
        return docker.from_env()
    except Exception as error:
        raise ConfigurationError(
            f"No Docker daemon answers: {error}", hint="Start Docker, or set DOCKER_HOST; or work on this machine."
        ) from error


class DockerContext:
    """The :class:`~zidane_lab.contexts.base.ExecutionContext` of a container.

    Parameters
    ----------
    spec
        What container.
    client
        A client of the Docker SDK; that of the environment if left out. It is not closed.
    """

    def __init__(self, spec: ContainerSpec, *, client: Any = None) -> None:
        self.spec = spec
        self._client = client
        self._container: Any = None
        self._starting: asyncio.Task[Any] | None = None
        self._lost: ContextLostError | None = None
        self._commands: set[RemoteCommand] = set()
        self._files = ShellFiles(self._ask)
        self._remove: weakref.finalize[..., Any] | None = None

    @property
    def info(self) -> ContextInfo:
        """What it is."""
        identity = self.spec.identity
        return ContextInfo("docker", self._name, has_network=self.spec.network, is_isolated=True, identity=identity)

    @property
    def _name(self) -> str:
        return f"container of {self.spec.image}"

    @property
    def container_id(self) -> str | None:
        """The container's id; ``None`` while it has not been needed."""
        return str(self._container.id) if self._container is not None else None

    @property
    def cwd(self) -> str:
        """Folder that relative paths start from."""
        return self.spec.folder

    @property
    def root(self) -> str:
        """Folder of the project: what is mounted around the working folder, or that itself."""
        return mount.target if (mount := self.spec.project) is not None else self.cwd

    def resolve(self, path: str) -> str:
        """Return the absolute form of a path; links and ``..`` stay as written."""
        return absolute(path, cwd=self.cwd, home=self.spec.home)

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo:
        """Describe a file, folder or link."""
        return await self._files.stat(self.resolve(path), follow=follow)

    async def read(self, path: str, offset: int = 0, size: int | None = None) -> bytes:
        """Return bytes of a file."""
        return await self._files.read(self.resolve(path), offset, size)

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace a file, whole or not at all."""
        await self._files.write(self.resolve(path), data, mode=mode)

    async def remove(self, path: str) -> None:
        """Remove a file, link or empty folder."""
        await self._files.remove(self.resolve(path))

    async def list(self, path: str) -> tuple[FileInfo, ...]:
        """Return what is directly in a folder, by name."""
        return await self._files.list(self.resolve(path))

    async def start(self, command: Command, on_output: OnOutput) -> RemoteCommand:
        """Start a command.

        Raises
        ------
        OSError
            Its folder is gone or closed, or the command cannot be one.
        ContextLostError
            The container is gone.
        """
        return await start_or_end(lambda hear: self._start_command(command, hear), on_output)

    async def lost(self) -> ContextLostError | None:
        """Look whether the container is still there, if it has been needed; return what is to be said if not."""
        if self._lost is None and self._container is not None and not await asyncio.to_thread(self._is_up):
            self._lost = ContextLostError(f"The {self._name} has ended.")
        return self._lost

    async def aclose(self) -> None:
        """Stop what runs and remove the container. It cannot be used again."""
        lost, self._lost = self._lost, self._lost or ContextLostError(f"The {self._name} was closed.")
        if self._starting is not None:
            with contextlib.suppress(ToolError, ConfigurationError):
                await asyncio.shield(self._starting)
        commands, self._commands = self._commands, set()
        if lost is None and self._container is not None:
            self._lost = None  # commands are ended through it
            try:
                await asyncio.gather(*(each.stop(grace=_STOP_GRACE) for each in commands), return_exceptions=True)
            finally:
                self._lost = ContextLostError(f"The {self._name} was closed.")
        for each in commands:
            each.lose(self._lost)
        if self._remove is not None:
            await asyncio.to_thread(self._remove)

    # --- the container ------------------------------------------------------------------------

    async def _start_command(self, command: Command, on_output: OnOutput) -> RemoteCommand:
        folder = self.resolve(command.cwd) if command.cwd is not None else self.cwd
        token = new_token()
        argv = launch_argv(command, token, folder, stdin=str(len(command.stdin)) if command.stdin else "")
        channel = await self._open(argv, command.stdin)
        running = await RemoteCommand.begin(channel, self._ask, command, on_output, token=token, folder=folder)
        self._commands = {each for each in self._commands if not each.is_over} | {running}
        return running

    async def _ready(self) -> Any:
        if self._lost is not None:
            raise self._lost
        if self._starting is None or (self._starting.done() and self._container is None):
            self._starting = asyncio.get_running_loop().create_task(asyncio.to_thread(self._start))
        return await asyncio.shield(self._starting)  # who gives up waiting does not leave a container behind

    def _start(self) -> Any:
        """Start the container. Blocks, perhaps for minutes: an image that is not there is fetched."""
        import docker.errors  # type: ignore[import-untyped]

        client = self._client = self._client if self._client is not None else docker_client()
        try:
            remove_leftovers(client)
            self._have_image(client)
            self._container = client.containers.run(**self.spec.arguments())
        except docker.errors.ImageNotFound as error:
            raise ToolError(
                f"There is no image {self.spec.image}.",
                hint=f"Fetch it (docker pull {self.spec.image}) or name another.",
            ) from error
        except Exception as error:
            raise ToolError(
                f"No {self._name} could be started: {error}", hint="Look at the image and limits."
            ) from error
        self._remove = weakref.finalize(self, _remove, self._container)
        return self._container

    def _have_image(self, client: Any) -> None:
        import docker.errors

        try:
            client.images.get(self.spec.image)
        except docker.errors.ImageNotFound:
            if not self.spec.pull:
                raise
            name, _, tag = self.spec.image.rpartition(":")
            if not name or "/" in tag:
                name, tag = self.spec.image, "latest"
            client.images.pull(name, tag=tag)

    def _is_up(self) -> bool:
        try:
            self._container.reload()
        except Exception:  # noqa: BLE001 - whatever the daemon says, it is not up
            return False
        return bool(self._container.status == "running")

    async def _open(self, argv: Sequence[str], stdin: bytes) -> DockerExec:
        container = await self._ready()
        try:
            for argument in argv:
                argument.encode("utf-8")
        except UnicodeEncodeError as error:
            raise OSError(errno.EILSEQ, "the daemon takes names of whole characters only") from error
        with self._reached():
            return await DockerExec.open(
                self._client.api,
                container.id,
                argv,
                name=self._name,
                user=self.spec.runs_as,
                env={"HOME": self.spec.home},
                is_up=self._is_up,
                stdin=stdin,
            )

    async def _ask(self, argv: Sequence[str], stdin: bytes = b"") -> Answer:
        return await answer(await self._open(argv, stdin))

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """Turn what the SDK says of a container that is gone into :class:`ContextLostError`, for good."""
        import docker.errors
        import requests.exceptions

        try:
            yield
        except docker.errors.APIError as error:
            if error.status_code in _GONE:
                self._lost = ContextLostError(f"The {self._name} is gone: {error.explanation or error}.")
                raise self._lost from error
            raise ToolError(f"The {self._name} refused: {error.explanation or error}.") from error
        except (requests.exceptions.RequestException, OSError) as error:
            self._lost = ContextLostError(f"The Docker daemon does not answer: {error}.")
            raise self._lost from error


def _remove(container: Any) -> None:
    """Remove a container, with all that runs in it; also when the interpreter ends."""
    with contextlib.suppress(Exception):  # it is gone already, or the daemon is
        container.remove(force=True, v=True)
