"""What a session keeps of where its files and commands were, and calls that must not move to another place.

The record is in a file beside the notebook, which others may have written: it is shown and compared, never obeyed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.chat.place_words import plain
from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.events import ToolGate
from zidane_lab.session.session import Session
from zidane_lab.wire.tail import open_calls

__all__ = ["IN_KERNEL", "PLACE", "PROCESS", "LeftOpen", "last_place", "record_place"]

PROCESS: Final = "process"
"""The name of this machine."""

PLACE: Final = "place"
"""Kind of the session record that says where its files and commands are from then on: ``name``, ``where``, ``cwd``."""

IN_KERNEL: Final = frozenset(
    {
        "ask_user",
        "checkpoint",
        "fetch_url",
        "inspect_variable",
        "list_variables",
        "present_plan",
        "read_output",
        "rewind",
        "run_python",
        "todoread",
        "todowrite",
        "web_search",
    }
)
"""Tools that work in the kernel or ask the person, wherever files and commands are."""


def last_place(session: Session) -> tuple[str, str]:
    """Return the name of the place a session worked in last, and what tells it from others; this machine's if none."""
    for record in reversed(session.records(PLACE)):
        name, where = record.get("name"), record.get("where")
        if isinstance(name, str) and isinstance(where, str):
            return plain(name), where
    return PROCESS, ""


def record_place(session: Session, name: str, place: ExecutionContext) -> None:
    """Keep where a session works, when that is not what it said last.

    Raises
    ------
    SessionError
        It could not be written.
    """
    where = place.info.where
    if where != last_place(session)[1]:
        session.record(PLACE, {"name": name, "where": where, "cwd": place.cwd})


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """A hook bundle that keeps calls which an earlier process left open from running in another place.

    They were asked about, and perhaps allowed, where the session worked then. Install it before the gate, and before
    the place of this run is recorded.

    Parameters
    ----------
    session
        The conversation.
    place
        Where it works now.
    """

    session: Session
    place: ExecutionContext

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe, if there is anything to watch."""
        name, before = last_place(self.session)
        now = self.place.info.where
        left = {call.id for call in open_calls(self.session.turns)} if before != now else set()

        def at_gate(event: ToolGate) -> None:
            if event.ids.call_id in left and event.tool not in IN_KERNEL:
                event.block = (
                    f"not run: it was meant for {'this machine' if not before else name}, and files and commands are "
                    f"now on {self.place.info.name}. Decide anew what is to be done here."
                )

        return hooks.on(ToolGate, at_gate)
