"""The ``present_plan`` tool: show the person what is going to be done, before it is done.

They approve it, change its steps, or reject it and say why. As with questions, the form is the gate.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired

from zidane_lab.errors import ToolInputError
from zidane_lab.session.interactions import InteractionAnswer, new_interaction
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.turns import TextBlock

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # pydantic, which brings typing_extensions, reads only its TypedDict before Python 3.12
    from typing_extensions import TypedDict

__all__ = ["EMPTY_PLAN", "PLAN", "ProposedStep", "present_plan_tool"]

PLAN: Final = "plan"
"""Key of the metadata: the decision, and the steps that are to be done."""

EMPTY_PLAN: Final = "Error: steps must not be empty"

_MOST_STEPS: Final = 100
_LONGEST: Final = 50_000

_NOBODY: Final = (
    "Nobody can approve the plan now: this run is unattended. Do not present it again in it. Do the steps that only "
    "look or compute, leave out what changes files, spends money or cannot be undone, and end with the plan and what "
    "is left to be approved."
)


class ProposedStep(TypedDict):
    """One step."""

    title: str
    details: NotRequired[str]


@functools.cache
def present_plan_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="read", concurrency="exclusive")(present_plan)


async def present_plan(
    context: ToolContext,
    title: Annotated[str, "What the plan is for, in a few words."],
    steps: Annotated[list[ProposedStep], "In the order they are done: a short title each, details where needed."],
    summary: Annotated[str, "Why this way, what is risky, what is left out."] = "",
) -> ToolOutput:
    """Show the user a plan and wait until they approve it, change its steps, or reject it with a reason.

    Use it before work that takes many steps or is hard to undo. Do what was approved, as it was approved; a plan that
    was rejected is not done in any other way either.
    """
    if not steps:
        return ToolOutput((TextBlock(EMPTY_PLAN),), is_error=True)
    payload = {
        "title": title,
        "summary": summary,
        "steps": [{"title": step["title"], "details": step.get("details", "")} for step in steps],
    }
    if len(steps) > _MOST_STEPS or len(str(payload)) > _LONGEST:
        raise ToolInputError(
            f"Nobody reads a plan of more than {_MOST_STEPS} steps or {_LONGEST:,} characters.",
            hint="Present the main steps; keep the details for when they are done.",
        )
    if context.interact is None:
        return ToolOutput((TextBlock(_NOBODY),), metadata={"answered": False})
    ids = context.ids
    answer = await context.interact(new_interaction("plan", payload, run_id=ids.run_id, call_id=ids.call_id))
    if answer.value is None:
        return ToolOutput((TextBlock(_NOBODY),), metadata={"answered": False})
    return _decided(payload, answer.value, answer)


def _decided(payload: Mapping[str, Any], value: Mapping[str, Any], answer: InteractionAnswer) -> ToolOutput:
    decision, reason = str(value["decision"]), str(value.get("reason", ""))
    envelope: dict[str, Any] = {"decision": decision}
    steps: Sequence[str] = [step["title"] for step in payload["steps"]]
    if decision == "edit":
        steps = envelope["steps"] = list(value["steps"])
        text = "The user approved the plan with changes. These steps count, and no others."
    elif decision == "approve":
        text = "The user approved the plan. Do it step by step."
    else:
        steps = []
        text = "The user rejected the plan. Do none of it; answer what they said, or ask what they want instead."
    if reason:
        envelope["reason"] = reason
        text += f" They said: {' '.join(reason.split())}"
    kept = {"decision": decision, "steps": list(steps), "reason": reason}
    return ToolOutput(
        (TextBlock(f"{text}\n{json.dumps(envelope, ensure_ascii=False)}"),),
        metadata={"answered": True, "by": answer.by, PLAN: kept},
    )
