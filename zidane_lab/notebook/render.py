"""Draw a run as it happens: a subscriber of the bus that turns events into displays of one cell."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from zidane_lab.agent.hooks import Handler, HookBus, Uninstall
from zidane_lab.agent.resume import stop_notice
from zidane_lab.events import (
    AgentDone,
    AgentStart,
    HookFailed,
    SessionRepaired,
    StreamEnd,
    StreamText,
    StreamThinking,
    ToolAfter,
    ToolBefore,
    ToolGate,
    ToolInput,
    TurnAfter,
    TurnBefore,
    UserTurn,
)
from zidane_lab.notebook import bundles
from zidane_lab.notebook.bundles import ToolCard
from zidane_lab.notebook.card_results import ASKING, ended, own_seconds
from zidane_lab.notebook.cards import card_for
from zidane_lab.notebook.context_notices import ContextNotices
from zidane_lab.notebook.injected_bundles import added
from zidane_lab.notebook.publish import Publisher
from zidane_lab.notebook.textflow import TextFlow
from zidane_lab.turns import Usage

__all__ = ["CellRenderer"]

TICK_SECONDS: Final = 1.0
"""How often a running call's time is redrawn; after ten seconds, every tenth tick."""


@dataclass(slots=True)
class _Drawn:
    card: ToolCard
    display_id: str
    started: float | None = None


class CellRenderer:
    """Draws into one cell.

    Parameters
    ----------
    publisher
        The cell.
    window
        Effective context window of a full model name, for the gauge of the usage line.
    clock
        Monotonic seconds.
    """

    _live: ClassVar[bool] = True
    """Whether what is under way is drawn and updated."""

    def __init__(
        self,
        publisher: Publisher,
        *,
        window: Callable[[str], int | None] = lambda _model: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._to = publisher
        self._window = window
        self._clock = clock
        self._flow = TextFlow()
        self._block = ""
        self._shown: dict[int, str] = {}
        self._thinking = ""
        self._thinking_id: str | None = None
        self._thinking_at = float("-inf")
        self._cards: dict[str, _Drawn] = {}
        self._started: set[str] = set()
        self._places: dict[str, str] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._ticker: asyncio.Task[None] | None = None
        self._model = ""
        self._context = 0
        self._calls = 0
        self._index = 0

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe to everything that is drawn."""
        subscriptions: tuple[tuple[type[Any], Handler], ...] = (
            (StreamText, self._text),
            (StreamThinking, self._think),
            (StreamEnd, self._end),
            (ToolInput, self._arriving),
            (ToolGate, self._gated),
            (ToolBefore, self._before),
            (ToolAfter, self._after),
            *self.notices(),
        )
        off = [hooks.on(event, handler) for event, handler in subscriptions]

        def uninstall() -> None:
            for each in off:
                each()

        return uninstall

    def notices(self) -> tuple[tuple[type[Any], Handler], ...]:
        """Return the subscriptions for what is neither text nor a call: messages, notices, the usage line."""
        return (
            (AgentStart, self._begin),
            (TurnBefore, self._asked),
            (TurnAfter, self._turn),
            (UserTurn, self._said),
            (ToolBefore, self._count),
            (SessionRepaired, self._repaired),
            (HookFailed, self._failed),
            *ContextNotices(self._to, live=self._live, before=self._close, clock=self._clock).subscriptions(),
            (AgentDone, self._done),
        )

    # --- text ---------------------------------------------------------------------------------------

    def _text(self, event: StreamText) -> None:
        self._open(self._name(event))
        self._flow.feed(event.text)
        self._flush()

    def _flush(self) -> None:
        """Show what is due now, and come back when something will be."""
        now = self._clock()
        for piece in self._flow.take(now):
            self._place(piece.number, piece.text, frozen=piece.frozen)
        due = self._flow.due(now)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = asyncio.get_running_loop().call_later(max(due, 0.005), self._flush)

    def _place(self, number: int, text: str, *, frozen: bool) -> None:
        bundle = bundles.markdown(text, block=self._block, part=number) if frozen else bundles.streaming(text)
        if number in self._shown:
            self._to.update(self._shown[number], bundle)
        else:
            self._shown[number] = self._to.show(bundle)

    def _think(self, event: StreamThinking) -> None:
        self._open(self._name(event))
        self._thinking += event.text
        if self._clock() - self._thinking_at >= 0.5:
            self._thinking_at = self._clock()
            self._show_thinking(done=False)

    def _show_thinking(self, *, done: bool) -> None:
        bundle = bundles.thinking(self._thinking, done=done)
        if self._thinking_id is None:
            self._thinking_id = self._to.show(bundle)
        else:
            self._to.update(self._thinking_id, bundle)

    def _name(self, event: StreamText | StreamThinking) -> str:
        """Name a block by its place in the session: run, turn within the run, block within the turn."""
        return f"{event.ids.run_id}.{self._index}.{event.block}"

    def _begin(self, event: AgentStart) -> None:
        self._model = event.model

    def _asked(self, event: TurnBefore) -> None:
        self._index = event.index

    def _open(self, block: str) -> None:
        """Begin a block, unless it is the one under way."""
        if block != self._block:
            self._close()
            self._block = block

    def _close(self) -> None:
        """Freeze the block under way."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for piece in self._flow.finish():
            self._place(piece.number, piece.text, frozen=True)
        if self._thinking:
            self._show_thinking(done=True)
        self._flow, self._shown = TextFlow(), {}
        self._thinking, self._thinking_id, self._thinking_at = "", None, float("-inf")
        self._block = ""

    def _end(self, _event: StreamEnd) -> None:
        self._close()

    def _turn(self, event: TurnAfter) -> None:
        # A call whose id was taken got another when its turn was stored: cards follow, in order.
        waiting = [call_id for call_id, drawn in self._cards.items() if drawn.card.status == "waiting"]
        for old, call in zip(waiting, event.turn.tool_calls, strict=False):
            if old != call.id:
                self._cards[call.id] = self._cards.pop(old)
        self._model = event.turn.model or self._model
        if event.turn.usage is not None and event.turn.usage.context:
            self._context = event.turn.usage.context

    def _said(self, event: UserTurn) -> None:
        if event.how == "injected":
            self._to.show(added(event.turn.injected or "", event.turn.text))
        elif event.how != "prompt":
            self._to.show(bundles.prompt(event.turn.text, event.how))

    # --- tools --------------------------------------------------------------------------------------

    def _arriving(self, event: ToolInput) -> None:
        self._close()
        if any(drawn.card.status == "waiting" for drawn in self._cards.values()):
            return  # later calls are drawn when their turn comes, below the outputs of the earlier ones
        call_id = event.ids.call_id or ""
        card = ToolCard(call_id, event.tool, "waiting")
        self._cards[call_id] = _Drawn(card, self._to.show(bundles.tool_card(card)))

    def _draw(self, card: ToolCard) -> _Drawn:
        drawn = self._cards.get(card.call_id)
        if drawn is None:
            drawn = self._cards[card.call_id] = _Drawn(card, self._to.show(bundles.tool_card(card)))
        elif drawn.card != card:
            drawn.card = card
            self._to.update(drawn.display_id, bundles.tool_card(card))
        return drawn

    def _gated(self, event: ToolGate) -> None:
        """Show what is about to be decided, before anybody is asked about it."""
        self._draw(replace(card_for(event.ids.call_id or "", event.tool, event.input), status="waiting"))

    def _count(self, _event: ToolBefore) -> None:
        self._calls += 1

    def _before(self, event: ToolBefore) -> None:
        card = card_for(event.ids.call_id or "", event.tool, event.input)
        if event.tool in ASKING:  # it does nothing but wait for a person, whose time is not counted
            self._draw(replace(card, status="waiting"))
            return
        drawn = self._draw(card)
        drawn.started = self._clock()
        if self._ticker is None or self._ticker.done():
            self._ticker = asyncio.get_running_loop().create_task(self._tick())

    async def _tick(self) -> None:
        """Redraw the time of calls that run."""
        ticks = 0
        while any(drawn.started is not None for drawn in self._cards.values()):
            await asyncio.sleep(TICK_SECONDS)
            ticks += 1
            if ticks > 10 and ticks % 10:
                continue
            for drawn in self._cards.values():
                if drawn.started is not None:
                    card = replace(drawn.card, seconds=float(round(self._clock() - drawn.started)))
                    self._to.update(drawn.display_id, bundles.tool_card(card))

    def _after(self, event: ToolAfter) -> None:
        call_id = event.ids.call_id or ""
        before = self._cards.get(call_id)
        # A call that never began took no time of its own: that of the answer that refused it is a person's.
        measured = self._clock() - before.started if before is not None and before.started is not None else None
        seconds = own_seconds(event.tool, event.result, measured)
        card = ended(card_for(call_id, event.tool, event.input), event.outcome, event.result)
        drawn = self._draw(replace(card, seconds=seconds))
        drawn.started = None
        self._show_error(event.result.metadata.get("execution"))

    def _show_error(self, execution: Mapping[str, Any] | None) -> None:
        if execution is not None and execution["error"] is not None:
            error = execution["error"]
            self._to.show(bundles.traceback(error["name"], error["message"], error["traceback"]))

    # --- notices ------------------------------------------------------------------------------------

    def _repaired(self, event: SessionRepaired) -> None:
        self._to.show(bundles.banner("info", "The session was mended when it was opened.", " ".join(event.what)))

    def _failed(self, event: HookFailed) -> None:
        self._to.show(
            bundles.banner("warning", f"A handler of {event.about} failed.", f"{event.handler}: {event.error}")
        )

    def _done(self, event: AgentDone) -> None:
        self._close()
        if self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None
        for drawn in self._cards.values():
            if drawn.card.status in ("waiting", "running"):
                self._draw(replace(drawn.card, status="interrupted"))
        if event.status == "aborted":
            self._to.show(
                bundles.banner(
                    "warning", "Stopped.", event.error or "What was done is kept; prompt again to go on from here."
                )
            )
        elif event.status == "error":
            level, title = (
                ("warning", "The run reached its limit.")
                if event.error_code == "budget_exceeded"
                else (
                    "error",
                    "The run failed.",
                )
            )
            self._to.show(bundles.banner(level, title, event.error or ""))  # type: ignore[arg-type]  # the two literals
        elif (notice := stop_notice(event.status, event.finish)) is not None:
            self._to.show(bundles.banner("warning", notice.title, notice.text))
        for text in event.unread:
            self._to.show(bundles.banner("warning", "This message was not read by the model; send it again.", text))
        self._to.show(bundles.usage_line(self._usage(event.usage, event)))

    def _usage(self, usage: Usage, event: AgentDone) -> bundles.UsageLine:
        return bundles.UsageLine(
            model=self._model or "no answer",
            context=self._context,
            input=usage.context,
            cache_read=usage.cache_read,
            output=usage.output,
            cost=usage.cost,
            window=self._window(self._model) if self._model else None,
            turns=event.turns,
            calls=self._calls,
            seconds=self._shown_seconds(event.seconds),
        )

    def _shown_seconds(self, seconds: float | None) -> float | None:
        """Return the time to show; a page that must be the same every time shows none."""
        return seconds
