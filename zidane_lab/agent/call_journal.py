"""Keep how far a batch of calls has come, so that what a process leaves unfinished when it dies can be told apart.

Which calls passed the gate and began is recorded as they begin. Results become a turn when all of a batch are there;
one by one they are recorded only while a person is waited for, which may take longer than the process lives.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from zidane_lab.agent.guards.gate_resume import keep_passed, resumed_gate
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.errors import SessionError
from zidane_lab.events import Ids, ToolAfter, ToolGate
from zidane_lab.session.session import Session
from zidane_lab.tools.base import Tool
from zidane_lab.turns import ToolResultBlock, block_from_json, block_to_json

__all__ = ["CALL_RESULT", "CallJournal", "finished_results"]

CALL_RESULT: Final = "call-result"
"""Kind of the record of a call that ended while another of its batch waited for a person."""


_SEAL: Final = "gate-seal"
"""Kind of the record that vouches for the one of a call that passed the gate."""


@dataclass(slots=True)
class CallJournal:
    """Keeps how far batches come: a hook bundle; a :class:`~zidane_lab.agent.batch.Batch` tells it what begins.

    Parameters
    ----------
    session
        Where it is recorded.
    tools
        The tools there are, by name.
    key
        Of the person: that a call has passed the gate counts in a later process only if it was recorded with this key,
        for a session's file may come from somebody else. Without one, whoever gives the session answers for it.
    """

    session: Session
    tools: Mapping[str, Tool]
    key: bytes | None = None
    _ended: dict[str, ToolResultBlock] = field(default_factory=dict)
    _turn: str | None = None
    _waiting: bool = False

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe to the ends of calls."""
        return hooks.on(ToolAfter, self._after)

    def passed(self, gate: ToolGate) -> None:
        """Record that a call has passed the gate and begins; not of one that may begin twice without harm."""
        tool = self.tools.get(gate.tool)
        if tool is not None and tool.tier == "read" and not gate.resume_state:
            return
        # A disk that fails ends the run when the turn of results is stored; until then memory has it.
        with contextlib.suppress(SessionError):
            if keep_passed(self.session, gate) and self.key is not None:
                self.session.record(_SEAL, {"call": gate.ids.call_id, "seal": self._seal(gate)})

    def gate(self, ids: Ids, tool: str, arguments: dict[str, Any]) -> ToolGate:
        """Return the event with which a call of a process that died goes to the gate: as passed, if that is certain."""
        gate = resumed_gate(self.session, ids, tool, arguments)
        if not gate.resumed or self.key is None:
            return gate
        seal = self._seal(gate)
        seals = (each.get("seal") for each in self.session.records(_SEAL) if each.get("call") == ids.call_id)
        if any(isinstance(each, str) and hmac.compare_digest(each.encode(), seal.encode()) for each in seals):
            return gate
        return ToolGate(ids, tool, dict(arguments))

    def _seal(self, gate: ToolGate) -> str:
        told = [_SEAL, self.session.id, gate.ids.call_id, gate.tool, gate.input, dict(gate.resume_state)]
        text = json.dumps(told, sort_keys=True, default=repr)
        return hmac.new(self.key or b"", text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def waits(self) -> None:
        """Say that a person is asked now: record what has ended, and from now on what ends."""
        self._waiting = True
        for call_id, result in self._ended.items():
            self._keep(call_id, result)
        self._ended.clear()

    def _after(self, event: ToolAfter) -> None:
        if event.ids.turn_id != self._turn:
            self._turn, self._waiting = event.ids.turn_id, False
            self._ended.clear()
        call_id = event.ids.call_id
        if not call_id:
            return
        if self._waiting:
            self._keep(call_id, event.result)
        else:
            self._ended[call_id] = event.result

    def _keep(self, call_id: str, result: ToolResultBlock) -> None:
        with contextlib.suppress(SessionError):
            self.session.record(CALL_RESULT, {"call": call_id, "result": block_to_json(result)})


def finished_results(session: Session) -> dict[str, ToolResultBlock]:
    """Return the results recorded of calls of unfinished batches, by call; records that cannot be read are left out."""
    found: dict[str, ToolResultBlock] = {}
    for data in session.records(CALL_RESULT):
        call_id, raw = data.get("call"), data.get("result")
        try:
            block = block_from_json(raw) if isinstance(raw, Mapping) else None
        except (SessionError, AttributeError, KeyError, TypeError, ValueError):
            continue
        if isinstance(block, ToolResultBlock) and block.call_id == call_id:
            found[block.call_id] = block
    return found
