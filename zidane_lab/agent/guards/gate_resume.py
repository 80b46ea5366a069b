"""The gate of a run that goes on after its process died.

A call that passed the gate was allowed once; when its run is resumed, nobody is asked again. Handlers keep what they
need for that with the call: plain JSON, each under a name of its own in ``resume_state``. On a live call they write it;
on a resumed one (``resumed``) they read it back and restore themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from zidane_lab.errors import ConfigurationError
from zidane_lab.events import Ids, ToolGate
from zidane_lab.session.session import Session

__all__ = ["GATE_STATE", "keep_passed", "passed_gate", "resumed_gate", "settle"]

GATE_STATE: Final = "gate-state"
"""Kind of the record of a call that passed the gate: ``{"call": id, "tool": name, "state": {handler: JSON}}``."""


def keep_passed(session: Session, gate: ToolGate) -> bool:
    """Record that a call passed the gate, with what the handlers keep; ``False`` if it did not pass, or has no id.

    Raises
    ------
    ConfigurationError
        A handler keeps something that is not JSON.
    SessionError
        It could not be written.
    """
    call_id = gate.ids.call_id
    if gate.resumed or gate.block is not None or gate.result is not None or not call_id:
        return False
    for handler, kept in gate.resume_state.items():
        try:
            json.dumps(kept, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigurationError(
                f"What {handler!r} keeps of a call is not JSON ({error}).", hint="Keep texts, numbers, lists and dicts."
            ) from error
    session.record(GATE_STATE, {"call": call_id, "tool": gate.tool, "state": dict(gate.resume_state)})
    return True


def passed_gate(session: Session, call_id: str, tool: str) -> dict[str, Any] | None:
    """Return what handlers kept of a call that passed the gate; ``None`` when it did not, or was another tool's."""
    for data in reversed(session.records(GATE_STATE)):
        if data.get("call") == call_id and data.get("tool") == tool:
            state = data.get("state")
            return dict(state) if isinstance(state, Mapping) else {}
    return None


def resumed_gate(session: Session, ids: Ids, tool: str, arguments: Mapping[str, Any]) -> ToolGate:
    """Return the event for a call of a resumed run: flagged if it passed in the process that died, else a live one."""
    state = passed_gate(session, ids.call_id, tool) if ids.call_id else None
    if state is None:
        return ToolGate(ids, tool, dict(arguments))
    return ToolGate(ids, tool, dict(arguments), resumed=True, resume_state=state)


def settle(gate: ToolGate, *, runs_again: bool) -> None:
    """Take back what handlers may not decide about a resumed call any more.

    It was answered already, so ``result`` is ignored; ``block`` counts only if the call's body really runs again.
    """
    if gate.resumed:
        gate.result = None
        if not runs_again:
            gate.block = None
