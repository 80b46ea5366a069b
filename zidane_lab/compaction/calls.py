"""One call of the summarising model: read to its end, with a limit on silence, its costs never lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from zidane_lab.errors import OperationTimeoutError, StreamInterruptedError
from zidane_lab.events import FinishReason
from zidane_lab.providers.base import (
    Finish,
    Request,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallStart,
    UsageUpdate,
)
from zidane_lab.turns import Usage
from zidane_lab.wire.tokens import UNITS_PER_TOKEN

__all__ = ["Answer", "Attempt", "AttemptKind", "Progress", "Stream", "ask"]

AttemptKind: TypeAlias = Literal["initial", "prefix-fallback", "ptl-retry", "transient-retry"]
"""Why a call is made: the first; the one of its own after the cached request failed; a shortened one; once more."""

Stream: TypeAlias = Callable[[Request], AsyncIterator[StreamEvent]]
"""A provider's ``stream``."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call: the ``number``-th of its ``kind``, counted from 1."""

    kind: AttemptKind
    number: int


@dataclass(frozen=True, slots=True)
class Progress:
    """An answer under way: about ``tokens`` tokens of it have arrived, reasoning included."""

    attempt: Attempt
    tokens: int


@dataclass(slots=True)
class Answer:
    """What has arrived of an answer; also after a failure, when ``usage`` is what the service had told until then."""

    text: str = ""
    usage: Usage | None = None
    finish: FinishReason | None = None
    calls_tool: bool = False


async def ask(
    stream: Stream,
    request: Request,
    answer: Answer,
    *,
    silence_seconds: float,
    on_tokens: Callable[[int], Awaitable[None]],
) -> None:
    """Send a request and read its answer into ``answer``.

    Parameters
    ----------
    silence_seconds
        How long neither text nor reasoning may arrive, from the start on; 0 for no limit. However long an answer
        takes as a whole, it is not stopped while it goes on.
    on_tokens
        Told about how many tokens have arrived, at each piece; the time it takes is not counted as silence.

    Raises
    ------
    OperationTimeoutError
        The service was silent for too long.
    ProviderError
        The service failed or refused.
    """
    events = stream(request)
    loop = asyncio.get_running_loop()
    pieces: list[str] = []
    characters = 0
    try:
        deadline = loop.time() + silence_seconds if silence_seconds else None
        while (event := await _next(events, deadline, silence_seconds)) is not None:
            match event:
                case TextDelta(text) | ThinkingDelta(text):
                    if isinstance(event, TextDelta):
                        pieces.append(text)
                    characters += len(text)
                    await on_tokens(-(-characters // UNITS_PER_TOKEN))
                    deadline = loop.time() + silence_seconds if silence_seconds else None
                case ToolCallStart():
                    answer.calls_tool = True
                case UsageUpdate(usage):
                    answer.usage = usage
                case Finish(reason):
                    answer.finish = reason
    finally:
        answer.text = "".join(pieces)
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
    if answer.finish is None:
        raise StreamInterruptedError("The summarising model's answer stopped before its end.")


async def _next(events: AsyncIterator[StreamEvent], deadline: float | None, limit: float) -> StreamEvent | None:
    try:
        async with asyncio.timeout_at(deadline) as scope:
            return await anext(events, None)
    except TimeoutError as error:
        if not scope.expired():
            raise  # the service's own
        raise OperationTimeoutError(
            f"The summarising model said nothing for {limit:g} seconds.",
            hint="Nothing was changed: try again, or name another model for summaries.",
        ) from error
