"""Go on with the tool calls of a process that died, instead of telling the model that all of them were cut.

A kernel killed while a person was being asked leaves a conversation that ends in open calls. What became of each is
known from the session (:mod:`zidane_lab.agent.call_journal`), and every call is answered once:

* one that had finished: with the result it gave;
* one that had begun and only looks, or asks: it runs again, its gate marked as resumed;
* one that had begun and may have changed something: it does not run again, the model is told that nobody knows;
* one that had not begun: it is put to the gate as any other, where an answer given meanwhile counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Final

from zidane_lab.agent.batch import Batch
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.call_journal import finished_results
from zidane_lab.agent.guards.gate_resume import passed_gate, resumed_gate
from zidane_lab.agent.kit import Kit
from zidane_lab.errors import AbortedError
from zidane_lab.events import Ids
from zidane_lab.session.session import Session
from zidane_lab.tools.base import Tool
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.pairing import TOOL_USE_INTERRUPTED
from zidane_lab.wire.tail import open_calls

__all__ = ["UNKNOWN_OUTCOME", "resume_calls"]

UNKNOWN_OUTCOME: Final = (
    f"{TOOL_USE_INTERRUPTED} The kernel ended while this call was running: whether it took effect is not known. "
    "Look before you do it again."
)
"""Result of a call that may have done something."""


async def resume_calls(
    kit: Kit,
    behavior: Behavior,
    *,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ids: Ids | None = None,
    on_batch: Callable[[Batch | None], object] = lambda _batch: None,
) -> Turn | None:
    """Answer the calls a dead process left open, and store the results.

    Parameters
    ----------
    kit, behavior
        What the run that goes on works with.
    waiting
        Entered while a person may take their time.
    ids
        Name and depth of the agent, for events.
    on_batch
        Told the batch that runs, and ``None`` when it has ended: for cancelling single calls.

    Returns
    -------
    Turn or None
        The turn of results; ``None`` when the conversation does not end in open calls.

    Raises
    ------
    AbortedError
        A tool asked to stop; the results are stored all the same, as they are when the task is cancelled.
    SessionError
        The results could not be written.
    """
    session = kit.session
    calls = open_calls(session.turns)
    if not calls:
        return None
    turn = session.turns[-1]
    known, remaining = _sorted(session, kit.tools, calls)
    ids = ids if ids is not None else Ids()
    batch = Batch(
        kit.tools,
        kit.hooks,
        behavior,
        Ids(turn.run_id or "", turn.id, depth=ids.depth, agent_name=ids.agent_name),
        kit.cwd,
        kit.executor,
        session,
        waiting=waiting,
        tool_state=kit.tool_state,
        place=kit.place,
        interact=kit.interact,
        gate=kit.journal.gate if kit.journal is not None else partial(resumed_gate, session),
        journal=kit.journal,
    )

    def store(results: tuple[ToolResultBlock, ...]) -> Turn:
        every = known | {result.call_id: result for result in results}
        return session.append(Turn("user", tuple(every[call.id] for call in calls), run_id=turn.run_id))

    on_batch(batch)
    try:
        results = await batch.run(remaining)
    except BaseException:
        store(batch.results_after_stop(remaining))
        raise
    finally:
        on_batch(None)
    stored = store(results)
    if batch.abort_requested:
        raise AbortedError("A tool asked to stop the run.")
    return stored


def _sorted(
    session: Session, tools: Mapping[str, Tool], calls: tuple[ToolCallBlock, ...]
) -> tuple[dict[str, ToolResultBlock], tuple[ToolCallBlock, ...]]:
    """Return the results that are settled, and the calls that are to run."""
    finished = finished_results(session)
    known: dict[str, ToolResultBlock] = {}
    remaining: list[ToolCallBlock] = []
    for call in calls:
        tool = tools.get(call.name)
        begun = passed_gate(session, call.id, call.name) is not None
        if call.id in finished:
            known[call.id] = finished[call.id]
        elif begun and (tool is None or tool.tier != "read"):
            known[call.id] = ToolResultBlock(call.id, (TextBlock(UNKNOWN_OUTCOME),), is_error=True)
        else:
            remaining.append(call)
    return known, tuple(remaining)
