"""``todowrite`` and ``todoread``: the agent's own plan, whole each time it is written."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Annotated, Final, NotRequired

from zidane_lab.errors import ToolError, ToolInputError
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.read_output import ResultSource
from zidane_lab.tools.todo_plan import TODOS, Status, Todo, checked, plan_in, to_json, to_markdown
from zidane_lab.turns import TextBlock, Turn

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # pydantic, which brings typing_extensions, reads only its TypedDict before Python 3.12
    from typing_extensions import TypedDict

__all__ = ["READ_TOOL", "WRITE_TOOL", "Step", "described", "todo_tools"]

WRITE_TOOL: Final = "todowrite"
READ_TOOL: Final = "todoread"


class Step(TypedDict):
    """One step."""

    content: str
    status: Status
    phase: NotRequired[str]


@functools.cache
def todo_tools() -> tuple[Tool, Tool]:
    """Return the two tools; what they do reaches nothing but the conversation."""
    from zidane_lab.tools.decorator import tool

    return tool(tier="read", thread=False)(todowrite), tool(tier="read", concurrency="shared", thread=False)(todoread)


def todowrite(
    context: ToolContext,
    todos: Annotated[list[Step], "All steps, in order, also those that are done; an empty list ends the plan."],
) -> ToolOutput:
    """Write your plan: the whole list each time. The user sees it as a checklist.

    Use it for work of three or more steps, not for less. Exactly one step is in_progress while there is something to
    do; mark it completed as soon as it is, not before it works. `blocked` waits for the user or something else,
    `dropped` will not be done; say why in your answer. `phase` groups steps that belong together.

    Raises
    ------
    ToolInputError
        The steps make no plan; the one before holds.
    """
    try:
        found = checked(Todo(each["content"], each["status"], each.get("phase", "")) for each in todos)
    except ToolInputError as error:
        before = to_markdown(plan_in(_turns(context)).todos)
        error.add_hint(f"Nothing was changed; the plan is still:\n\n{before}" if before else "Nothing was changed.")
        raise
    return ToolOutput((TextBlock(described(found)),), metadata={TODOS: to_json(found)})


def todoread(context: ToolContext) -> ToolOutput:
    """Read your plan back, as it stands now.

    Raises
    ------
    ToolError
        The same answer writes it.
    """
    turns = _turns(context)
    if turns and any(call.name == WRITE_TOOL for call in turns[-1].tool_calls):
        raise ToolError("The plan is being written in this very answer.", hint="The result of todowrite shows it.")
    return ToolOutput((TextBlock(described(plan_in(turns).in_run(context.ids.run_id))),))


def described(todos: tuple[Todo, ...]) -> str:
    """Word a plan, for the model and for the card: how far it is, and the checklist."""
    if not todos:
        return "There is no plan."
    done = sum(todo.status == "completed" for todo in todos)
    return f"{done} of {len(todos)} done\n\n{to_markdown(todos)}"


def _turns(context: ToolContext) -> tuple[Turn, ...]:
    session: object = context.outputs
    return session.turns if isinstance(session, ResultSource) else ()
