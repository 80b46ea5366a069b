"""What a provider is: a request goes in, a stream of typed events comes out.

Nothing here knows a vendor. A provider turns :class:`Request` into its own wire format, streams the answer
as the events below, and raises the errors of :mod:`zidane_lab.errors`. The order of a well-formed stream:
any number of text, thinking and tool-call events, ``UsageUpdate`` whenever numbers are known (running
totals, the newest wins), and exactly one ``Finish`` at the end. A stream that ends without ``Finish``
raises :class:`~zidane_lab.errors.StreamInterruptedError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from zidane_lab.events import FinishReason
from zidane_lab.turns import Turn, Usage

__all__ = [
    "CacheTtl",
    "Capabilities",
    "Finish",
    "HistoryRepair",
    "Provider",
    "Request",
    "StreamEvent",
    "TextDelta",
    "ThinkingDelta",
    "ThinkingEnd",
    "ThinkingLevel",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "ToolSpec",
    "UsageUpdate",
]

CacheTtl: TypeAlias = Literal["5m", "1h"]
ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max", "adaptive"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. ``parameters`` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a model.

    ``turns`` must be valid on any wire (see :mod:`zidane_lab.wire`): it starts and ends with a user turn
    and every tool call has its result in the next turn. ``model`` is the provider's own name of it.
    ``thinking_budget`` is in tokens, for models that take one. ``cache_ttl`` is how long the provider should keep
    the prompt, where it can be told; ``cache_key`` names the conversation, so that its requests meet the same cache.
    ``system_boundary`` is the length of the part of ``system`` that is the same from day to day and place to place;
    ``None`` when all of it is.
    """

    model: str
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    thinking: ThinkingLevel = "off"
    thinking_budget: int | None = None
    cache_ttl: CacheTtl = "5m"
    cache_key: str | None = None
    system_boundary: int | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider's models can take in. ``metered``: traffic costs money per token."""

    tools: bool = True
    images: bool = True
    thinking: bool = False
    metered: bool = True


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the visible answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of reasoning text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingEnd:
    """The reasoning block is complete; ``redacted`` means its text is hidden and only ``signature`` counts."""

    signature: str | None = None
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    """A tool call begins. ``index`` tells parallel calls apart."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of the JSON text of a call's arguments."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallEnd:
    """A call is complete. When its argument text is not a JSON object, ``input`` is empty and ``raw`` keeps it."""

    index: int
    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class UsageUpdate:
    """Token counts so far, as running totals."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Finish:
    """The answer is complete, and why."""

    reason: FinishReason


@dataclass(frozen=True, slots=True)
class HistoryRepair:
    """The provider changed what was sent to have it accepted: ``what`` says it for a person."""

    what: str


StreamEvent: TypeAlias = (
    HistoryRepair
    | TextDelta
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | UsageUpdate
    | Finish
)


@runtime_checkable
class Provider(Protocol):
    """A source of answers.

    ``name`` is the first part of a model name (``provider/model``); ``default_model`` the second part
    when only the provider is named.
    """

    @property
    def name(self) -> str:
        """The first part of a model's full name."""
        ...

    @property
    def default_model(self) -> str:
        """The model used when only the provider is named."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What its models can take in."""
        ...

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Ask and stream the answer.

        Closing the iterator (or cancelling the task that reads it) closes the connection at once.

        Raises
        ------
        ProviderError
            The service failed or refused; the subclass tells the cause.
        """
        ...

    def price_known(self, model: str) -> bool:
        """Whether the cost of a call of ``model`` will be known, so that a limit on money can be kept."""
        ...

    async def aclose(self) -> None:
        """Release connections. The provider may not be used afterwards."""
        ...
