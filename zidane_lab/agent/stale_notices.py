"""Tell the model when a result makes what it has read of a file out of date."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.compaction.stale_reads import collect_newly_stale_read_paths, render_stale_read_notice
from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.events import ToolTransform
from zidane_lab.session.session import Session
from zidane_lab.turns import TextBlock

__all__ = ["StaleNotices"]


@dataclass(frozen=True, slots=True)
class StaleNotices:
    """A hook bundle that adds one line to a result that changed files the model has read; each once per change.

    Install it after what tells which files a call wrote.
    """

    session: Session
    cwd: Path
    place: ExecutionContext | None = None

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        return hooks.on(ToolTransform, self._transform)

    def _transform(self, event: ToolTransform) -> None:
        turns = self.session.turns
        call = next((each for each in turns[-1].tool_calls if each.id == event.ids.call_id), None) if turns else None
        if call is None:
            return
        paths = collect_newly_stale_read_paths(
            turns, [(call, event.result)], state=self.session.wire_state, cwd=self.cwd
        )
        if paths:
            where = f"{self.place.info.where}:" if self.place is not None else ""
            notice = TextBlock(render_stale_read_notice([path.removeprefix(where) for path in paths]))
            event.result = replace(event.result, parts=(*event.result.parts, notice))
