"""The typed events of the bus: one dataclass per event, each with its dotted name.

Rendering, persistence, approvals, budgets and metrics are subscribers of these events and nothing else.
Every event carries :class:`Ids`, so any two can be correlated. Most are frozen notifications. Those whose
docstring starts with *Mutable* are questions put to the subscribers: a handler answers by setting a field.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias

from zidane_lab.events.context import (
    BudgetKind,
    BudgetReached,
    BudgetScope,
    BudgetWarning,
    CacheBreak,
    CompactEnd,
    CompactProgress,
    CompactReason,
    CompactStart,
    CompactSummarize,
    ContextPruned,
    FallbackSwitch,
    GuardHit,
    ResultPersisted,
    RetryWait,
)
from zidane_lab.events.ids import (
    FinishReason,
    Ids,
    RunStatus,
)
from zidane_lab.events.run import (
    AgentDone,
    AgentStart,
    ContextTransform,
    HookFailed,
    Injection,
    SessionRepaired,
    SystemTransform,
    TurnAfter,
    TurnBefore,
    TurnBoundary,
    UserTurn,
)
from zidane_lab.events.stream import (
    HistoryRepaired,
    StreamEnd,
    StreamProgress,
    StreamText,
    StreamThinking,
)
from zidane_lab.events.tools import (
    ToolAfter,
    ToolBefore,
    ToolErrored,
    ToolGate,
    ToolInput,
    ToolProgress,
    ToolTransform,
)
from zidane_lab.turns import ToolResultBlock, Turn, Usage, block_to_json, turn_to_json

__all__ = [
    "EVENTS",
    "AgentDone",
    "AgentStart",
    "BudgetKind",
    "BudgetReached",
    "BudgetScope",
    "BudgetWarning",
    "CacheBreak",
    "CompactEnd",
    "CompactProgress",
    "CompactReason",
    "CompactStart",
    "CompactSummarize",
    "ContextPruned",
    "ContextTransform",
    "Event",
    "FallbackSwitch",
    "FinishReason",
    "GuardHit",
    "HistoryRepaired",
    "HookFailed",
    "Ids",
    "Injection",
    "ResultPersisted",
    "RetryWait",
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
    "TurnBoundary",
    "UserTurn",
    "event_to_json",
]

Event: TypeAlias = (
    AgentStart
    | AgentDone
    | UserTurn
    | TurnBefore
    | TurnAfter
    | TurnBoundary
    | ContextTransform
    | SystemTransform
    | StreamText
    | StreamThinking
    | StreamProgress
    | HistoryRepaired
    | StreamEnd
    | ToolInput
    | ToolGate
    | ToolBefore
    | ToolProgress
    | ToolTransform
    | ToolAfter
    | ToolErrored
    | CompactStart
    | CompactSummarize
    | CompactProgress
    | CompactEnd
    | ContextPruned
    | CacheBreak
    | BudgetWarning
    | BudgetReached
    | RetryWait
    | FallbackSwitch
    | ResultPersisted
    | GuardHit
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
        TurnBoundary,
        ContextTransform,
        SystemTransform,
        StreamText,
        StreamThinking,
        StreamProgress,
        HistoryRepaired,
        StreamEnd,
        ToolInput,
        ToolGate,
        ToolBefore,
        ToolProgress,
        ToolTransform,
        ToolAfter,
        ToolErrored,
        CompactStart,
        CompactSummarize,
        CompactProgress,
        CompactEnd,
        ContextPruned,
        CacheBreak,
        BudgetWarning,
        BudgetReached,
        RetryWait,
        FallbackSwitch,
        ResultPersisted,
        GuardHit,
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
    if isinstance(value, Injection):
        return {"reason": value.reason, "text": value.text}
    if isinstance(value, (tuple, list)):
        return [_json(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    return value
