"""Where paths of another place really lead, found out before a call is judged.

The gate judges a path without waiting for anything. On this machine it follows links itself; of another place the
links that matter to a call are looked up here, a moment earlier: a link in a project may lead out of it. Between the
look and the deed somebody who works there can change a link; against those nothing is judged.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.approvals.assess import paths_in
from zidane_lab.approvals.safelist import SHELL_TOOLS
from zidane_lab.approvals.shell_code import classify_shell
from zidane_lab.chat.place_record import IN_KERNEL
from zidane_lab.contexts.base import ContextLostError, ExecutionContext
from zidane_lab.contexts.guarded import real_path
from zidane_lab.events import ToolGate
from zidane_lab.tools.base import Tier

__all__ = ["PlaceLinks", "root_of"]

UNKNOWN: Final = ""
"""Stands for what cannot be found out; it lies in no project."""


@dataclass(frozen=True, slots=True)
class PlaceLinks:
    """A hook bundle that fills ``found``. Install it before the gate.

    Parameters
    ----------
    place
        Where files and commands are; nothing is looked up on this machine.
    root
        The project's folder there.
    tiers
        The tier of each tool; of those that only read nothing is looked up.

    Attributes
    ----------
    found
        By absolute path, without ``..``: the path without links.
    """

    place: ExecutionContext
    root: str
    tiers: Mapping[str, Tier] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe, if it is another place."""
        return (lambda: None) if self.place.info.is_local else hooks.on(ToolGate, self.look_at)

    async def look_at(self, event: ToolGate) -> None:
        """Find out where the paths of a call lead."""
        if self.place.info.is_local or event.block is not None or event.result is not None:
            return
        tier = self.tiers.get(event.tool, "execute")
        if tier not in {"write", "execute"} or event.tool in IN_KERNEL:
            return
        paths = dict.fromkeys(_paths(event))
        if paths:
            await self._look([self.root, *paths])

    async def _look(self, paths: Iterable[str]) -> None:
        top = ""
        for path in paths:
            full = posixpath.join(self.place.cwd, path)
            plain = posixpath.normpath(full)
            real = await self._real(plain)
            if ".." in path and real.startswith(f"{top}/"):  # a program follows a link before `..` leads out of it
                real = max(real, await self._real(full), key=lambda each: not each.startswith(f"{top}/"))
            self.found[plain] = real
            top = top or real.rstrip("/")

    async def _real(self, path: str) -> str:
        try:
            return await real_path(self.place, path)
        except (OSError, ContextLostError):
            return UNKNOWN


def root_of(place: ExecutionContext) -> str:
    """Return the project's folder in a place: what it says, or its working folder."""
    return str(getattr(place, "root", place.cwd))


def _paths(event: ToolGate) -> Iterator[str]:
    """Yield what a call may write: paths among the arguments, and those a command line is known to write."""
    yield from paths_in(event.input)
    command, folder = event.input.get("command"), event.input.get("cwd")
    if event.tool in SHELL_TOOLS and isinstance(command, str):
        yield from classify_shell(command, folder=folder if isinstance(folder, str) else "").targets or ()
