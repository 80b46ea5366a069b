"""The typed events of the bus: one dataclass per event, each with its dotted name.

Rendering, persistence, approvals, budgets and metrics are subscribers of these events and nothing else.
Every event carries :class:`Ids`, so any two can be correlated. Most are frozen notifications. Those whose
docstring starts with *Mutable* are questions put to the subscribers: a handler answers by setting a field.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from zidane_lab.turns import ToolResultBlock, Turn, Usage, block_to_json, turn_to_json

__all__ = [
    "EVENTS",
    "AgentDone",
    "AgentStart",
    "ContextTransform",
    "Event",
    "FinishReason",
    "HookFailed",
    "Ids",
    "RunStatus",
    "SessionRepaired",
    "StreamEnd",
    "StreamProgress",
    "StreamText",
    "StreamThinking",
    "SystemTransform",
    "ToolAfter",
    "ToolBefore",
    "ToolErrored",
    "ToolGate",
    "ToolInput",
    "ToolProgress",
    "ToolTransform",
    "TurnAfter",
    "TurnBefore",
    "UserTurn",
    "event_to_json",
]

RunStatus: TypeAlias = Literal["completed", "aborted", "error"]
FinishReason: TypeAlias = Literal["stop", "tool-calls", "length", "refusal", "pause", "other"]


@dataclass(frozen=True, slots=True)
class Ids:
    """Correlation: which run, turn, call and (for subagents) which child at which depth."""

    run_id: str = ""
    turn_id: str | None = None
    call_id: str | None = None
    child_id: str | None = None
    depth: int = 0
    agent_name: str = "zidane"


@dataclass(frozen=True, slots=True)
class AgentStart:
    """A run begins. ``prompt`` is what the person asked; ``model`` the full name answering it."""

    name: ClassVar[str] = "agent:start"
    ids: Ids
    prompt: str
    model: str


@dataclass(frozen=True, slots=True)
class AgentDone:
    """A run ended. Fires exactly once per ``agent:start``; ``error`` is the message of a failed run."""

    name: ClassVar[str] = "agent:done"
    ids: Ids
    status: RunStatus
    finish: FinishReason | None
    usage: Usage
    turns: int
    seconds: float
    error: str | None = None
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class UserTurn:
    """A user turn joined the conversation: the prompt, a steering or follow-up message, an injected one."""

    name: ClassVar[str] = "turn:user"
    ids: Ids
    turn: Turn
    how: Literal["prompt", "steer", "follow-up", "injected"]


@dataclass(frozen=True, slots=True)
class TurnBefore:
    """The model is about to be asked. ``index`` counts model calls of this run from 0."""

    name: ClassVar[str] = "turn:before"
    ids: Ids
    index: int


@dataclass(frozen=True, slots=True)
class TurnAfter:
    """The model's turn is complete and stored. ``turn.usage`` settles any running estimate."""

    name: ClassVar[str] = "turn:after"
    ids: Ids
    index: int
    turn: Turn
    finish: FinishReason


@dataclass(slots=True)
class ContextTransform:
    """Mutable: the turns about to be sent, rewritable for this one request (``turns``)."""

    name: ClassVar[str] = "context:transform"
    ids: Ids
    turns: tuple[Turn, ...]


@dataclass(slots=True)
class SystemTransform:
    """Mutable: the system prompt of the run (``system``); keep it the same bytes from run to run."""

    name: ClassVar[str] = "system:transform"
    ids: Ids
    system: str


@dataclass(frozen=True, slots=True)
class StreamText:
    """A piece of visible text. ``block`` counts the blocks of the turn."""

    name: ClassVar[str] = "stream:text"
    ids: Ids
    block: int
    text: str


@dataclass(frozen=True, slots=True)
class StreamThinking:
    """A piece of reasoning text."""

    name: ClassVar[str] = "stream:thinking"
    ids: Ids
    block: int
    text: str


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """Running numbers of a stream, throttled; ``estimated`` says ``output_tokens`` is characters / 4."""

    name: ClassVar[str] = "stream:progress"
    ids: Ids
    output_tokens: int
    estimated: bool
    elapsed: float


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """A stream ended, well or not; text shown so far is final."""

    name: ClassVar[str] = "stream:end"
    ids: Ids
    finish: FinishReason | None


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
    """

    name: ClassVar[str] = "tool:gate"
    ids: Ids
    tool: str
    input: dict[str, Any]
    block: str | None = None
    result: ToolResultBlock | None = None


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


@dataclass(frozen=True, slots=True)
class SessionRepaired:
    """Opening a session mended something: ``what`` says it for a person."""

    name: ClassVar[str] = "session:repaired"
    ids: Ids
    what: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HookFailed:
    """A handler raised while handling the event ``about``; the run went on (or the call was blocked)."""

    name: ClassVar[str] = "hook:failed"
    ids: Ids
    about: str
    handler: str
    error: str


Event: TypeAlias = (
    AgentStart
    | AgentDone
    | UserTurn
    | TurnBefore
    | TurnAfter
    | ContextTransform
    | SystemTransform
    | StreamText
    | StreamThinking
    | StreamProgress
    | StreamEnd
    | ToolInput
    | ToolGate
    | ToolBefore
    | ToolProgress
    | ToolTransform
    | ToolAfter
    | ToolErrored
    | SessionRepaired
    | HookFailed
)

EVENTS: Mapping[str, type[Any]] = {
    cls.name: cls
    for cls in (
        AgentStart,
        AgentDone,
        UserTurn,
        TurnBefore,
        TurnAfter,
        ContextTransform,
        SystemTransform,
        StreamText,
        StreamThinking,
        StreamProgress,
        StreamEnd,
        ToolInput,
        ToolGate,
        ToolBefore,
        ToolProgress,
        ToolTransform,
        ToolAfter,
        ToolErrored,
        SessionRepaired,
        HookFailed,
    )
}
"""Every event by its dotted name."""


def event_to_json(event: Event) -> dict[str, Any]:
    """Return the event as one JSON-ready object: ``event``, the ids that are set, and its fields."""
    ids = {key: value for key, value in dataclasses.asdict(event.ids).items() if value not in (None, "")}
    out: dict[str, Any] = {"event": event.name, **ids}
    for spec in dataclasses.fields(event):
        if spec.name != "ids":
            out[spec.name] = _json(getattr(event, spec.name))
    return out


def _json(value: Any) -> Any:
    if isinstance(value, Turn):
        return turn_to_json(value)
    if isinstance(value, ToolResultBlock):
        return block_to_json(value)
    if isinstance(value, Usage):
        return {key: item for key, item in dataclasses.asdict(value).items() if item is not None}
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    return value
