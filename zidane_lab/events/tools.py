"""Events of a tool call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from zidane_lab.events.ids import Ids
from zidane_lab.turns import ToolResultBlock

__all__ = ["ToolAfter", "ToolBefore", "ToolErrored", "ToolGate", "ToolInput", "ToolProgress", "ToolTransform"]


@dataclass(frozen=True, slots=True)
class ToolInput:
    """A call's arguments are arriving: its name is known, its arguments are not complete yet."""

    name: ClassVar[str] = "tool:input"
    ids: Ids
    tool: str


@dataclass(slots=True)
class ToolGate:
    """Mutable: whether a call may run.

    A handler may set ``block`` (a reason), ``result`` (answer without running) or rewrite ``input``. A handler
    that raises blocks the call: the gate fails closed.

    ``resumed``: the call passed the gate in a process that died; handlers restore instead of asking again. Their
    ``result`` is ignored then, and ``block`` too unless the call really runs again. ``resume_state`` is what handlers
    keep with the call for that, JSON under names of their own: written on a live call, read back on a resumed one.
    """

    name: ClassVar[str] = "tool:gate"
    ids: Ids
    tool: str
    input: dict[str, Any]
    block: str | None = None
    result: ToolResultBlock | None = None
    resumed: bool = False
    resume_state: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolBefore:
    """The call passed the gate and starts now."""

    name: ClassVar[str] = "tool:before"
    ids: Ids
    tool: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """Something to show while a call runs; it never reaches the model or the session."""

    name: ClassVar[str] = "tool:progress"
    ids: Ids
    tool: str
    stream: Literal["output", "console", "stdout", "stderr", "wait"]
    text: str


@dataclass(slots=True)
class ToolTransform:
    """Mutable: the result as the model will see it (``result``)."""

    name: ClassVar[str] = "tool:transform"
    ids: Ids
    tool: str
    result: ToolResultBlock


@dataclass(frozen=True, slots=True)
class ToolAfter:
    """A call ended with a result, whichever way: run, blocked, skipped, cancelled."""

    name: ClassVar[str] = "tool:after"
    ids: Ids
    tool: str
    input: Mapping[str, Any]
    result: ToolResultBlock
    outcome: Literal["ok", "error", "blocked", "skipped", "cancelled", "interrupted"]
    seconds: float


@dataclass(frozen=True, slots=True)
class ToolErrored:
    """A tool raised; the text of the exception became its error result."""

    name: ClassVar[str] = "tool:error"
    ids: Ids
    tool: str
    error: str
