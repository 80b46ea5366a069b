"""Contexts by name: ``process``, ``docker:python:3.12-slim``, ``ssh:ada@host``, or a name given in the settings.

Settings that name contexts decide what of this machine a container sees and where commands run: they are to be taken
from the person's own settings, never from a project's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.contexts.container import ContainerSpec
from zidane_lab.contexts.described import SSH, Folders, container_of, described, port_of
from zidane_lab.contexts.policy import isolation_policy
from zidane_lab.contexts.ssh import SshHost
from zidane_lab.errors import ConfigurationError

__all__ = [
    "ISOLATION",
    "ContextSettings",
    "Isolation",
    "check_contexts",
    "context_names",
    "open_context",
    "place_for",
    "read_context",
]

Isolation: TypeAlias = Literal["off", "auto", "required"]
ISOLATION: Final[tuple[Isolation, ...]] = ("off", "auto", "required")
"""Whether commands on this machine are kept inside: never; where it can be; or not run otherwise."""

_TAKEN: Final = ("docker:", "ssh:")
_EXAMPLE: Final = 'Write {"gpu": {"kind": "ssh", "host": "gpu.example"}, "box": {"kind": "docker", "image": "python"}}.'


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """The settings that matter here.

    Parameters
    ----------
    contexts
        Contexts by name, each a mapping with ``kind`` and the fields of its kind.
    isolation, allow_write, allow_network, hidden, env
        For commands and files of this machine: see :func:`~zidane_lab.contexts.policy.isolation_policy`.
    session_id
        Whose commands these are.
    """

    contexts: Mapping[str, Any] = field(default_factory=dict)
    isolation: Isolation = "off"
    allow_write: object = ()
    allow_network: bool = False
    hidden: tuple[str, ...] = ()
    env: tuple[str, ...] | None = None
    session_id: str | None = None


def context_names(settings: ContextSettings) -> tuple[str, ...]:
    """Return the names that can be chosen, for completion; containers and hosts of other names too."""
    return ("process", *sorted(settings.contexts), "docker:", "ssh:")


async def place_for(
    name: str,
    cwd: str | Path | Callable[[], str | Path],
    settings: ContextSettings | None = None,
    *,
    project: str | Path | None = None,
) -> ExecutionContext:
    """Return the context of a name. Another machine is connected to; a container starts when it is needed.

    Parameters
    ----------
    name
        As above.
    cwd
        The folder to work in on this machine; for ``process`` a function is asked each time.
    settings
        The person's settings.
    project
        The folder a container sees, and that commands which are kept inside may write; the working folder if left
        out. It should not follow a kernel that changes its folder: code could open any folder that way.

    Raises
    ------
    ConfigurationError
        There is no such context, or its settings cannot be used.
    ContextLostError
        The other machine cannot be reached.
    """
    settings = settings if settings is not None else ContextSettings()
    if settings.isolation not in ISOLATION:
        raise ConfigurationError(f"isolation = {settings.isolation!r}: expected one of {', '.join(ISOLATION)}.")
    found = read_context(name, cwd() if callable(cwd) else cwd, settings, project=project)
    return await open_context(found, cwd, settings, project=project)


async def open_context(
    found: ContainerSpec | SshHost | None,
    cwd: str | Path | Callable[[], str | Path],
    settings: ContextSettings,
    *,
    project: str | Path | None = None,
) -> ExecutionContext:
    """Return the context that :func:`read_context` has found; see :func:`place_for`.

    Raises
    ------
    ConfigurationError
        It cannot be used with these settings.
    ContextLostError
        The other machine cannot be reached.
    """
    if isinstance(found, ContainerSpec):
        from zidane_lab.contexts.docker import DockerContext

        return DockerContext(found)
    if isinstance(found, SshHost):
        if settings.isolation == "required":
            raise ConfigurationError(
                f"Commands on {found.name} cannot be kept inside, and `isolation` is required.",
                hint="Choose a container or this machine, or set `isolation` to auto.",
            )
        from zidane_lab.contexts.ssh import SshContext

        return await SshContext.connect(found)
    return _process(cwd, settings, project)


def check_contexts(contexts: object) -> dict[str, Any]:
    """Return contexts by name as they were given, each of them checked.

    Raises
    ------
    ConfigurationError
        This is no mapping of names to fields, or one of them cannot be used.
    """
    if not isinstance(contexts, Mapping) or not all(isinstance(name, str) for name in contexts):
        raise ConfigurationError("Contexts are a mapping of names to fields.", hint=_EXAMPLE)
    for name, given in contexts.items():
        is_free = name != "process" and not name.startswith(_TAKEN)
        if not is_free or not name or name != name.strip() or not name.isprintable():
            raise ConfigurationError(f"A context cannot be named {name!r}.", hint=_EXAMPLE)
        described(name, given, None)
    return dict(contexts)


def read_context(
    name: str, cwd: str | Path, settings: ContextSettings, *, project: str | Path | None = None
) -> ContainerSpec | SshHost | None:
    """Return what a name stands for; ``None`` for this machine.

    Raises
    ------
    ConfigurationError
        There is no such context, or its settings cannot be used.
    """
    name = name.strip()
    if name in {"", "process"}:
        return None
    if name in settings.contexts:
        return described(name, settings.contexts[name], Folders.of(cwd, project))
    kind, _, rest = name.partition(":")
    if kind == "docker" and rest:
        return container_of(name, {"image": rest}, Folders.of(cwd, project))
    if kind == "ssh" and (match := SSH.fullmatch(rest)):
        folder = match["folder"] or ""
        return SshHost(
            match["host"].strip("[]"),
            match["user"],
            port_of(name, match["port"]),
            folder[1:] if folder.startswith("/~") else folder,
        )
    known = ", ".join(("process", *sorted(settings.contexts)))
    raise ConfigurationError(
        f"There is no context {name!r}.",
        hint=f"Choose one of {known}; or docker:IMAGE, ssh:USER@HOST, ssh:USER@HOST:PORT/FOLDER.",
    )


def _process(
    cwd: str | Path | Callable[[], str | Path], settings: ContextSettings, project: str | Path | None
) -> ExecutionContext:
    from zidane_lab.contexts.process import LocalProcess, kernel_free_environment

    if settings.isolation == "off":
        return LocalProcess(cwd, session_id=settings.session_id)
    from zidane_lab.contexts.guarded import GuardedContext

    here = cwd() if callable(cwd) else cwd
    policy = isolation_policy(
        project if project is not None else here,
        allow_write=settings.allow_write,
        network=settings.allow_network,
        hidden=settings.hidden,
        env=settings.env,
    )
    place = LocalProcess(
        cwd, environment=lambda: policy.environment(kernel_free_environment()), session_id=settings.session_id
    )
    return GuardedContext(place, policy, is_required=settings.isolation == "required")
