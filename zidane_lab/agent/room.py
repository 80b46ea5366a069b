"""Keep the conversation within the model's window: leave old results out, take a larger model, or summarise.

Before each answer the size of the context is judged. When the window fills, the cheap levers come first: old
outputs are left out, then a model with a larger window takes over where one was named, then the conversation is
summarised. Everything is decided once and recorded in the session.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import Final

from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.cache import TTL_SECONDS
from zidane_lab.agent.compacting import Compactor, NextRequest
from zidane_lab.agent.kit import Kit
from zidane_lab.agent.ledger import BudgetLedger
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.compaction.decision import Fire, should_auto_compact
from zidane_lab.compaction.past_results import Elision
from zidane_lab.compaction.prune import PrunePolicy, elide_tail, prune_outputs
from zidane_lab.compaction.scope import Tail
from zidane_lab.compaction.stale_reads import elide_stale_reads
from zidane_lab.compaction.useless import drop_superseded, drop_useless
from zidane_lab.errors import CompactInvalidInputError
from zidane_lab.events import ContextPruned, FallbackSwitch, Ids
from zidane_lab.providers.targets import ModelTarget
from zidane_lab.wire.state import ELIDE

__all__ = ["Room"]

_OVERFLOW_KEEPS: Final = (None, 1)
"""Turns kept word for word when the service refuses a request as too long: as usual, then hardly any."""


@dataclass(slots=True)
class Room:
    """Makes room for one run.

    Parameters
    ----------
    kit, behavior, ids, ledger
        Those of the run.

    Attributes
    ----------
    compactor
        Summarises where nothing else helps.
    """

    kit: Kit
    behavior: Behavior
    ids: Ids
    ledger: BudgetLedger
    compactor: Compactor = field(init=False)
    _promoted: bool = False

    def __post_init__(self) -> None:
        self.compactor = Compactor(self.kit, self.behavior, self.ids, self.ledger)

    # --- before an answer ---------------------------------------------------------------------------

    async def tidy(self) -> None:
        """At the start of a run: forget failures, and leave out results that hold nothing or that a later one shows."""
        session, continuity = self.kit.session, self.kit.continuity
        continuity.compaction = self.compactor.state().run_started()
        expired = self._cache_expired()
        useless = drop_useless(session.turns, session.wire_state, cache_expired=expired)
        if useless is not None:
            await self._elide(useless)
        superseded = drop_superseded(session.turns, session.wire_state, cwd=self.kit.cwd, cache_expired=expired)
        if superseded is not None:
            await self._elide(superseded)

    def _cache_expired(self) -> bool:
        """Whether the provider has forgotten the conversation; after a restart the session's own times tell."""
        expires_at = self.kit.continuity.cache.cache_expires_at()
        if expires_at is None:
            answers = (turn for turn in reversed(self.kit.session.turns) if turn.role == "assistant")
            last = next(answers, None)
            if last is None:
                return False
            expires_at = last.created_at.timestamp() + TTL_SECONDS[self.behavior.cache_ttl]
        return time.time() >= expires_at

    async def make(self, target: ModelTarget, next_request: NextRequest) -> ModelTarget:
        """Make room if the window is full, and return the model that answers: another one if it has more room.

        A compaction that fails is told (``compact:end``) and the run goes on: if the request is really too long, the
        service says so.
        """
        config, session = self.behavior.compaction, self.kit.session
        await self._trim()
        window = self.compactor.window(target)
        if config is None or window is None:
            return target
        size = await self.compactor.size(next_request)
        if not self._fires(config, window, size):
            return target
        pruned = prune_outputs(session.turns, session.wire_state, self._policy(), cwd=self.kit.cwd)
        if pruned is not None:
            await self._elide(pruned)
            if not self._fires(config, window, size - pruned.tokens):
                return target
        larger = self._larger(target, window)
        if larger is not None:
            self._promoted = True
            await self.kit.hooks.emit(FallbackSwitch(self.ids, target.name, larger.name, "Its window is full."))
            return larger
        if not self.compactor.state().is_open(config.max_failures):
            with contextlib.suppress(CompactInvalidInputError):  # too few turns so far: nothing failed
                await self.compactor.attempt("auto", target, next_request, Tail(config.keep_turns))
        return target

    async def _trim(self) -> None:
        """Leave out stale reads, and outputs of earlier turns once there are too many, where that was asked for."""
        behavior, session = self.behavior, self.kit.session
        if behavior.stale_reads == "stub":
            stale = elide_stale_reads(session.turns, session.wire_state, cwd=self.kit.cwd)
            if stale is not None:
                await self._elide(stale)
        if behavior.trim_outputs_over is not None:
            trimmed = elide_tail(
                session.turns,
                session.wire_state,
                threshold=behavior.trim_outputs_over,
                keep_turns=behavior.trim_keep_turns,
                policy=self._policy(),
            )
            if trimmed is not None:
                await self._elide(trimmed)

    async def after_overflow(self, target: ModelTarget, next_request: NextRequest, *, tries: int = 0) -> bool:
        """Shorten a conversation the service refused as too long; ``False`` when nothing could be shortened.

        Parameters
        ----------
        target, next_request
            The model that refused, and what it would be sent.
        tries
            How often this answer's request was shortened before. The second time nothing is kept word for word but
            the last turn; there is no third.
        """
        if tries >= len(_OVERFLOW_KEEPS):
            return False
        session = self.kit.session
        elision = prune_outputs(
            session.turns, session.wire_state, replace(self._policy(), protect=8_000, minimum=1), cwd=self.kit.cwd
        )
        if elision is not None:
            await self._elide(elision)
        config = self.behavior.compaction
        if config is None:
            return elision is not None
        for keep in _OVERFLOW_KEEPS[tries:]:
            scope = Tail(config.keep_turns if keep is None else min(keep, config.keep_turns))
            with contextlib.suppress(CompactInvalidInputError):  # so few turns are left that all are kept
                return await self.compactor.attempt("overflow", target, next_request, scope) or elision is not None
            if elision is not None:
                break
        return elision is not None

    # --- small things -------------------------------------------------------------------------------

    def _policy(self) -> PrunePolicy:
        """Return what may go; what stands in its place names the tool that reads it back only if there is one."""
        return PrunePolicy(reader="read_output" if "read_output" in self.kit.tools else None)

    def _fires(self, config: AutoCompact, window: int, size: int) -> bool:
        decision = should_auto_compact(
            enabled=True,
            window=window,
            threshold=config.threshold,
            input_tokens=size,
            baseline_tokens=self.compactor.state().baseline_tokens,
            min_growth=config.min_growth,
            already_compacting=self.compactor.is_busy,
        )
        return isinstance(decision, Fire)

    def _larger(self, target: ModelTarget, window: int) -> ModelTarget | None:
        promotion = self.kit.promotion
        if promotion is None or promotion == target or self._promoted:  # it took over before, and failed
            return None
        return promotion if (self.compactor.window(promotion) or 0) > window else None

    async def _elide(self, elision: Elision) -> None:
        try:
            self.kit.session.record(ELIDE, {**elision.data, "after": self.kit.session.turns[-1].id})
        finally:  # it holds in memory also when the disk fails
            self.compactor.changed(elision.why)
        await self.kit.hooks.emit(ContextPruned(self.ids, tuple(elision.results), elision.tokens, elision.why))
