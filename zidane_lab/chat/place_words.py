"""A place that was chosen, and what people and models are told of it.

Another machine names its folders itself, so what it says is quoted wherever it could leave its line or its block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zidane_lab.contexts.base import ContextLostError, ExecutionContext
from zidane_lab.contexts.container import ContainerSpec
from zidane_lab.contexts.guarded import GuardedContext
from zidane_lab.contexts.registry import ContextSettings
from zidane_lab.contexts.ssh import SshHost

__all__ = ["PlaceChoice", "line", "plain", "reopened", "section"]

_ODD: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029<>]|^\s|\s$")
_LONGEST: Final = 300

_THERE: Final = "File tools, the shell and background tasks work there, with the paths of that place."
_HERE: Final = (
    "run_python, variables, what the person attaches and the web tools stay with the notebook's kernel, in the folder "
    "of <env>."
)


@dataclass(frozen=True, slots=True)
class PlaceChoice:
    """A name, read: what it stands for (``None``: this machine), by which settings, and for which project."""

    name: str
    found: ContainerSpec | SshHost | None
    settings: ContextSettings
    project: Path

    @property
    def where(self) -> str:
        """See :attr:`~zidane_lab.contexts.base.ContextInfo.where`."""
        if self.found is None:
            return ""
        return f"{'docker' if isinstance(self.found, ContainerSpec) else 'ssh'}:{self.found.identity}"

    @property
    def key(self) -> Hashable:
        """What must be the same for an open place to be used again."""
        if self.found is None:
            given = self.settings
            return given.isolation, str(given.allow_write), given.allow_network, given.session_id, self.project
        return self.where, self.settings.isolation == "required"


def line(choice: PlaceChoice, place: ExecutionContext | None) -> str:
    """Return one line for people: where files and commands are. ``place`` is what is open of it."""
    if choice.found is None:
        return f"this machine{_guarded(choice, place)}"
    folder = f" at {plain(place.cwd)}" if place is not None else ", not open yet"
    return f"{plain(choice.name)} ({_kind(choice.found)}){folder}; run_python stays in this kernel"


def section(choice: PlaceChoice, place: ExecutionContext | None) -> str:
    """Return what the system prompt says of it; nothing where all is on this machine, and open."""
    lines = _inside(choice, place) if choice.found is None else _elsewhere(choice.name, choice.found, place)
    return "\n".join(("<places>", *lines, "</places>")) if lines else ""


def reopened(choice: PlaceChoice, lost: ContextLostError) -> str:
    """Say that a place was lost and is there again, and what that means."""
    if isinstance(choice.found, ContainerSpec):
        then = "A new one was started: only what is mounted from outside has kept its files, and nothing runs there."
    else:
        then = "It was connected to again: what ran there may have ended or go on; look before relying on it."
    return f"{lost.message} {then}"


def plain(value: str) -> str:
    """Return a text that stays on its line and in its block."""
    value = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    return json.dumps(value).replace("<", "\\u003c").replace(">", "\\u003e") if _ODD.search(value) else value


def _kind(found: ContainerSpec | SshHost) -> str:
    if isinstance(found, SshHost):
        return "another machine"
    return f"a container, {'with' if found.network else 'without'} network"


def _guarded(choice: PlaceChoice, place: ExecutionContext | None) -> str:
    """Say whether commands on this machine are kept inside."""
    if choice.settings.isolation == "off":
        return ""
    if not isinstance(place, GuardedContext) or not place.reason:
        return ", commands kept inside"
    return f", commands {'refused' if place.is_required else 'not kept inside'}: {place.reason}"


def _inside(choice: PlaceChoice, place: ExecutionContext | None) -> list[str]:
    """Tell the model what is not open to commands and file tools on this machine."""
    if not isinstance(place, GuardedContext):
        return []
    roots = ", ".join(map(plain, place.policy.writable_roots))
    if place.reason:
        refused = [f"The shell refuses all commands: {plain(place.reason)}."] if place.is_required else []
        return [*refused, f"File tools may write only in {roots}."]
    network = "may use the" if choice.settings.allow_network else "have no"
    return [f"Commands and file tools may write only in {roots}; commands {network} network."]


def _elsewhere(name: str, found: ContainerSpec | SshHost, place: ExecutionContext | None) -> list[str]:
    """Tell the model where files and commands are, and what is not there."""
    folder = f"; working folder {plain(place.cwd)}" if place is not None else ""
    return [f"Files and commands: {plain(name)} ({_kind(found)}){folder}.", _THERE, _HERE, _shared(found)]


def _shared(found: ContainerSpec | SshHost) -> str:
    """Say which files both sides have."""
    if isinstance(found, SshHost):
        return "The two share no files."
    mount = found.project
    if mount is None:
        return "The two share no files, and the container's are gone when it ends."
    how = "read-only there" if mount.read_only else "what one side writes the other has"
    return f"{plain(mount.target)} there is {plain(mount.source)} of this machine ({how}); all else is separate."
