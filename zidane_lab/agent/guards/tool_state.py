"""Small things a tool remembers from one call to the next, kept with the session: flags, ids, counters, cursors.

A call works on a *view* of its own tool's state. What it writes is *staged*: the call reads it back at once, others
see it when the call has gone well, and it is gone when the call fails or is cut. What is committed is a list of
operations, recorded in the session; going through them again restores the state.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias, TypedDict, TypeGuard

from zidane_lab.agent.guards.bundle import subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.errors import ToolError
from zidane_lab.events import AgentDone, ToolAfter
from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolStateView
from zidane_lab.wire.sizes import utf8_length

__all__ = [
    "DEFAULT_MAX_VALUE_BYTES",
    "TOOL_STATE",
    "SessionToolState",
    "StagedToolState",
    "ToolStateController",
    "ToolStateOp",
    "ToolStateStore",
    "is_tool_state_ops",
    "staged_tool_state",
]

DEFAULT_MAX_VALUE_BYTES: Final = 64 * 1024
"""Most bytes of one value as JSON. What is larger is a payload: it belongs in the result or in a file of the tool's."""

TOOL_STATE: Final = "tool-state"
"""Kind of the session record of a call's changes: ``{"call": id, "tool": name, "ops": [operation…]}``."""

Snapshot: TypeAlias = dict[str, dict[str, str]]
"""By tool and key, the value as JSON: what is handed out is always a copy."""


class ToolStateOp(TypedDict, total=False):
    """One change: ``{"op": "set", "key": …, "value": …}`` or ``{"op": "delete", "key": …}``."""

    op: Literal["set", "delete"]
    key: str
    value: Any


class ToolStateStore(Protocol):
    """Where committed changes are kept."""

    def load(self) -> Iterable[tuple[str, object]]:
        """Return what was kept, oldest first: tools with their operations, not checked yet."""
        ...

    def append(self, tool: str, call_id: str, ops: Sequence[ToolStateOp]) -> None:
        """Keep the changes of one call."""
        ...


@dataclass(frozen=True, slots=True)
class SessionToolState:
    """Keeps changes as records of a session; they hold for the whole of it, whatever branch is active."""

    session: Session

    def load(self) -> Iterable[tuple[str, object]]:
        """Return what was recorded."""
        records = self.session.records(TOOL_STATE)
        return [(tool, data.get("ops")) for data in records if isinstance(tool := data.get("tool"), str)]

    def append(self, tool: str, call_id: str, ops: Sequence[ToolStateOp]) -> None:
        """Record the changes of a call."""
        self.session.record(TOOL_STATE, {"call": call_id, "tool": tool, "ops": list(ops)})


def is_tool_state_ops(value: object) -> TypeGuard[list[ToolStateOp]]:
    """Whether ``value`` is a list of operations, as read from a file that may be damaged."""
    return isinstance(value, list) and all(_is_op(each) for each in value)


def _is_op(value: object) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("key"), str):
        return False
    if value.get("op") == "delete":
        return "value" not in value
    return value.get("op") == "set" and "value" in value and _as_json(value["value"]) is not None


class StagedToolState:
    """The view of one call: reads fall through to what is committed, writes wait for :meth:`commit`.

    Of two calls at the same time that write the same key, the one that ends last wins.
    """

    def __init__(self, controller: ToolStateController, tool: str, call_id: str) -> None:
        self._controller, self._tool, self._call_id = controller, tool, call_id
        self._staged: dict[str, str | None] = {}
        self._open = True

    def get(self, key: str, default: Any = None) -> Any:
        """Return a copy of the value kept under ``key``."""
        text = self._staged[key] if key in self._staged else self._controller.committed(self._tool).get(key)
        return default if text is None else json.loads(text)

    def keys(self) -> tuple[str, ...]:
        """Return the keys in use, sorted."""
        known = {**self._controller.committed(self._tool), **self._staged}
        return tuple(sorted(key for key, text in known.items() if text is not None))

    def set(self, key: str, value: Any) -> None:
        """Keep ``value``, any JSON, under ``key``.

        Raises
        ------
        ToolError
            It is not JSON, or too large; or the call has ended.
        """
        text = _as_json(value)
        if text is None:
            raise ToolError(f"The value of {key!r} is not JSON.", hint="Keep texts, numbers, lists and dicts of them.")
        size, most = utf8_length(text), self._controller.max_value_bytes
        if size > most:
            raise ToolError(
                f"The value of {key!r} takes {size:,} bytes; a tool's state keeps at most {most:,} in one value.",
                hint="Keep it in a file, and its path here.",
            )
        self._stage(key, text)

    def delete(self, key: str) -> None:
        """Forget the value kept under ``key``; there need be none.

        Raises
        ------
        ToolError
            The call has ended.
        """
        self._stage(key, None)

    def ops(self) -> tuple[ToolStateOp, ...]:
        """Return the changes that wait, as they would be recorded."""
        return tuple(
            {"op": "delete", "key": key} if text is None else {"op": "set", "key": key, "value": json.loads(text)}
            for key, text in self._staged.items()
        )

    def restore(self, ops: object) -> bool:
        """Stage changes journalled earlier; ``False``, and nothing staged, when they are not sound."""
        if not self._open or not is_tool_state_ops(ops):
            return False
        self._staged = {op["key"]: _as_json(op["value"]) if op["op"] == "set" else None for op in ops}
        return True

    def commit(self) -> None:
        """Make the changes hold, and end the view.

        Raises
        ------
        SessionError
            They hold, but could not be written yet.
        """
        if self._open:
            self._open = False
            self._controller.apply(self._tool, self._call_id, self.ops())

    def discard(self) -> None:
        """Forget the changes, and end the view."""
        self._open = False
        self._staged.clear()

    def _stage(self, key: str, text: str | None) -> None:
        if not self._open:
            raise ToolError("This call has ended; its state cannot change any more.", hint="Write it during the call.")
        self._staged.pop(key, None)  # operations are recorded in the order of the last writes
        self._staged[key] = text


@dataclass(slots=True)
class ToolStateController:
    """The state of an agent's tools, and a hook bundle that commits a call's changes when it has gone well.

    Parameters
    ----------
    store
        Where it is kept; without one it lives as long as this object.
    max_value_bytes
        Most bytes of one value.
    """

    store: ToolStateStore | None = None
    max_value_bytes: int = DEFAULT_MAX_VALUE_BYTES
    _snapshot: Snapshot = field(default_factory=dict)
    _views: dict[str, StagedToolState] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tool, ops in self.store.load() if self.store is not None else ():
            if is_tool_state_ops(ops):  # a damaged record is passed over
                self._take_in(tool, ops)

    def install(self, hooks: HookBus) -> Uninstall:
        """Commit or discard what calls staged as they end."""
        return subscribe(hooks, {ToolAfter: self._after, AgentDone: self._at_end})

    def view(self, tool: str, call_id: str) -> StagedToolState:
        """Return the view for a call that is about to run."""
        view = self._views[call_id] = StagedToolState(self, tool, call_id)
        return view

    def committed(self, tool: str) -> Mapping[str, str]:
        """Return what holds for a tool: JSON by key."""
        return self._snapshot.get(tool, {})

    @property
    def snapshot(self) -> dict[str, dict[str, Any]]:
        """A copy of everything that holds, by tool and key."""
        return {
            tool: {key: json.loads(text) for key, text in values.items()} for tool, values in self._snapshot.items()
        }

    def apply(self, tool: str, call_id: str, ops: Sequence[ToolStateOp]) -> None:
        """Make changes hold and keep them; nothing is kept for none.

        Raises
        ------
        SessionError
            They hold, but could not be written yet.
        """
        if ops:
            self._take_in(tool, ops)
            if self.store is not None:
                self.store.append(tool, call_id, ops)

    def _take_in(self, tool: str, ops: Sequence[ToolStateOp]) -> None:
        values = self._snapshot.setdefault(tool, {})
        for op in ops:
            text = _as_json(op["value"]) if op["op"] == "set" else None
            if text is None:
                values.pop(op["key"], None)
            else:
                values[op["key"]] = text
        if not values:
            del self._snapshot[tool]

    def _after(self, event: ToolAfter) -> None:
        view = self._views.pop(event.ids.call_id or "", None)
        if view is None:
            return
        if event.outcome == "ok":
            view.commit()
        else:
            view.discard()

    def _at_end(self, _event: AgentDone) -> None:
        """Discard what calls that never ended had staged."""
        for view in self._views.values():
            view.discard()
        self._views.clear()


def staged_tool_state(view: ToolStateView | None) -> StagedToolState | None:
    """Return the staging behind a view; ``None`` for none, or for a host's own kind of view, which is not staged."""
    return view if isinstance(view, StagedToolState) else None


def _as_json(value: object) -> str | None:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return None
