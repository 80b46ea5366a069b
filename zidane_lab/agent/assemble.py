"""From a provider's stream to one assistant turn."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from zidane_lab.agent.live_usage import LiveUsage, Price, running_cost
from zidane_lab.agent.retry import shows_answer
from zidane_lab.errors import StreamInterruptedError
from zidane_lab.events import (
    Event,
    FinishReason,
    HistoryRepaired,
    Ids,
    StreamEnd,
    StreamProgress,
    StreamText,
    StreamThinking,
    ToolInput,
)
from zidane_lab.providers.base import (
    Finish,
    HistoryRepair,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from zidane_lab.turns import Block, TextBlock, ThinkingBlock, ToolCallBlock, Usage

__all__ = ["Assembly", "assemble"]

PROGRESS_SECONDS: Final = 0.25
"""Least time between two ``stream:progress`` events."""


@dataclass(slots=True)
class Assembly:
    """A turn under construction. ``blocks`` is complete up to the last event seen, also after a failure.

    ``is_shown`` tells whether any of the answer itself, text or a call, has arrived: then it is not asked for again.
    """

    producer: str
    finish: FinishReason | None = None
    usage: Usage | None = None
    is_shown: bool = False
    _done: list[Block] = field(default_factory=list)
    _text: list[str] = field(default_factory=list)
    _thinking: list[str] = field(default_factory=list)

    @property
    def index(self) -> int:
        """Number of the block now under construction."""
        return len(self._done)

    def take(self, event: StreamEvent, ids: Ids) -> Event | None:
        """Add one piece of the stream and return the event that tells subscribers, if there is one to tell."""
        self.is_shown = self.is_shown or shows_answer(event)
        match event:
            case TextDelta(text) if text:
                self._close_thinking(None, redacted=False)
                self._text.append(text)
                return StreamText(ids, self.index, text)
            case ThinkingDelta(text) if text:
                self._close_text()
                self._thinking.append(text)
                return StreamThinking(ids, self.index, text)
            case ThinkingEnd(signature, redacted):
                self._close_text()
                self._close_thinking(signature, redacted=redacted)
            case ToolCallStart(_, call_id, name):
                self.close()
                return ToolInput(replace(ids, call_id=call_id), name)
            case ToolCallEnd():
                self.close()
                self._done.append(ToolCallBlock(event.id, event.name, event.input, event.raw))
            case HistoryRepair(what):
                return HistoryRepaired(ids, what)
            case UsageUpdate(usage):
                self.usage = usage
            case Finish(reason):
                self.finish = reason
        return None

    def close(self) -> None:
        """Complete whatever block is open."""
        self._close_text()
        self._close_thinking(None, redacted=False)

    def blocks(self) -> tuple[Block, ...]:
        """Close and return the blocks."""
        self.close()
        return tuple(self._done)

    def _close_text(self) -> None:
        if self._text:
            self._done.append(TextBlock("".join(self._text)))
            self._text.clear()

    def _close_thinking(self, signature: str | None, *, redacted: bool) -> None:
        if self._thinking or signature is not None:
            self._done.append(ThinkingBlock("".join(self._thinking), signature, self.producer, redacted))
            self._thinking.clear()


async def assemble(
    stream: AsyncIterator[StreamEvent],
    assembly: Assembly,
    emit: Callable[[Event], Awaitable[Any]],
    ids: Ids,
    *,
    previous: Usage | None = None,
    price: Price | None = None,
) -> None:
    """Read ``stream`` to its end into ``assembly``, telling subscribers as text arrives.

    Parameters
    ----------
    stream
        The provider's answer; closed on return.
    assembly
        Where it is put together.
    emit
        Tells subscribers.
    ids
        Of the turn.
    previous
        What the answer before used, for ``stream:progress`` until this prompt is counted.
    price
        What a call of this model costs, for the same; without it only what the stream itself tells is told.

    Raises
    ------
    StreamInterruptedError
        The stream ended without saying why.
    ProviderError
        Whatever the provider raised; ``assembly`` keeps what had arrived.
    """
    started = last = time.monotonic()
    live = LiveUsage()
    try:
        async for event in stream:
            told = assembly.take(event, ids)
            if told is not None:
                await emit(told)
            live = live.after(event)
            moment = time.monotonic()
            if moment - last >= PROGRESS_SECONDS:
                last = moment
                await emit(_progress(ids, live, moment - started, previous, price))
        if assembly.finish is None:
            raise StreamInterruptedError("The model's answer stopped before its end.")
        await emit(_progress(ids, live, time.monotonic() - started, previous, price))
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
        await emit(StreamEnd(ids, assembly.finish))


def _progress(ids: Ids, live: LiveUsage, elapsed: float, previous: Usage | None, price: Price | None) -> StreamProgress:
    return StreamProgress(
        ids,
        live.output,
        live.is_estimated,
        elapsed,
        live.so_far(previous).context,
        running_cost(live, previous, price),
    )
