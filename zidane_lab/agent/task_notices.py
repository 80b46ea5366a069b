"""Telling the model between two turns what its background tasks have done meanwhile.

What has not been told yet is said in a user turn marked ``task-notification``. It may keep a run going that would
have ended; a monitor that never falls silent could do so for ever, so a run is prolonged only so often, and what
comes later waits for the next prompt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from zidane_lab.agent.guards.bundle import subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.events import AgentDone, Injection, TurnBoundary, UserTurn

__all__ = ["MOST_PROLONGED", "TaskNotices"]

MOST_PROLONGED: Final = 5
"""How often notifications may keep one run going that had nothing else to do."""


@dataclass(slots=True)
class TaskNotices:
    """A hook bundle that delivers the notifications of a registry.

    Parameters
    ----------
    tasks
        The registry, or what returns the present one (``None`` for none).
    most_prolonged
        How often a run is kept going.
    """

    tasks: TaskRegistry | Callable[[], TaskRegistry | None]
    most_prolonged: int = MOST_PROLONGED
    _prolonged: Counter[str] = field(default_factory=Counter)
    _source: TaskRegistry | None = None

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        return subscribe(hooks, {TurnBoundary: self._boundary, UserTurn: self._said, AgentDone: self._done})

    def _done(self, event: AgentDone) -> None:
        del self._prolonged[event.ids.run_id]

    def _said(self, event: UserTurn) -> None:
        if event.turn.injected == "task-notification" and self._source is not None:
            self._source.delivered()

    def _boundary(self, event: TurnBoundary) -> None:
        registry = self._source = self.tasks if isinstance(self.tasks, TaskRegistry) else self.tasks()
        if registry is None or not registry.has_notifications:
            return
        if not event.turn.tool_calls and not event.inject:
            if event.finish != "stop" or self._prolonged[event.ids.run_id] >= self.most_prolonged:
                return
            self._prolonged[event.ids.run_id] += 1
        # What was offered and not said (a word of the person came first, the run was stopped) is offered again.
        event.inject.append(Injection("task-notification", "\n\n".join(registry.offer())))
