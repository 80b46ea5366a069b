"""Keep calls from hiding behind placeholders: what a credential stands for must not change what a call is.

The gate judges a call as the model wrote it, with placeholders. The tool gets the values: a file's name that looks like
a credential may be a link out of the project, a value may be a host, or a program. Where that makes another call of it,
nobody could have judged it by what is shown, and it does not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.approvals.assess import Assessment, Surroundings
from zidane_lab.approvals.gate import Gate
from zidane_lab.approvals.judging import assess
from zidane_lab.approvals.safelist import PYTHON_TOOL
from zidane_lab.approvals.secret_files import Looks, UnseenError
from zidane_lab.errors import ToolError
from zidane_lab.events import ToolGate
from zidane_lab.secrets.vault import PLACEHOLDER

__all__ = ["RealCalls"]


@dataclass(frozen=True, slots=True)
class RealCalls:
    """A hook bundle. Install it before the gate.

    Parameters
    ----------
    gate
        Whose judgement counts.
    restored
        Returns a call's arguments with the values in them; the very same ones where there are none to put in.
    masked
        Puts placeholders into a text.
    look
        Finds out where the paths of a call really lead, where that takes time.
    """

    gate: Gate
    restored: Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
    masked: Callable[[str], str]
    look: Callable[[ToolGate], Awaitable[None]] | None = None

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        return hooks.on(ToolGate, self._gated)

    async def _gated(self, event: ToolGate) -> None:
        if event.block is not None or event.result is not None:
            return
        try:
            real = self.restored(event.tool, event.input)
        except ToolError:  # the call will say so, and not run
            return
        if real is event.input:
            return
        call = ToolGate(event.ids, event.tool, dict(real))
        if self.look is not None:
            await self.look(call)
        shown, done = await self._judged(event), await self._judged(call)
        if self._kind(shown) != self._kind(done):
            had = {*map(self._plain, shown.reasons)}
            new = [self.masked(reason) for reason in done.reasons if self._plain(reason) not in had]
            why = f" ({'; '.join(new)})" if new else ""
            event.block = (
                f"refused: with what the placeholder stands for, this call does something else than it shows{why}, "
                "so nobody can judge it. Do not use placeholders as names of files, hosts or programs."
            )

    async def _judged(self, event: ToolGate) -> Assessment:
        gate, tool = self.gate, event.tool
        foreseen = await gate.foresee(tool, event.input) if gate.foresee is not None else None
        project = gate.here if gate.here is not None and tool == PYTHON_TOOL else gate.project
        around = Surroundings(project(), gate.protected(), gate.known(), Looks(deferred=True))
        while True:
            try:
                return assess(tool, event.input, gate.tiers.get(tool, "execute"), around, foreseen)
            except UnseenError as unseen:
                look = unseen.look
            await asyncio.to_thread(look)

    def _kind(self, found: Assessment) -> tuple[object, ...]:
        """Return what must be the same; tokens that stand for the very code are another for every value."""
        words = () if found.is_exact else (*found.tokens, *sorted(found.said))
        return (
            found.tier,
            found.reach,
            len(found.critical),
            found.touches_own,
            found.in_project,
            *map(self._plain, (found.host, *words)),
        )

    def _plain(self, text: str) -> str:
        """Return a text with one word for all credentials: written otherwise, each has another placeholder."""
        return PLACEHOLDER.sub("[secret]", self.masked(text))
