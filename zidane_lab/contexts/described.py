"""Contexts as settings describe them: a mapping with ``kind`` and the fields of its kind, checked one by one.

A container sees the project folder (``project``: ``rw``, ``ro`` or ``none``). What other programs of this machine run
or obey later in it (``.git/hooks``, ``.envrc``) stays read-only there, and a home folder is not handed over whole.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from zidane_lab.contexts.container import ContainerSpec, Mount
from zidane_lab.contexts.policy import IsolationPolicy, is_within
from zidane_lab.contexts.ssh import SshHost
from zidane_lab.errors import ConfigurationError

__all__ = ["SSH", "Folders", "container_of", "described", "host_of", "port_of", "trouble"]

SSH: Final = re.compile(
    r"(?:(?P<user>[^@\s/]+)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^-:/@\s\[\]][^:/@\s\[\]]*)(?::(?P<port>\d{1,5}))?(?P<folder>/\S.*|/)?"
)
"""``[user@]host[:port][/folder]``; a host that begins with a dash would be read as an option somewhere."""

_HOST_ONLY: Final = re.compile(r"[^-:/@\s\[\]][^:/@\s\[\]]*|[0-9A-Fa-f:.]+")


@dataclass(frozen=True, slots=True)
class Folders:
    """Folders of this machine: the one that is worked in, and the project's, which a container gets to see."""

    cwd: str
    project: str

    @classmethod
    def of(cls, cwd: str | os.PathLike[str], project: str | os.PathLike[str] | None = None) -> Folders:
        """Return them with links followed; the project is the working folder if it is left out."""
        return cls(os.path.realpath(cwd), os.path.realpath(project if project is not None else cwd))


def described(name: str, given: object, folders: Folders | None) -> ContainerSpec | SshHost | None:
    """Return what a mapping describes; ``None`` for this machine. Without ``folders`` it is only checked.

    Raises
    ------
    ConfigurationError
        It cannot be used.
    """
    if not isinstance(given, Mapping):
        raise trouble(name, "is not a set of fields")
    fields = {str(key): value for key, value in given.items()}
    kind = fields.pop("kind", None)
    if kind == "process" and not fields:
        return None
    if kind == "docker":
        return container_of(name, fields, folders)
    if kind == "ssh":
        return host_of(name, fields)
    raise trouble(name, f"has the kind {kind!r}; expected process, docker or ssh")


def container_of(name: str, given: Mapping[str, Any], folders: Folders | None) -> ContainerSpec:
    """Return the container that some fields describe.

    Raises
    ------
    ConfigurationError
        They cannot be used, or the project folder cannot be handed over.
    """
    fields = _checked(name, given, _CONTAINER)
    project = fields.pop("project", "rw")
    if project not in {"rw", "ro", "none"}:
        raise trouble(name, f"has project = {project!r}; expected rw, ro or none")
    if "image" not in fields:
        raise trouble(name, "names no image")
    mounts = [_mount(name, each) for each in fields.pop("mounts", ())]
    if project != "none" and folders is not None:
        target = fields.get("folder", "/workspace")
        _check_project(name, folders.project)
        mounts = [*_project_mounts(folders.project, target, read_only=project == "ro"), *mounts]
        if is_within(folders.cwd, folders.project) and folders.cwd != folders.project:
            fields["folder"] = f"{target.rstrip('/')}/{os.path.relpath(folders.cwd, folders.project)}"
    return ContainerSpec(**fields, mounts=tuple(mounts))


def host_of(name: str, given: Mapping[str, Any]) -> SshHost:
    """Return the machine that some fields describe.

    Raises
    ------
    ConfigurationError
        They cannot be used.
    """
    fields = _checked(name, given, _HOST)
    if "host" not in fields or not _HOST_ONLY.fullmatch(fields["host"]):
        raise trouble(name, "names no host")
    if fields.get("port", 1) > 65_535:
        raise trouble(name, f"has the port {fields['port']}")
    return SshHost(**fields)


def port_of(name: str, text: str | None) -> int | None:
    """Read a port.

    Raises
    ------
    ConfigurationError
        There is no such port.
    """
    if text is None:
        return None
    if not 0 < int(text) < 65_536:
        raise trouble(name, f"has the port {text}")
    return int(text)


def trouble(name: str, what: str) -> ConfigurationError:
    """Return the error for a context that cannot be used."""
    return ConfigurationError(f"The context {name!r} {what}.", hint="Correct it in the settings, or choose another.")


# --- the project in a container -------------------------------------------------------------------------


def _check_project(name: str, project: str) -> None:
    """Refuse to hand over the home folder, or more than it.

    Raises
    ------
    ConfigurationError
        Keys, credentials and what is run at every login would be seen and could be changed.
    """
    if is_within(os.path.realpath(Path.home()), project):
        raise ConfigurationError(
            f"The context {name!r} would hand over {project} to a container, your home folder with all keys in it.",
            hint='Work with a notebook in a project folder; or name the context in the settings, with "project": '
            '"none" and the mounts you mean.',
        )


def _project_mounts(project: str, target: str, *, read_only: bool) -> list[Mount]:
    """Return the project folder, and over it, read-only, what other programs obey."""
    mounts = [Mount(project, target, read_only=read_only)]
    if read_only:
        return mounts
    closed = [each for each in IsolationPolicy((project,), hidden=()).protected_paths(project) if not _is_link(each)]
    above = dict.fromkeys(os.path.dirname(each) for each in closed)  # noqa: PTH120 - texts throughout

    def there(path: str) -> str:
        return f"{target.rstrip('/')}/{os.path.relpath(path, project)}"

    # What is mounted cannot be moved out of the way.
    mounts += [Mount(each, there(each)) for each in above if each != project]
    return mounts + [Mount(each, there(each), read_only=True) for each in closed]


def _is_link(path: str) -> bool:
    return os.path.islink(path)  # noqa: PTH114


def _mount(name: str, text: str) -> Mount:
    """Read ``source:target`` or ``source:target:ro``; a mount is read-only unless ``rw`` is said."""
    source, _, rest = text.partition(":")
    target, _, how = rest.partition(":")
    if not source or not target.startswith("/") or how not in {"", "ro", "rw"}:
        raise trouble(name, f"has the mount {text!r}; expected /here:/there, or /here:/there:rw")
    return Mount(str(Path(source).expanduser().resolve()), target, read_only=how != "rw")


# --- fields -----------------------------------------------------------------------------------------------


_TEXTS: Final = "a list of texts"
_PAIRS: Final = "texts by name"
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
    "env": _PAIRS,
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
            raise trouble(name, f"has a field {key!r}; there are {', '.join(kinds)}")
        if not _fits(value, kind):
            raise trouble(name, f"has {key} = {value!r}; expected {getattr(kind, '__name__', kind)}")
        if kind is _TEXTS:
            fields[key] = tuple(str(Path(each).expanduser()) if key != "mounts" else each for each in value)
        else:
            fields[key] = float(value) if kind is float else dict(value) if kind is _PAIRS else value
    return fields


def _fits(value: object, kind: object) -> bool:
    if isinstance(value, str) and "\0" in value:
        return False
    if kind is _TEXTS:
        return isinstance(value, (list, tuple)) and all(isinstance(each, str) and "\0" not in each for each in value)
    if kind is _PAIRS:
        return isinstance(value, Mapping) and all(isinstance(each, str) for pair in value.items() for each in pair)
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if isinstance(value, (int, float)):
        return value > 0 and math.isfinite(value) and (kind is float or type(value) is kind)
    return kind is str and isinstance(value, str)
