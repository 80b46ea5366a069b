"""What container is wanted: image, folders, limits, hardening; and the containers that were left behind.

The default is closed: no network, no rights beyond an ordinary person's, a ceiling for memory, processors and
processes, and only the folders that are named. Nothing of the machine is in it unless it was mounted.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from zidane_lab.errors import ConfigurationError

__all__ = ["LABEL", "OWNER_LABEL", "ContainerSpec", "Mount", "leftover_containers", "owner", "remove_leftovers"]

LABEL: Final = "zidane_lab"
OWNER_LABEL: Final = "zidane_lab.owner"

_SLEEP: Final = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"
"""What the container's first process does: nothing, until it is told to end."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder of this machine (or of the daemon's) seen in the container."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """A container.

    Parameters
    ----------
    image
        Name of the image; it needs ``sh`` and coreutils or busybox.
    folder
        Working folder inside.
    mounts
        What is seen of outside. Without one that holds ``folder`` the working folder is empty and in memory.
    network
        Whether it may reach any.
    user
        Who commands run as: a name or ``uid:gid``. ``None``: the owner of what is mounted at ``folder``, or around it,
        unless that is root, else 1000.
    read_only_root
        Whether the image's own files cannot be changed.
    memory
        Most memory, as Docker writes it (``2g``); there is no swap on top.
    cpus, pids
        Most processors and processes.
    scratch
        Most bytes, as Docker writes them, of each folder in memory (``/tmp``, the home folder).
    env
        Variables of every command.
    pull
        Whether an image that is not there is fetched.
    """

    image: str
    folder: str = "/workspace"
    mounts: tuple[Mount, ...] = ()
    network: bool = False
    user: str | None = None
    read_only_root: bool = False
    memory: str = "4g"
    cpus: float = 2.0
    pids: int = 512
    scratch: str = "1g"
    env: Mapping[str, str] = field(default_factory=dict)
    pull: bool = True

    def __post_init__(self) -> None:
        if not self.image.strip():
            raise ConfigurationError("A container needs an image.", hint="Name one: docker:python:3.12-slim.")
        if not self.folder.startswith("/"):
            raise ConfigurationError(f"{self.folder!r} is not an absolute folder.", hint="Begin it with a slash.")
        for mount in self.mounts:
            if ":" in mount.target or ":" in mount.source[2:]:  # after the letter of a drive
                raise ConfigurationError(
                    f"{mount.source!r} cannot be seen in a container as {mount.target!r}: a path there has no colon.",
                    hint="Choose a folder without a colon in its path.",
                )

    @property
    def home(self) -> str:
        """The home folder of commands: in memory, so that it can be written whoever they run as."""
        return "/home/zidane"

    @property
    def identity(self) -> str:
        """The image, and a digest of all the rest: containers of the same identity see and may do the same."""
        return f"{self.image}#{hashlib.sha256(repr(self).encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"

    @property
    def project(self) -> Mount | None:
        """What of outside the working folder is, or is in."""
        around = [each for each in self.mounts if f"{self.folder}/".startswith(f"{each.target.rstrip('/')}/")]
        return max(around, key=lambda each: len(each.target), default=None)

    @property
    def runs_as(self) -> str:
        """Who commands run as."""
        if self.user:
            return self.user
        if (mount := self.project) is not None:
            with contextlib.suppress(OSError):  # it may be a path of the daemon's machine
                status = os.stat(mount.source)  # noqa: PTH116
                if status.st_uid:
                    return f"{status.st_uid}:{status.st_gid}"
        return "1000:1000"

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for the SDK's ``containers.run``."""
        given: dict[str, Any] = {
            "image": self.image,
            "entrypoint": ["sh", "-c", _SLEEP],
            "command": [],
            "detach": True,
            "init": True,
            "user": self.runs_as,
            "working_dir": self.folder,
            "environment": {**self.env, "HOME": self.home},
            "labels": {LABEL: "1", OWNER_LABEL: owner()},
            "mem_limit": self.memory,
            "memswap_limit": self.memory,
            "nano_cpus": round(self.cpus * 1e9),
            "pids_limit": self.pids,
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true"],
            "read_only": self.read_only_root,
            "tmpfs": self._in_memory(),
            "volumes": [f"{each.source}:{each.target}:{'ro' if each.read_only else 'rw'}" for each in self.mounts],
        }
        if not self.network:
            given["network_mode"] = "none"
        return given

    def _in_memory(self) -> dict[str, str]:
        options = f"rw,exec,nosuid,nodev,size={self.scratch}"
        uid, _, gid = self.runs_as.partition(":")
        own = f"{options},mode=0700,uid={uid},gid={gid or uid}" if uid.isdigit() else f"{options},mode=1777"
        folders = {"/tmp": f"{options},mode=1777", self.home: own}  # noqa: S108 - the container's own
        if self.project is None:
            folders[self.folder] = own
        return folders


def owner() -> str:
    """Return what tells this process from every other: machine, process id, and when it began."""
    return f"{socket.gethostname()}/{os.getpid()}/{_began(os.getpid())}"


def leftover_containers(client: Any) -> list[Any]:
    """Return the containers on a daemon whose owner was a process of this machine and is gone.

    Those of other machines that use the same daemon are left out: nobody here knows whether they are in use.
    """
    found = client.containers.list(all=True, filters={"label": LABEL})
    return [each for each in found if _is_orphan(str(each.labels.get(OWNER_LABEL, "")))]


def remove_leftovers(client: Any) -> int:
    """Remove them, and return how many there were."""
    found = leftover_containers(client)
    for each in found:
        each.remove(force=True)
    return len(found)


def _is_orphan(label: str) -> bool:
    host, _, rest = label.partition("/")
    pid, _, began = rest.partition("/")
    return host == socket.gethostname() and pid.isdigit() and began != _began(int(pid))


def _began(pid: int) -> str:
    """Return when a process began; empty when there is none."""
    import psutil  # type: ignore[import-untyped]  # publishes no types

    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.Error:
        return ""
