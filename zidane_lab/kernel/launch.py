"""Start a kernel of our own, or join one that runs: both give a :class:`~zidane_lab.kernel.remote.RemoteExecutor`.

A kernel we started is shut down when the block ends, whatever ended it; one we joined is never touched
beyond the code it was asked to run.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from zidane_lab.errors import ConfigurationError, KernelLostError
from zidane_lab.kernel.connection import Connection
from zidane_lab.kernel.remote import KernelFacts, OnExecution, RemoteExecutor

__all__ = ["NATIVE", "PRIVATE_VARIABLES", "join_kernel", "start_kernel"]

NATIVE: Final = "python3"
"""The kernel of this very interpreter, also where another one is installed under that name."""

PRIVATE_VARIABLES: Final = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
"""Variables a kernel we start does not inherit: the agent needs these keys, the code it runs does not."""

START_SECONDS: Final = 60.0
JOIN_SECONDS: Final = 30.0
HEARTBEATS: Final = 10
"""Looks without a heartbeat, one every half second, after which a joined kernel counts as gone."""


@asynccontextmanager
async def start_kernel(
    name: str = NATIVE,
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    on_execution: OnExecution | None = None,
) -> AsyncIterator[RemoteExecutor]:
    """Start a kernel in folder ``cwd``, and end it with the block.

    Parameters
    ----------
    name
        A kernel's name as ``jupyter kernelspec list`` shows it.
    env
        Its environment; the process's own if left out. It gets neither :data:`PRIVATE_VARIABLES` nor a
        matplotlib backend chosen for scripts: figures are to appear as in a notebook.
    on_execution
        See :class:`~zidane_lab.kernel.remote.RemoteExecutor`.

    Raises
    ------
    ConfigurationError
        There is no such kernel, it does not start, or it does not run Python.
    """
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    from jupyter_client.manager import AsyncKernelManager

    # Without folders to search, only the interpreter's own kernel is found.
    specs = KernelSpecManager(kernel_dirs=[]) if name == NATIVE else KernelSpecManager()
    try:
        spec = specs.get_kernel_spec(name)
    except NoSuchKernel as error:
        known = ", ".join(sorted(KernelSpecManager().find_kernel_specs())) or "none"
        raise ConfigurationError(
            f"There is no kernel named {name!r}.", hint=f"Installed: {known}. For {NATIVE}, install ipykernel here."
        ) from error
    left_out = {*PRIVATE_VARIABLES, "MPLBACKEND"}
    environment = {key: value for key, value in (os.environ if env is None else env).items() if key not in left_out}
    manager = AsyncKernelManager(kernel_name=name, kernel_spec_manager=specs)
    with tempfile.TemporaryFile() as log:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(_shut_down, manager)
            try:
                # Our standard output carries the report; nothing of the kernel process itself may get there.
                await manager.start_kernel(cwd=str(cwd), env=environment, stdout=log, stderr=log)
            except (OSError, RuntimeError) as error:
                raise ConfigurationError(
                    f"The kernel {name!r} cannot be started: {error}.", hint=f"It is started by: {' '.join(spec.argv)}"
                ) from error
            provisioner = manager.provisioner
            assert provisioner is not None

            async def cause_of_death() -> str | None:
                if await manager.is_alive():
                    return None
                process = getattr(provisioner, "process", None)
                code = getattr(process, "returncode", None)
                return "its process ended" if code is None else f"its process ended {_exit_words(code)}"

            client = manager.client()
            client.start_channels(hb=False, stdin=False)  # its process tells whether it lives
            connection = Connection(client, cause_of_death=cause_of_death, interrupt=manager.interrupt_kernel)
            stack.push_async_callback(connection.close)
            try:
                info = await connection.open(START_SECONDS)
            except KernelLostError as error:
                log.seek(0)
                said = log.read()[-2000:].decode(errors="replace").strip()
                raise ConfigurationError(
                    f"The kernel {name!r} does not start: {error.message}", hint=f"It said:\n{said}" if said else None
                ) from error
            facts = _facts(info, name, spec.display_name)
            yield RemoteExecutor(connection, facts, on_execution=on_execution, kill=provisioner.kill)


async def _shut_down(manager: Any) -> None:
    if manager.has_kernel:
        await manager.shutdown_kernel()


@asynccontextmanager
async def join_kernel(file: str | Path, *, on_execution: OnExecution | None = None) -> AsyncIterator[RemoteExecutor]:
    """Join a running kernel by its connection file; it goes on when the block ends.

    Parameters
    ----------
    file
        Path of the file, or its name (or a part of it) among those of this user's running kernels.
    on_execution
        See :class:`~zidane_lab.kernel.remote.RemoteExecutor`.

    Raises
    ------
    ConfigurationError
        The file is missing or damaged, no kernel answers, or it does not run Python.
    """
    from jupyter_client.asynchronous.client import AsyncKernelClient
    from jupyter_client.connect import find_connection_file

    try:
        path = find_connection_file(str(file))
        info = json.loads(await asyncio.to_thread(Path(path).read_text, encoding="utf-8"))
        client = AsyncKernelClient()
        client.load_connection_info(info)
        client.start_channels(stdin=False)
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise ConfigurationError(
            f"{str(file)!r} is not the connection file of a kernel: {error}.",
            hint="In the notebook, `%connect_info` names its connection file.",
        ) from error
    silent = 0

    async def cause_of_death() -> str | None:
        nonlocal silent
        silent = 0 if client.hb_channel.is_beating() else silent + 1
        # The answer of a restarted kernel tells that it is another one.
        client.control_channel.send(client.session.msg("kernel_info_request", {}))
        return "its heart stopped beating" if silent >= HEARTBEATS else None

    async def interrupt() -> None:
        client.control_channel.send(client.session.msg("interrupt_request", {}))

    connection = Connection(client, cause_of_death=cause_of_death, interrupt=interrupt)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(connection.close)
        try:
            answer = await connection.open(JOIN_SECONDS)
        except KernelLostError as error:
            raise ConfigurationError(
                f"No kernel answers at {path}.", hint="It may have ended: start the notebook's kernel and join it anew."
            ) from error
        name = info.get("kernel_name") or NATIVE
        yield RemoteExecutor(connection, _facts(answer, name, _display_name(name)), on_execution=on_execution)


def _facts(info: Mapping[str, Any], name: str, display_name: str) -> KernelFacts:
    language = dict(info.get("language_info", {}))
    if language.get("name") != "python":
        raise ConfigurationError(
            f"The kernel {name!r} runs {language.get('name') or 'an unknown language'}, not Python.",
            hint="The agent works in Python kernels; name one with --kernel (`jupyter kernelspec list`).",
        )
    return KernelFacts(name, display_name, language)


def _exit_words(code: int) -> str:
    """Word the exit code of a process."""
    if code >= 0:
        return f"with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"by {name}{' (out of memory, perhaps)' if name == 'SIGKILL' else ''}"


def _display_name(name: str) -> str:
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        return str(KernelSpecManager().get_kernel_spec(name).display_name)
    except NoSuchKernel:
        return name
