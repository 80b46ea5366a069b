"""Draw what happens to the context: compactions, cache breaks, pruning, retries, fallbacks, budgets, guards."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from zidane_lab.agent.cache import break_headline
from zidane_lab.agent.hooks import Handler
from zidane_lab.events import (
    BudgetWarning,
    CacheBreak,
    CompactEnd,
    CompactProgress,
    CompactStart,
    ContextPruned,
    FallbackSwitch,
    GuardHit,
    HistoryRepaired,
    ResultPersisted,
    RetryWait,
)
from zidane_lab.notebook import bundles
from zidane_lab.notebook.context_bundles import Divider, compacting, divider, notice, tokens
from zidane_lab.notebook.publish import Publisher
from zidane_lab.turns import CompactSummaryBlock

__all__ = ["ContextNotices", "divider_of"]

PROGRESS_SECONDS: Final = 0.5
"""Least time between two drawings of a summary's progress."""

NOTABLE_TOKENS: Final = 1_000
"""Less left out of the context is not worth a line."""


def divider_of(event: CompactEnd) -> Divider:
    """Return the divider of a compaction that succeeded."""
    turn = event.summary_turn
    block = next((each for each in turn.blocks if isinstance(each, CompactSummaryBlock)), None) if turn else None
    return Divider(
        turn_id=turn.id if turn else "",
        summary=block.text if block is not None else "",
        replaced=event.replaced,
        before=event.before,
        after=event.after,
        reason=event.reason,
        model=event.model,
        files=event.files,
        skills=event.skills,
        variables=event.variables,
        missing=event.missing,
        cost=event.usage.cost if event.usage is not None else None,
    )


class ContextNotices:
    """Draws into one cell.

    Parameters
    ----------
    publisher
        The cell.
    live
        Whether what is under way is drawn too and updated; otherwise each thing is drawn once, when it is settled.
    before
        Called before anything is drawn, so that text under way is closed above it.
    clock
        Monotonic seconds.
    """

    def __init__(
        self,
        publisher: Publisher,
        *,
        live: bool = True,
        before: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._to = publisher
        self._live = live
        self._before = before
        self._clock = clock
        self._compacting: str | None = None
        self._turns = 0
        self._made = 0
        self._drawn_at = float("-inf")

    def subscriptions(self) -> tuple[tuple[type[Any], Handler], ...]:
        """Return the events and their handlers."""
        return (
            (CompactStart, self._start),
            (CompactProgress, self._progress),
            (CompactEnd, self._end),
            (ContextPruned, self._pruned),
            (CacheBreak, self._cache),
            (BudgetWarning, self._budget),
            (RetryWait, self._retry),
            (FallbackSwitch, self._fallback),
            (ResultPersisted, self._persisted),
            (GuardHit, self._guard),
            (HistoryRepaired, self._history),
        )

    def _show(self, bundle: bundles.Bundle) -> str:
        self._before()
        return self._to.show(bundle)

    def _start(self, event: CompactStart) -> None:
        self._turns = event.turns
        self._drawn_at = self._clock()
        self._compacting = self._show(compacting(event.turns)) if self._live else None

    def _progress(self, event: CompactProgress) -> None:
        if self._compacting is not None and self._clock() - self._drawn_at >= PROGRESS_SECONDS:
            self._drawn_at = self._clock()
            self._to.update(self._compacting, compacting(self._turns, event.tokens))

    def _end(self, event: CompactEnd) -> None:
        if event.status == "compacted":
            mark = divider_of(event)
            bundle = divider(mark if self._live else self._settled(mark, event))
        elif event.status == "aborted":
            bundle = bundles.banner("info", "The compaction was stopped.", "Nothing was changed.")
        else:
            bundle = bundles.banner("warning", "The conversation could not be compacted.", event.error or "")
        display, self._compacting = self._compacting, None
        if display:
            self._to.update(display, bundle)
        else:
            self._show(bundle)

    def _settled(self, mark: Divider, event: CompactEnd) -> Divider:
        """Return the divider of a page that is the same every time: ids are random, and times count as tokens."""
        place = f"{event.ids.run_id}.summary{self._made}"
        self._made += 1
        return replace(mark, turn_id=place, before=round(mark.before, -2), after=round(mark.after, -2))

    def _pruned(self, event: ContextPruned) -> None:
        if event.tokens < NOTABLE_TOKENS:
            return
        count = len(event.calls)
        results = "1 old result" if count == 1 else f"{count} old results"
        self._show(
            notice("pruned", f"{results} left out of the context: ~{tokens(event.tokens)} tokens fewer ({event.why})")
        )

    def _cache(self, event: CacheBreak) -> None:
        details = "\n".join(each for each in (event.culprit, f"likely {event.likely}" if event.likely else "") if each)
        self._show(notice("cache", break_headline(event), details))

    def _budget(self, event: BudgetWarning) -> None:
        spent, limit = amount(event.kind, event.spent), amount(event.kind, event.limit)
        share = f"{100 * event.spent / event.limit:.0f} %"
        self._show(
            notice("budget", f"{share} of the {event.kind} budget of this {event.scope} used: {spent} of {limit}")
        )

    def _retry(self, event: RetryWait) -> None:
        title = f"{_sentence(event.error)} Trying again in {seconds(event.seconds)} ({event.attempt} of {event.most})."
        self._show(notice("retry", title))

    def _fallback(self, event: FallbackSwitch) -> None:
        self._show(notice("fallback", f"{event.from_model} failed; {event.to_model} goes on.", event.error))

    def _persisted(self, event: ResultPersisted) -> None:
        if event.error is not None:
            self._show(notice("persisted", f"A large result of {event.tool} could not be kept in a file.", event.error))

    def _history(self, event: HistoryRepaired) -> None:
        self._show(notice("pruned", event.what))

    def _guard(self, event: GuardHit) -> None:
        self._show(notice("guard", event.text))


def amount(kind: str, value: float) -> str:
    """Write an amount of a budget in its own unit."""
    if kind == "cost":
        return f"${value:.4f}" if value < 0.01 else f"${value:.2f}"
    if kind == "time":
        return seconds(value)
    return f"{tokens(round(value))} tokens" if kind == "tokens" else f"{value:g} turns"


def seconds(value: float) -> str:
    """Write a duration, rounded to what a person cares about."""
    if value < 60:
        return f"{value:.0f} s" if value >= 1 else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def _sentence(text: str) -> str:
    """Return the first sentence of an error's message, closed by a full stop."""
    first = text.strip().split("\n", 1)[0]
    return first if first.endswith((".", "!", "?")) else f"{first}."
