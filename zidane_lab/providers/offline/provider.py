"""The ``offline`` provider: the planner's decisions as a stream, like any model's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Final

from zidane_lab.providers.base import (
    Capabilities,
    Finish,
    Request,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from zidane_lab.providers.offline.plan import Decision, decide
from zidane_lab.providers.offline.prose import chunks
from zidane_lab.providers.offline.state import call_id, read_state
from zidane_lab.providers.offline.summary import asks_for_summary, summarise

__all__ = ["OfflineProvider"]


class OfflineProvider:
    """Answers without a model: a planner with fixed rules that drives the tools and reports what they computed.

    It is stateless: the same request always gives the same events. Nothing leaves the process.

    Parameters
    ----------
    pace
        Seconds between two pieces of the stream, so that a reader can follow; 0 for none.
    """

    name: Final = "offline"
    default_model: Final = "planner"
    capabilities: Final = Capabilities(tools=True, images=False, thinking=False, metered=False)

    def __init__(self, *, pace: float = 0.003) -> None:
        self._pace = pace

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Decide the next move and stream it: text, then tool calls, then why it ends."""
        decision = Decision(summarise(request)) if asks_for_summary(request) else decide(request)
        digest = read_state(request.turns).digest
        for piece in chunks(decision.text):
            yield TextDelta(piece)
            await asyncio.sleep(self._pace)
        for index, call in enumerate(decision.calls):
            identity = call_id(digest, call.key)
            yield ToolCallStart(index, identity, call.tool)
            for piece in chunks(json.dumps(call.arguments, ensure_ascii=False), 80):
                yield ToolCallDelta(index, piece)
                await asyncio.sleep(self._pace)
            yield ToolCallEnd(index, identity, call.tool, call.arguments)
        yield Finish("tool-calls" if decision.calls else "stop")

    def price_known(self, _model: str) -> bool:
        """Whether a price applies: the planner costs nothing and has none."""
        return False

    async def aclose(self) -> None:
        """Release nothing: there is no connection."""
