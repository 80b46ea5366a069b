"""Changes that are shown first and made when somebody says so.

A staged change is worked out again when it is applied: if a file is no longer what the preview was made from, or
something else would come of it, nothing is written. Previews live as long as the process; making one again is cheap.
"""

from __future__ import annotations

import secrets
import threading
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext, ToolOutput
from zidane_lab.tools.edits.commit import EDIT, commit
from zidane_lab.tools.edits.outcomes import annotate
from zidane_lab.tools.edits.plan import Plan, edit_metadata
from zidane_lab.tools.places import where_of
from zidane_lab.turns import TextBlock

__all__ = [
    "MOST_PENDING",
    "PENDING",
    "Action",
    "Pending",
    "Planner",
    "Staged",
    "carry_out",
    "pending_of",
    "resolve_staged",
]

Action: TypeAlias = Literal["apply", "discard"]

Planner: TypeAlias = Callable[[ToolContext], Awaitable[Plan]]
"""Works a change out, for the call that asks."""

PENDING: Final = "pending"
"""Key of the metadata of a preview: the id to resolve it with."""

MOST_PENDING: Final = 10
"""Previews that may wait at the same time."""

_NAMED: Final = 5
"""Files of a preview that are named; it may be of a thousand."""

_REMINDER: Final = "This is a preview: nothing has been written. Call resolve to apply or discard it."


@dataclass(frozen=True, slots=True)
class Staged:
    """A preview: its plan as it was shown, and how to work it out again."""

    id: str
    plan: Plan
    again: Planner

    @property
    def label(self) -> str:
        """What it would change, for people and models."""
        names = [each.name for each in self.plan.files]
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        return f"{self.plan.tool} of {', '.join(names[:_NAMED])}{more}" if names else self.plan.tool


class Pending:
    """The previews of one conversation that wait for an answer, oldest first."""

    def __init__(self) -> None:
        self._staged: list[Staged] = []
        self._guard = threading.Lock()

    @property
    def waiting(self) -> tuple[Staged, ...]:
        """Those that wait."""
        with self._guard:
            return tuple(self._staged)

    @property
    def reminder(self) -> str | None:
        """What to tell a model that goes on without answering; ``None`` if nothing waits."""
        return f"{_REMINDER} Waiting: {'; '.join(each.label for each in self.waiting)}." if self.waiting else None

    def add(self, staged: Staged, *, first: bool = False) -> None:
        """Let a preview wait.

        Raises
        ------
        ToolError
            Too many do.
        """
        with self._guard:
            if len(self._staged) >= MOST_PENDING:
                raise ToolError(
                    f"{MOST_PENDING} previews are waiting already.", hint="Apply or discard them with resolve first."
                )
            self._staged.insert(0 if first else len(self._staged), staged)

    def take(self, staged_id: str | None = None) -> Staged:
        """Take a preview out: the oldest, unless one is named.

        Raises
        ------
        ToolError
            There is none.
        """
        with self._guard:
            found = next((each for each in self._staged if staged_id in {None, each.id}), None)
            if found is None:
                raise ToolError(
                    "No preview is waiting; there is nothing to apply or discard.",
                    hint="Previews are made by calling an editing tool with preview set; a restart forgets them.",
                )
            self._staged.remove(found)
            return found


_KEPT: Final[weakref.WeakKeyDictionary[object, dict[str, Pending]]] = weakref.WeakKeyDictionary()
_GUARD: Final = threading.Lock()


def pending_of(context: ToolContext) -> Pending:
    """Return what waits in the conversation a call belongs to, for the place it works in.

    Raises
    ------
    ToolError
        It belongs to none, so nobody could answer later.
    """
    if context.outputs is None:
        raise ToolError("There is no conversation to keep a preview in.", hint="Call again without preview.")
    with _GUARD:
        return _KEPT.setdefault(context.outputs, {}).setdefault(where_of(context), Pending())


async def carry_out(context: ToolContext, plan: Planner, *, preview: bool) -> ToolOutput:
    """Make a plan and write it, or stage it and show what it would do.

    Any tool may do so: its plan names the files to write, or has an ``act`` and says in ``text`` what that would do.

    Raises
    ------
    ToolError
        No plan can be made, or it cannot be written.
    """
    made = await plan(context)
    if not preview or made.is_error or not (made.files or made.act):
        return await commit(context, made)
    staged = Staged(f"preview_{secrets.token_hex(6)}", made, plan)
    pending_of(context).add(staged)
    shown = made.diff() if made.files else f"{made.text}\n"
    text = f"Preview of {staged.label}:\n{shown}{_REMINDER}"
    metadata: dict[str, Any] = {EDIT: edit_metadata(made.files, made.outcomes), PENDING: staged.id}
    return ToolOutput((TextBlock(annotate(text, made.outcomes)),), metadata=metadata)


async def resolve_staged(
    context: ToolContext, action: Action, reason: str, *, staged_id: str | None = None
) -> ToolOutput:
    """Apply or discard a preview: for the model's ``resolve``, and for buttons.

    Raises
    ------
    ToolError
        Nothing waits; the files have changed, and the preview is dropped; or they cannot be written, and it waits on.
    """
    pending = pending_of(context)
    staged = pending.take(staged_id)
    answer = {"action": action, "reason": reason, "tool": staged.plan.tool, "label": staged.label}
    if action == "discard":
        text = f"Discarded: {staged.label}." + (f" Reason: {reason}" if reason else "")
        return ToolOutput((TextBlock(text),), metadata={"resolve": answer})
    stale = ToolError(
        f"The preview of {staged.label} no longer fits: a file has changed since. Nothing was written; it is dropped.",
        hint="Read the file again and make a new preview.",
    )
    try:
        now = await staged.again(context)
    except ToolError as error:
        stale.add_hint(f"({error.message})")
        raise stale from error
    if _essence(now) != _essence(staged.plan):
        raise stale
    try:
        output = await commit(context, now)
    except ToolError:
        pending.add(staged, first=True)
        raise
    return replace(output, metadata={**output.metadata, "resolve": answer})


def _essence(plan: Plan) -> tuple[Any, ...]:
    """Return what must be the same when a preview is applied: the files before and after, and what becomes of edits.

    A text stands for the bytes that are made of it: an archive made again has another time in it.
    """
    files = tuple(
        (each.path, each.name, each.before.sha256, each.old, each.sha256 if each.new is None else each.new)
        for each in plan.files
    )
    return files, plan.outcomes, "" if files else plan.text
