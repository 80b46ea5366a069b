"""Contexts by name: ``process``, ``docker:python:3.12-slim``, ``ssh:ada@host``, or a name given in the settings.

Settings that name contexts decide what of this machine a container sees and where commands run: they are to be taken
from the person's own settings, never from a project's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.contexts.container import ContainerSpec, Mount
from zidane_lab.contexts.policy import isolation_policy
from zidane_lab.contexts.ssh import SshHost
from zidane_lab.errors import ConfigurationError

__all__ = ["ISOLATION", "ContextSettings", "Isolation", "context_names", "place_for", "read_context"]

Isolation: TypeAlias = Literal["off", "auto", "required"]
ISOLATION: Final[tuple[Isolation, ...]] = ("off", "auto", "required")
"""Whether commands on this machine are kept inside: never; where it can be; or not run otherwise."""

_SSH: Final = re.compile(
    r"(?:(?P<user>[^@\s/]+)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^-:/@\s\[\]][^:/@\s\[\]]*)(?::(?P<port>\d{1,5}))?(?P<folder>/\S.*|/)?"
)


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
    name: str, cwd: str | Path | Callable[[], str | Path], settings: ContextSettings | None = None
) -> ExecutionContext:
    """Return the context of a name. Another machine is connected to; a container starts when it is needed.

    Parameters
    ----------
    name
        As above.
    cwd
        The project folder on this machine; for ``process`` a function is asked each time.
    settings
        The person's settings.

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
    found = read_context(name, cwd() if callable(cwd) else cwd, settings)
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
    return _process(cwd, settings)


def read_context(name: str, cwd: str | Path, settings: ContextSettings) -> ContainerSpec | SshHost | None:
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
        return _named(name, settings.contexts[name], cwd)
    kind, _, rest = name.partition(":")
    if kind == "docker" and rest:
        return _container(name, {"image": rest}, cwd)
    if kind == "ssh" and (match := _SSH.fullmatch(rest)):
        folder = match["folder"] or ""
        return SshHost(
            match["host"].strip("[]"),
            match["user"],
            _port(name, match["port"]),
            folder[1:] if folder.startswith("/~") else folder,
        )
    known = ", ".join(("process", *sorted(settings.contexts)))
    raise ConfigurationError(
        f"There is no context {name!r}.",
        hint=f"Choose one of {known}; or docker:IMAGE, ssh:USER@HOST, ssh:USER@HOST:PORT/FOLDER.",
    )


def _process(cwd: str | Path | Callable[[], str | Path], settings: ContextSettings) -> ExecutionContext:
    from zidane_lab.contexts.process import LocalProcess, kernel_free_environment

    if settings.isolation == "off":
        return LocalProcess(cwd, session_id=settings.session_id)
    from zidane_lab.contexts.guarded import GuardedContext

    policy = isolation_policy(
        cwd() if callable(cwd) else cwd,
        allow_write=settings.allow_write,
        network=settings.allow_network,
        hidden=settings.hidden,
        env=settings.env,
    )
    place = LocalProcess(
        cwd, environment=lambda: policy.environment(kernel_free_environment()), session_id=settings.session_id
    )
    return GuardedContext(place, policy, is_required=settings.isolation == "required")


# --- contexts in the settings -----------------------------------------------------------------------


def _named(name: str, given: object, cwd: str | Path) -> ContainerSpec | SshHost | None:
    if not isinstance(given, Mapping):
        raise _trouble(name, "is not a set of fields")
    fields = {str(key): value for key, value in given.items()}
    kind = fields.pop("kind", None)
    if kind == "process" and not fields:
        return None
    if kind == "docker":
        return _container(name, fields, cwd)
    if kind == "ssh":
        return _host(name, fields)
    raise _trouble(name, f"has the kind {kind!r}; expected process, docker or ssh")


def _container(name: str, given: Mapping[str, Any], cwd: str | Path) -> ContainerSpec:
    fields = _checked(name, given, _CONTAINER)
    project = fields.pop("project", "rw")
    if project not in {"rw", "ro", "none"}:
        raise _trouble(name, f"has project = {project!r}; expected rw, ro or none")
    mounts = [_mount(name, each) for each in fields.pop("mounts", ())]
    if project != "none":
        target = fields.get("folder", "/workspace")
        mounts.insert(0, Mount(str(Path(cwd).resolve()), target, read_only=project == "ro"))
    if "image" not in fields:
        raise _trouble(name, "names no image")
    return ContainerSpec(**fields, mounts=tuple(mounts))


def _host(name: str, given: Mapping[str, Any]) -> SshHost:
    fields = _checked(name, given, _HOST)
    if "host" not in fields or not _SSH.fullmatch(fields["host"]):
        raise _trouble(name, "names no host")
    return SshHost(**fields)


_TEXTS: Final = "a list of texts"
_CONTAINER: Final[Mapping[str, object]] = {
    "image": str,
    "folder": str,
    "project": str,
    "mounts": _TEXTS,
    "network": bool,
    "user": str,
    "read_only_root": bool,
    "memory": str,
    "cpus": float,
    "pids": int,
    "scratch": str,
    "env": dict,
    "pull": bool,
}
_HOST: Final[Mapping[str, object]] = {
    "host": str,
    "user": str,
    "port": int,
    "folder": str,
    "known_hosts": _TEXTS,
    "keys": _TEXTS,
    "config": _TEXTS,
}


def _checked(name: str, given: Mapping[str, Any], kinds: Mapping[str, object]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in given.items():
        kind = kinds.get(key)
        if kind is None:
            raise _trouble(name, f"has a field {key!r}; there are {', '.join(kinds)}")
        if kind is _TEXTS:
            if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
                raise _trouble(name, f"has {key} = {value!r}; expected {_TEXTS}")
            fields[key] = tuple(str(Path(each).expanduser()) if key != "mounts" else each for each in value)
        elif kind is float and isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            fields[key] = float(value)
        elif (
            isinstance(kind, type) and type(value) is kind and (not isinstance(value, int) or value > 0 or kind is bool)
        ):
            fields[key] = value
        else:
            raise _trouble(name, f"has {key} = {value!r}; expected {getattr(kind, '__name__', kind)}")
    return fields


def _mount(name: str, text: str) -> Mount:
    """Read ``source:target`` or ``source:target:ro``; a mount is read-only unless ``rw`` is said."""
    source, _, rest = text.partition(":")
    target, _, how = rest.partition(":")
    if not source or not target.startswith("/") or how not in {"", "ro", "rw"}:
        raise _trouble(name, f"has the mount {text!r}; expected /here:/there, or /here:/there:rw")
    return Mount(str(Path(source).expanduser().resolve()), target, read_only=how != "rw")


def _port(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not 0 < int(text) < 65_536:
        raise _trouble(name, f"has the port {text}")
    return int(text)


def _trouble(name: str, what: str) -> ConfigurationError:
    return ConfigurationError(f"The context {name!r} {what}.", hint="Correct it in the settings, or choose another.")
