"""``/todo``: show the agent's plan, or change it; the model reads the change with the next prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from zidane_lab.chat.commands import CommandContext, Reply, command
from zidane_lab.errors import ConfigurationError, ToolInputError
from zidane_lab.tools.todo import described
from zidane_lab.tools.todo_plan import Status, Todo, checked, edit_turn, from_markdown, plan_in

__all__ = ["changed"]

_VERBS: Final[dict[str, Status]] = {"done": "completed", "drop": "dropped", "block": "blocked", "open": "pending"}


@command(
    "todo",
    "/todo [add TEXT|done N|drop N|block N|open N|clear]",
    "show the agent's plan, or change it: a step by its number, or all of it by a checklist",
)
async def _todo(context: CommandContext, arguments: str) -> Reply:
    session = context.chat.session
    todos = plan_in(session.turns).todos
    if not arguments:
        return Reply(described(todos))
    if context.chat.agent is not None:
        raise ConfigurationError("A run is under way, and the plan is its own.", hint="Tell it with %zidane /steer.")
    todos = changed(todos, arguments)
    session.append(edit_turn(todos))
    return Reply(described(todos))


def changed(todos: tuple[Todo, ...], what: str) -> tuple[Todo, ...]:
    """Return a plan as a person wants it: ``add TEXT``, ``done N``, ``drop N``, ``block N``, ``open N``, ``clear``.

    A checklist takes the place of all of it.

    Raises
    ------
    ConfigurationError
        It cannot be read, or there is no such step.
    """
    verb, _, rest = what.strip().partition(" ")
    try:
        if what.lstrip().startswith(("- ", "* ", "+ ", "#")):
            return from_markdown(what)
        if verb == "clear" and not rest:
            return ()
        if verb == "add":
            return checked([*todos, Todo(rest, phase=todos[-1].phase if todos else "")])
    except ToolInputError as error:
        raise ConfigurationError(error.message, hint=error.hint) from error
    if verb not in _VERBS:
        raise ConfigurationError(f"{what!r} is no change of the plan.", hint="See %zidane /help.")
    number = int(rest) if rest.isascii() and rest.isdecimal() and len(rest) < 4 else 0
    if not 1 <= number <= len(todos):
        raise ConfigurationError(
            f"There is no step {rest or '(none named)'}.", hint=f"The plan has {len(todos)}, counted from 1."
        )
    found = list(todos)
    found[number - 1] = replace(found[number - 1], status=_VERBS[verb])
    return checked(found)
