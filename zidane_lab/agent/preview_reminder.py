"""Remind a model that would end its run of a preview that it has neither applied nor discarded: once."""

from __future__ import annotations

from dataclasses import dataclass, field

from zidane_lab.agent.guards.bundle import subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.events import Injection, TurnBoundary
from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edits.pending import pending_of

__all__ = ["PreviewReminder"]


@dataclass(slots=True)
class PreviewReminder:
    """The bundle.

    Parameters
    ----------
    session
        Whose previews they are.
    told
        Those it was reminded of, by id: one that waits on purpose costs no answer in every run.
    """

    session: Session
    told: set[str] = field(default_factory=set)

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        return subscribe(hooks, {TurnBoundary: self._boundary})

    def _boundary(self, event: TurnBoundary) -> None:
        if event.finish != "stop" or event.turn.tool_calls or event.inject:
            return
        pending = pending_of(ToolContext(outputs=self.session))
        waiting = {each.id for each in pending.waiting}
        if pending.reminder is not None and not waiting <= self.told:
            self.told |= waiting
            event.inject.append(Injection("progress-nudge", pending.reminder))
