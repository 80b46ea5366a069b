"""Events of a run, its turns, and the session it works on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from zidane_lab.events.ids import FinishReason, Ids, RunStatus
from zidane_lab.turns import InjectedReason, Turn, Usage

__all__ = [
    "AgentDone",
    "AgentStart",
    "ContextTransform",
    "HookFailed",
    "Injection",
    "SessionRepaired",
    "SystemTransform",
    "TurnAfter",
    "TurnBefore",
    "TurnBoundary",
    "UserTurn",
]


@dataclass(frozen=True, slots=True)
class AgentStart:
    """A run begins. ``prompt`` is what the person asked; ``model`` the full name answering it."""

    name: ClassVar[str] = "agent:start"
    ids: Ids
    prompt: str
    model: str


@dataclass(frozen=True, slots=True)
class AgentDone:
    """A run ended. Fires exactly once per ``agent:start``; ``error`` is the message of a failed run.

    ``unread`` are messages a person sent meanwhile that the model was never told.
    """

    name: ClassVar[str] = "agent:done"
    ids: Ids
    status: RunStatus
    finish: FinishReason | None
    usage: Usage
    turns: int
    seconds: float
    error: str | None = None
    error_code: str | None = None
    unread: tuple[str, ...] = ()


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
class Injection:
    """Something the loop should say to the model in the person's place, and why."""

    reason: InjectedReason
    text: str


@dataclass(slots=True)
class TurnBoundary:
    """Mutable: an answer and the results of its calls are stored; next the model is asked again, or the run ends.

    A handler adds to ``inject`` what the model should be told first; with anything in it the run goes on.
    ``index`` and ``finish`` are those of the answer; ``results`` the turn of results, if it made calls.
    """

    name: ClassVar[str] = "turn:boundary"
    ids: Ids
    index: int
    turn: Turn
    finish: FinishReason
    results: Turn | None = None
    inject: list[Injection] = field(default_factory=list)


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
