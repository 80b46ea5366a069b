"""``checkpoint`` and ``rewind``: explore, then let a report stand for the detour.

The tools only say what is to happen; that the report takes the turns' place is done by
:class:`~zidane_lab.agent.rewinding.Rewinding`, once the results are stored.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Any, Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.checkpoint import CHECKPOINT, REWIND, behind, drift_in, open_checkpoint, turns_of
from zidane_lab.tools.run_python import describe_execution
from zidane_lab.turns import TextBlock

__all__ = ["rewind_tools"]

_NAMED: Final = 30
"""Variables that are named in a result."""


@functools.cache
def rewind_tools() -> tuple[Tool, Tool]:
    """Return the two tools. All that they can delete is what the agent has made itself since the checkpoint."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="read", thread=False)(checkpoint), tool(tier="read")(rewind)


def checkpoint(context: ToolContext, goal: Annotated[str, "What you want to find out, in a sentence."]) -> ToolOutput:
    """Mark this point of the conversation before a detour of which only the outcome matters.

    Such as trials, searches, long outputs. Explore, then call rewind with a report, which takes the place of everything
    in between; you cannot end before that. It is no snapshot: files and variables stay as the detour leaves them.

    Raises
    ------
    ToolError
        A checkpoint is set already, or this agent works for another.
    """
    ids, turns = context.ids, turns_of(context)
    if ids.depth > 0:
        raise ToolError(
            "Only the agent the user talks to can set a checkpoint.", hint="Go on without; report at the end."
        )
    if not goal.strip():
        raise ToolError("The goal is empty.", hint="Say in a sentence what you want to find out.")
    here = [call.id for call in turns[-1].tool_calls if call.name == CHECKPOINT] if turns else []
    if open_checkpoint(turns, ids.run_id) is not None or here[:1] not in ([], [ids.call_id]):
        raise ToolError("A checkpoint is set already.", hint="Call rewind first: there is one at a time.")
    text = "The checkpoint is set. Explore, then call rewind with a concise report."
    return ToolOutput((TextBlock(text),), metadata={CHECKPOINT: {"goal": " ".join(goal.split())}})


async def rewind(
    context: ToolContext,
    report: Annotated[str, "All that must be known of the detour: findings, numbers, names, what did not work."],
    forget: Annotated[list[str] | None, "Variables made since the checkpoint that nobody needs: deleted."] = None,
) -> ToolOutput:
    """Go back to the checkpoint: your report takes the place of everything since, which you will not see again.

    Call it alone, when you have seen all results. Files and variables stay, but for those you name in `forget`.

    Raises
    ------
    ToolError
        No checkpoint is set, there are other calls beside this one, or a variable is not one of the detour's.
    """
    turns = turns_of(context)
    found = open_checkpoint(turns, context.ids.run_id)
    if found is None:
        raise ToolError(
            "No checkpoint is set in this run.", hint="There is nothing to go back to; a run that ends forgets it."
        )
    if len(turns[-1].tool_calls) > 1:
        raise ToolError("Other calls were made beside rewind.", hint="Look at their results, then call rewind alone.")
    if not report.strip():
        raise ToolError("The report is empty.", hint="Say what was found out: nothing else is left of the detour.")
    made = drift_in(behind(turns, found.turn_id)).made
    metadata: dict[str, Any] = {REWIND: {"turn": found.turn_id, "goal": found.goal, "report": report.strip()}}
    gone = tuple(dict.fromkeys(forget or ()))
    if gone:
        metadata |= await _forget(context, gone, made)
    left = [name for name in made if name not in gone]
    lines = ["The report stands for the detour from here on."]
    lines += [f"Deleted: {_listed(gone)}."] if gone else []
    lines += [f"Variables made since the checkpoint: {_listed(left)}."] if left else []
    return ToolOutput((TextBlock("\n".join(lines)),), metadata=metadata)


async def _forget(context: ToolContext, names: tuple[str, ...], made: Sequence[str]) -> dict[str, Any]:
    """Delete variables of the detour's, and return the evidence."""
    others = [name for name in names if name not in made]
    if others:
        raise ToolError(
            f"Not made since the checkpoint: {_listed(others)}. Nothing was deleted, and you have not gone back.",
            hint=f"Only these can be forgotten: {_listed(made) or 'none'}.",
        )
    if context.executor is None:
        raise ToolError("There is no kernel to delete variables in.", hint="Call rewind without forget.")
    # A name may be any text: code can put one into the namespace that would be code itself.
    execution = await context.executor.execute(f"[globals().pop(name, None) for name in {list(names)!r}];")
    if execution.status != "ok":
        raise ToolError("The variables could not be deleted, and you have not gone back.", hint="Call without forget.")
    return dict(describe_execution(execution, context).metadata)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(" ".join(name.split()) for name in names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
