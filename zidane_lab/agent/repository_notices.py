"""Tell the model when the repository it works in went to another branch or commit behind its back.

Somebody has switched branches, pulled or committed between two runs, or while a call was thought about. The next result
says so in one line; what the model's own calls change it knows, and it is not told. Nothing is sent because of it that
would not have been sent, and nothing earlier is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zidane_lab.agent.guards.bundle import subscribe
from zidane_lab.agent.hooks import Handler, HookBus, Uninstall
from zidane_lab.contexts.repository import RepositoryState, change_note, repository_state
from zidane_lab.events import AgentDone, ToolAfter, ToolBefore, ToolTransform, TurnAfter
from zidane_lab.turns import TextBlock

__all__ = ["RepositoryMemory", "RepositoryNotices"]


@dataclass(slots=True)
class RepositoryMemory:
    """Where the repository stood when the model last had to do with it; kept from run to run."""

    state: RepositoryState | None = None


@dataclass(slots=True)
class RepositoryNotices:
    """A hook bundle that adds a line to the first result after a change by others.

    Parameters
    ----------
    folder
        The folder the agent works in, or what returns it.
    memory
        Of the conversation; the same for all its runs.
    """

    folder: Path | Callable[[], Path]
    memory: RepositoryMemory = field(default_factory=RepositoryMemory)
    _note: str | None = None
    _running: set[str | None] = field(default_factory=set)

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        handlers: dict[type[Any], Handler] = {
            ToolBefore: self._before,
            ToolTransform: self._transform,
            ToolAfter: self._ended,
            TurnAfter: self._after,
            AgentDone: self._done,
        }
        return subscribe(hooks, handlers)

    def _look(self) -> RepositoryState | None:
        return repository_state(self.folder() if callable(self.folder) else self.folder)

    def _before(self, event: ToolBefore) -> None:
        if not self._running:  # while calls run, a change may be theirs
            self._note_change()
        self._running.add(event.ids.call_id)

    def _note_change(self) -> None:
        state = self._look()
        self._note = change_note(self.memory.state, state) or self._note
        self.memory.state = state or self.memory.state

    def _transform(self, event: ToolTransform) -> None:
        if self._note is not None:
            event.result = replace(event.result, parts=(*event.result.parts, TextBlock(self._note)))
            self._note = None
        self.memory.state = self._look() or self.memory.state

    def _ended(self, event: ToolAfter) -> None:
        self._running.discard(event.ids.call_id)

    def _after(self, _event: TurnAfter) -> None:
        if self.memory.state is None:  # the first answer: from here on changes count
            self.memory.state = self._look()

    def _done(self, _event: AgentDone) -> None:
        self._running.clear()
