"""Draw a run for nobody in particular: each display once, final, never updated.

Tools that execute notebooks unattended keep what is drawn, but not all of them apply updates, and nobody
watches text grow. So text is drawn when its block is complete, a call's code above its outputs and its outcome
below them, and nothing depends on the speed of the machine: the same run draws the same page.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zidane_lab.events import (
    AgentDone,
    StreamText,
    StreamThinking,
    ToolAfter,
    ToolBefore,
    ToolGate,
    ToolInput,
    TurnAfter,
)
from zidane_lab.notebook import bundles
from zidane_lab.notebook.bundles import ToolCard
from zidane_lab.notebook.card_results import ended, names_left
from zidane_lab.notebook.cards import card_for
from zidane_lab.notebook.publish import Publisher
from zidane_lab.notebook.render import CellRenderer

__all__ = ["StaticRenderer"]


class StaticRenderer(CellRenderer):
    """A cell renderer that draws each thing once."""

    _live = False

    def __init__(self, publisher: Publisher, **options: Any) -> None:
        super().__init__(publisher, **options)
        self._order: list[str] = []
        self._ended: dict[str, ToolAfter] = {}

    def _text(self, event: StreamText) -> None:
        self._open(self._name(event))
        self._flow.feed(event.text)

    def _think(self, event: StreamThinking) -> None:
        self._open(self._name(event))
        self._thinking += event.text

    def _arriving(self, _event: ToolInput) -> None:
        self._close()

    def _gated(self, _event: ToolGate) -> None:
        """Draw nothing: whether and how a call runs is drawn when it is known."""

    def _before(self, event: ToolBefore) -> None:
        if event.tool == "run_python":  # its outputs come next and belong below its code
            self._started.add(event.ids.call_id or "")
            card = card_for(self._place_of(event), event.tool, event.input)
            self._to.show(bundles.tool_card(replace(card, status="started")))

    def _turn(self, event: TurnAfter) -> None:
        super()._turn(event)
        self._order, self._ended = [call.id for call in event.turn.tool_calls], {}

    def _after(self, event: ToolAfter) -> None:
        """Draw calls in the order in which they were made: which of several at once ends first is chance."""
        call_id = event.ids.call_id or ""
        if call_id not in self._order:
            self._draw_end(event)
            return
        self._ended[call_id] = event
        while self._order and self._order[0] in self._ended:
            self._draw_end(self._ended.pop(self._order.pop(0)))

    def _done(self, event: AgentDone) -> None:
        for each in [self._ended[call_id] for call_id in self._order if call_id in self._ended]:
            self._draw_end(each)
        super()._done(event)

    def _draw_end(self, event: ToolAfter) -> None:
        place = self._place_of(event)
        execution: Any = event.result.metadata.get("execution")
        if (event.ids.call_id or "") not in self._started:
            card = card_for(place, event.tool, event.input)
            self._to.show(bundles.tool_card(ended(card, event.outcome, event.result, notes=False)))
            return
        self._show_error(execution)
        note = names_left(execution) if execution is not None else event.result.text
        if note or event.outcome != "ok":
            self._to.show(bundles.outcome(ToolCard(place, event.tool, event.outcome, note=note)))

    def _place_of(self, event: ToolBefore | ToolAfter) -> str:
        """Name a call by its place in the session; ids of providers may differ from run to run."""
        call_id = event.ids.call_id or ""
        if call_id not in self._places:
            before = f"{event.ids.run_id}.{self._index}.call"
            taken = sum(place.startswith(before) for place in self._places.values())
            self._places[call_id] = f"{before}{taken}"
        return self._places[call_id]

    def _shown_seconds(self, _seconds: float | None) -> None:
        """Show no times: they differ from run to run, and the session has them."""
