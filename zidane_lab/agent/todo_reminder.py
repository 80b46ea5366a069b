"""Keep the plan in sight: remind of open steps before a run ends, put the list back after a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from zidane_lab.agent.guards.bundle import subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.compaction.restore import (
    ExtraCall,
    PostCompactRestoreOptions,
    append_attachments,
    build_post_compact_attachments,
)
from zidane_lab.compaction.slicing import still_visible
from zidane_lab.events import CompactEnd, Injection, TurnBoundary
from zidane_lab.session.session import Session
from zidane_lab.tools.todo import READ_TOOL, described
from zidane_lab.tools.todo_plan import Plan, plan_in, to_markdown
from zidane_lab.turns import TextBlock, Turn

__all__ = ["REMINDER", "TodoReminder"]

REMINDER: Final = (
    "Your plan has open steps. What is done, mark completed with todowrite; what can be done now, do; what waits for "
    "the user, mark blocked; what is not needed, dropped. Then end.\n\n"
)
"""What is said before the open steps."""


@dataclass(slots=True)
class TodoReminder:
    """The bundle.

    A plan is reminded of at most once as it stands, and a run at most once; agents within agents never are. Steps that
    are blocked are no reason.

    Parameters
    ----------
    session
        Whose plan it is.
    """

    session: Session
    _reminded: set[str] = field(default_factory=set)

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        return subscribe(hooks, {TurnBoundary: self._boundary, CompactEnd: self._compacted})

    def _boundary(self, event: TurnBoundary) -> None:
        run_id = event.ids.run_id
        ends = event.finish == "stop" and not event.turn.tool_calls and not event.inject
        if not ends or event.ids.depth > 0 or run_id in self._reminded:
            return
        turns = self.session.turns
        plan = plan_in(turns)
        if plan.to_do and not was_reminded(turns, plan):
            self._reminded.add(run_id)
            event.inject.append(Injection("progress-nudge", REMINDER + to_markdown(plan.to_do)))

    async def _compacted(self, event: CompactEnd) -> None:
        """Put an open plan back behind a summary that hides it, as a call the model could have made."""
        session = self.session
        plan = plan_in(session.turns)
        if event.status != "compacted" or event.summary_turn is None or not plan.is_open:
            return
        if is_shown(plan, session.turns, still_visible(session.turns, session.wire_state.undone)):
            return
        call = ExtraCall(READ_TOOL, {}, (TextBlock(described(plan.todos)),))
        options = PostCompactRestoreOptions(key="plan", run_id=event.summary_turn.run_id, extra_calls=(call,))
        append_attachments(session, await build_post_compact_attachments(options))


def is_shown(plan: Plan, turns: Sequence[Turn], sent: Sequence[Turn]) -> bool:
    """Whether what is sent of a conversation shows a plan as it stands: where it was written, or read since."""
    showing = {plan.turn_id}
    for turn in reversed(turns):
        if turn.id == plan.turn_id:
            break
        if any(call.name == READ_TOOL for call in turn.tool_calls):
            showing.add(turn.id)
    return any(turn.id in showing for turn in sent)


def was_reminded(turns: Sequence[Turn], plan: Plan) -> bool:
    """Whether the model was reminded of a plan as it stands, be it in an earlier run."""
    for turn in reversed(turns):
        if turn.id == plan.turn_id:
            return False
        if turn.injected == "progress-nudge" and turn.text.startswith(REMINDER):
            return True
    return False
