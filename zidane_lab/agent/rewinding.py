"""Go back to a checkpoint: the model's report takes the place of the detour, as a summary takes that of its turns.

It is recorded, told, drawn and undone like a compaction; only nobody is asked for the summary. Until the model goes
back its run does not end by itself.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from zidane_lab.agent.context_size import counted_size
from zidane_lab.agent.guards.bundle import subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.agent.kit import Continuity
from zidane_lab.compaction.compact import estimate_after
from zidane_lab.compaction.marker import summary_turn
from zidane_lab.compaction.slicing import still_visible
from zidane_lab.compaction.state import CompactionState
from zidane_lab.compaction.touched import Touched, touched_by
from zidane_lab.errors import SessionError
from zidane_lab.events import CompactEnd, CompactStart, GuardHit, Injection, TurnBoundary
from zidane_lab.session.session import Session
from zidane_lab.tools.checkpoint import CHECKPOINT, REWIND, Drift, behind, drift_in, open_checkpoint
from zidane_lab.turns import Turn, Usage
from zidane_lab.wire.elide import apply_elisions
from zidane_lab.wire.tokens import estimate_turns

__all__ = ["MOST_REFUSALS", "REFUSAL", "Rewinding", "detour_of", "report_text"]

REFUSAL: Final = (
    "A checkpoint is set, so you cannot end yet: call rewind with a report of what you found out, even if little, "
    "then answer."
)
"""What a model is told that would end its run on a detour."""

MOST_REFUSALS: Final = 3
"""How often it is told; then the run ends, and with it the checkpoint. All turns stay as they are."""

_NAMED: Final = 60
"""Names of one kind in a report."""


@dataclass(slots=True)
class Rewinding:
    """The bundle that carries out :func:`~zidane_lab.tools.rewind.rewind_tools`.

    Parameters
    ----------
    session
        The conversation.
    continuity
        That of its agent: what was counted no longer holds after a rewind, and the cache is missed for a reason.
    """

    session: Session
    continuity: Continuity

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""

        async def boundary(event: TurnBoundary) -> None:
            rewound = rewind_in(event.results)
            if rewound is not None:
                await self._go_back(hooks, event, rewound)
            elif event.finish == "stop" and not event.turn.tool_calls and not event.inject:
                await self._keep_on(hooks, event)

        return subscribe(hooks, {TurnBoundary: boundary})

    async def _keep_on(self, hooks: HookBus, event: TurnBoundary) -> None:
        """Do not let a run end on a detour; a model that will not go back is let go after a while."""
        turns = self.session.turns
        found = open_checkpoint(turns, event.ids.run_id)
        if found is None:
            return
        refused = sum(turn.injected is not None and turn.text == REFUSAL for turn in behind(turns, found.turn_id))
        if refused < MOST_REFUSALS:
            event.inject.append(Injection("progress-nudge", REFUSAL))
        else:
            text = "The run ended on a detour: the model did not call rewind. All turns are still sent."
            await hooks.emit(GuardHit(event.ids, CHECKPOINT, REWIND, text))

    async def _go_back(self, hooks: HookBus, event: TurnBoundary, rewound: Mapping[str, Any]) -> None:
        began = time.monotonic()
        session, continuity = self.session, self.continuity
        state = session.wire_state
        part = detour_of(session.turns, str(rewound["turn"]), undone=state.undone)
        visible = apply_elisions(still_visible(session.turns, state.undone), state.elided)
        counted = counted_size(session.turns, continuity.measured)
        before = counted if counted is not None else estimate_turns(visible)
        model = event.turn.model or ""
        await hooks.emit(CompactStart(event.ids, "rewind", "", model, len(part), len(visible) - len(part), before))
        touched = touched_by(part)
        text = report_text(str(rewound["goal"]), str(rewound["report"]), drift_in(part), touched)
        after = estimate_after(before, visible, apply_elisions(part, state.elided), text)
        mark = summary_turn(
            text,
            replaces=[turn.id for turn in part],
            model=model,
            usage=Usage(),
            before=before,
            after=after,
            run_id=event.ids.run_id,
            details={"reason": "rewind", "touched": touched.to_json()},
        )
        trouble: SessionError | None = None
        try:
            mark = session.append(replace(mark, usage=None))  # the answer that called rewind accounts for the report
        except SessionError as error:  # it holds in memory all the same
            trouble, mark = error, session.turns[-1]
        continuity.cache.declare("the model went back to a checkpoint")
        continuity.measured = None
        continuity.compaction = CompactionState().compacted(after)
        seconds = time.monotonic() - began
        await hooks.emit(CompactEnd(event.ids, "rewind", "compacted", model, seconds, mark, len(part), before, after))
        if trouble is not None:
            raise trouble


def rewind_in(results: Turn | None) -> Mapping[str, Any] | None:
    """Return what a turn of results says about going back; ``None`` when nothing is."""
    for result in results.tool_results if results is not None else ():
        if not result.is_error and isinstance(data := result.metadata.get(REWIND), Mapping):
            return data
    return None


def detour_of(turns: Sequence[Turn], turn_id: str, *, undone: Collection[str] = frozenset()) -> tuple[Turn, ...]:
    """Return the turns a report stands for: what the model sees of all that is behind the checkpoint's turn.

    Not what comes from outside: a person's words, and those of tasks that ended meanwhile. Where a summary has taken
    in the checkpoint, the detour goes on behind it; the summary and what was put back with it stay.
    """
    later = {turn.id for turn in behind(turns, turn_id)}
    return tuple(turn for turn in still_visible(turns, undone) if turn.id in later and not _stays(turn))


def _stays(turn: Turn) -> bool:
    if turn.injected == "restore":
        return True
    return turn.role == "user" and not turn.tool_results and turn.injected in (None, "task-notification")


def report_text(goal: str, report: str, drift: Drift, touched: Touched) -> str:
    """Word the report as it is sent: what it is, what the model wrote, and what the detour left behind."""
    left = {
        "variables made": drift.made,
        "variables changed": drift.changed,
        "variables deleted": drift.deleted,
        "files changed": touched.changed,
        "files read": touched.read,
    }
    lines = [f"- {what}: {_listed(names)}" for what, names in left.items() if names]
    head = f"You went back to the checkpoint you had set to find out: {goal}\n\nYour report:\n\n{report.strip()}"
    return "\n".join([f"{head}\n\nOnly the conversation went back. The detour left:", *lines]) if lines else head


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(" ".join(name.split()) for name in names[-_NAMED:])
    return shown if len(names) <= _NAMED else f"{shown} (and {len(names) - _NAMED} more before)"
