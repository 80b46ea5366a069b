"""Keep the conversation within the model's window: leave old results out, take a larger model, or summarise.

Before each answer the size of the context is judged. When the window fills, the cheap levers come first: old
outputs are left out, then a model with a larger window takes over where one was named, then the conversation is
summarised. Everything is decided once and recorded in the session.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.context_size import counted_size, estimated_size
from zidane_lab.agent.kit import Kit
from zidane_lab.agent.ledger import BudgetLedger
from zidane_lab.compaction.calls import Progress
from zidane_lab.compaction.compact import SUPPLIED, Compaction, compact_turns
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.compaction.decision import Fire, should_auto_compact
from zidane_lab.compaction.observers import End, Observers, Start
from zidane_lab.compaction.past_results import Elision
from zidane_lab.compaction.prune import PrunePolicy, elide_tail, prune_outputs
from zidane_lab.compaction.restore import (
    PostCompactAttachments,
    PostCompactRestoreOptions,
    append_attachments,
    build_post_compact_attachments,
)
from zidane_lab.compaction.scope import Scope, Tail
from zidane_lab.compaction.state import CompactionState
from zidane_lab.compaction.useless import drop_superseded, drop_useless
from zidane_lab.compaction.working_set import paths_read, select_files_from_session, used_variables
from zidane_lab.errors import AbortedError, CompactInvalidInputError, SessionError, ZidaneError
from zidane_lab.events import (
    CompactEnd,
    CompactProgress,
    CompactReason,
    CompactStart,
    CompactSummarize,
    ContextPruned,
    FallbackSwitch,
    Ids,
)
from zidane_lab.providers.base import Request
from zidane_lab.providers.figures import info_at
from zidane_lab.providers.targets import ModelTarget
from zidane_lab.session.kept_results import release_replaced_turns
from zidane_lab.session.persisted import resolve_persist_dir
from zidane_lab.turns import CompactSummaryBlock, Turn
from zidane_lab.wire.state import ELIDE

__all__ = ["NextRequest", "Room", "window_of"]

NextRequest: TypeAlias = Callable[[], Awaitable[Request]]
"""Builds the request the model would be sent next, whole."""

_OVERFLOW_PRUNE: Final = PrunePolicy(protect=8_000, minimum=1)
"""What may go when the service has refused the request as too long: nearly all old output."""

_OVERFLOW_KEEPS: Final = (None, 1)
"""Turns kept word for word when the service refuses a request as too long: as usual, then hardly any."""


def window_of(target: ModelTarget, given: int | None = None) -> int | None:
    """Return the context window of a target in tokens: its own, the one given, or what the catalogue knows."""
    if target.window is not None:
        return target.window
    return given if given is not None else info_at(target.provider, target.model).window


@dataclass(slots=True)
class Room:
    """Makes room for one run.

    Parameters
    ----------
    kit, behavior, ids, ledger
        Those of the run.
    """

    kit: Kit
    behavior: Behavior
    ids: Ids
    ledger: BudgetLedger
    _compacting: bool = False
    _promoted: bool = False

    # --- before an answer ---------------------------------------------------------------------------

    async def tidy(self) -> None:
        """At the start of a run: forget failures, and leave out results that hold nothing or that a later one shows."""
        session, continuity = self.kit.session, self.kit.continuity
        continuity.compaction = self._state().run_started()
        expires_at = continuity.cache.cache_expires_at()
        expired = expires_at is None or time.time() >= expires_at
        useless = drop_useless(session.turns, session.wire_state, cache_expired=expired)
        if useless is not None:
            await self._elide(useless)
        superseded = drop_superseded(session.turns, session.wire_state, cwd=self.kit.cwd, cache_expired=expired)
        if superseded is not None:
            await self._elide(superseded)

    async def make(self, target: ModelTarget, next_request: NextRequest) -> ModelTarget:
        """Make room if the window is full, and return the model that answers: another one if it has more room.

        A compaction that fails is told (``compact:end``) and the run goes on: if the request is really too long, the
        service says so.
        """
        config, session = self.behavior.compaction, self.kit.session
        await self._trim()
        window = self._window(target)
        if config is None or window is None:
            return target
        size = await self._size(next_request)
        if not self._fires(config, window, size):
            return target
        pruned = prune_outputs(session.turns, session.wire_state, cwd=self.kit.cwd)
        if pruned is not None:
            await self._elide(pruned)
            if not self._fires(config, window, size - pruned.tokens):
                return target
        larger = self._larger(target, window)
        if larger is not None:
            self._promoted = True
            await self.kit.hooks.emit(FallbackSwitch(self.ids, target.name, larger.name, "Its window is full."))
            return larger
        if not self._state().is_open(config.max_failures):
            with contextlib.suppress(CompactInvalidInputError):  # too few turns so far: nothing failed
                await self._try_compact("auto", target, next_request, Tail(config.keep_turns))
        return target

    async def _trim(self) -> None:
        """Leave out the outputs of earlier turns once there are too many of them, where that was asked for."""
        behavior, session = self.behavior, self.kit.session
        if behavior.trim_outputs_over is not None:
            trimmed = elide_tail(
                session.turns,
                session.wire_state,
                threshold=behavior.trim_outputs_over,
                keep_turns=behavior.trim_keep_turns,
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
        elision = prune_outputs(session.turns, session.wire_state, _OVERFLOW_PRUNE, cwd=self.kit.cwd)
        if elision is not None:
            await self._elide(elision)
        config = self.behavior.compaction
        if config is None:
            return elision is not None
        for keep in _OVERFLOW_KEEPS[tries:]:
            scope = Tail(config.keep_turns if keep is None else min(keep, config.keep_turns))
            with contextlib.suppress(CompactInvalidInputError):  # so few turns are left that all are kept
                return await self._try_compact("overflow", target, next_request, scope) or elision is not None
            if elision is not None:
                break
        return elision is not None

    # --- compaction ---------------------------------------------------------------------------------

    async def compact(
        self,
        reason: CompactReason,
        target: ModelTarget,
        next_request: NextRequest,
        scope: Scope,
        *,
        instructions: str = "",
    ) -> CompactEnd:
        """Summarise part of the conversation, append the summary, and put back what is in use.

        Raises
        ------
        CompactInvalidInputError
            There is nothing to summarise; nobody was told or asked.
        CompactionError, ProviderError, OperationTimeoutError
            It failed; the conversation is as it was. ``compact:end`` has told so.
        SessionError
            It could not be written to the disk. It holds all the same.
        """
        config = self.behavior.compaction or AutoCompact()
        writer = self.kit.summarizer or target
        session, emit = self.kit.session, self.kit.hooks.emit
        request = await next_request() if writer == target else None
        before = await self._size(next_request)
        # A run accounts for its own summaries; one a person asked for between runs stands by itself.
        run_id = None if reason == "manual" else self.ids.run_id or None
        ended: list[End[Compaction]] = []

        async def start(event: Start) -> None:
            told = CompactStart(
                self.ids, reason, str(event.scope), event.model, len(event.to_summarize), len(event.preserved), before
            )
            await emit(told)

        async def progress(event: Progress) -> None:
            await emit(CompactProgress(self.ids, event.tokens, event.attempt.number, event.attempt.kind))

        async def supply(turns: tuple[Turn, ...]) -> str | None:
            question = CompactSummarize(self.ids, reason, turns, instructions)
            await emit(question)
            return question.summary

        def end(event: End[Compaction]) -> None:
            ended.append(event)
            if not event.spent.is_empty:
                self.ledger.add(event.spent, metered=writer.provider.capabilities.metered, model=writer.name)

        self._compacting = True
        try:
            compaction = await compact_turns(
                session.turns,
                writer.provider.stream,
                model=writer.model,
                provider=writer.provider.name,
                scope=scope,
                config=config,
                state=session.wire_state,
                before=before,
                instructions=instructions,
                prefix_request=request,
                supply=supply,
                observers=Observers(on_start=start, on_progress=progress, on_end=end),
                run_id=run_id,
            )
            restored = await self._what_to_restore(compaction, config, run_id)
            after = compaction.after + restored.estimated_tokens
            mark = self._take_in(compaction, restored, after)
        except BaseException as error:
            await self._tell_failure(error, reason, writer, ended)
            raise
        finally:
            self._compacting = False
        told = CompactEnd(
            self.ids,
            reason,
            "compacted",
            SUPPLIED if compaction.summary.model == SUPPLIED else writer.name,
            compaction.seconds,
            mark,
            compaction.replaced,
            before,
            after,
            restored.files,
            restored.skills,
            restored.variables,
            compaction.summary.spent,
        )
        await emit(told)
        if config.release:
            await self._release(compaction)
        return told

    async def _try_compact(
        self, reason: CompactReason, target: ModelTarget, next_request: NextRequest, scope: Scope
    ) -> bool:
        try:
            await self.compact(reason, target, next_request, scope)
        except (AbortedError, SessionError, CompactInvalidInputError):
            raise
        except ZidaneError:
            self.kit.continuity.compaction = self._state().failed()
            return False
        return True

    async def _what_to_restore(
        self, compaction: Compaction, config: AutoCompact, run_id: str | None
    ) -> PostCompactAttachments:
        """Read what is in use, before anything is changed: a stop meanwhile leaves the conversation as it was."""
        session = self.kit.session
        if not config.restore:
            return PostCompactAttachments()
        marks = sum(isinstance(block, CompactSummaryBlock) for turn in session.turns for block in turn.blocks)
        return await build_post_compact_attachments(
            PostCompactRestoreOptions(
                key=str(marks + 1) if marks else "",
                run_id=run_id,
                cwd=self.kit.cwd,
                recent_files=select_files_from_session(session, self.kit.cwd) if "read_file" in self.kit.tools else (),
                exclude_paths=tuple(paths_read(compaction.preserved)),
                executor=self.kit.executor if "inspect_variable" in self.kit.tools else None,
                variables=used_variables(session.turns),
            )
        )

    def _take_in(self, compaction: Compaction, restored: PostCompactAttachments, after: int) -> Turn:
        """Append the summary and what is put back, without a pause between them; return the summary's turn.

        When the disk fails at the summary, what belongs behind it is added all the same; the first trouble is raised.
        """
        try:
            mark = self.kit.session.append(compaction.turn)
        finally:
            self._changed("the conversation was compacted")
            self.kit.continuity.compaction = self._state().compacted(after)
            append_attachments(self.kit.session, restored)
        return mark

    async def _release(self, compaction: Compaction) -> None:
        """Let memory go of the large results behind the summary; the session's file keeps them all the same."""
        session = self.kit.session
        folder = resolve_persist_dir(session.folder)
        if folder is None:
            return
        released = await release_replaced_turns(session.turns, set(compaction.summary.summarized_ids), folder)
        session.lighten(released.turns)

    async def _tell_failure(
        self, error: BaseException, reason: CompactReason, writer: ModelTarget, ended: list[End[Compaction]]
    ) -> None:
        if not ended:  # refused before anything was asked: there was no compact:start either
            return
        stopped = isinstance(error, (asyncio.CancelledError, AbortedError))
        message = None if stopped else str(error)
        status = "aborted" if stopped else "failed"
        told = CompactEnd(
            self.ids,
            reason,
            status,  # type: ignore[arg-type]  # the two literals
            writer.name,
            ended[-1].seconds,
            usage=ended[-1].spent,
            error=message,
        )
        await self.kit.hooks.emit(told)

    # --- small things -------------------------------------------------------------------------------

    def _fires(self, config: AutoCompact, window: int, size: int) -> bool:
        decision = should_auto_compact(
            enabled=True,
            window=window,
            threshold=config.threshold,
            input_tokens=size,
            baseline_tokens=self._state().baseline_tokens,
            min_growth=config.min_growth,
            already_compacting=self._compacting,
        )
        return isinstance(decision, Fire)

    async def _size(self, next_request: NextRequest) -> int:
        """Return the size of the context; a request is built only where nothing was counted."""
        counted = counted_size(self.kit.session.turns, self.kit.continuity.measured)
        return counted if counted is not None else estimated_size(await next_request())

    def _window(self, target: ModelTarget) -> int | None:
        """Return a target's window; the one that was set is that of the run's own models."""
        config = self.behavior.compaction
        return window_of(target, config.window if config is not None and target != self.kit.promotion else None)

    def _state(self) -> CompactionState:
        state = self.kit.continuity.compaction
        if state is None:
            session = self.kit.session
            state = CompactionState.of(session.turns, session.wire_state.undone)
            self.kit.continuity.compaction = state
        return state

    def _larger(self, target: ModelTarget, window: int) -> ModelTarget | None:
        promotion = self.kit.promotion
        if promotion is None or promotion == target or self._promoted:  # it took over before, and failed
            return None
        return promotion if (self._window(promotion) or 0) > window else None

    async def _elide(self, elision: Elision) -> None:
        try:
            self.kit.session.record(ELIDE, elision.data)
        finally:  # it holds in memory also when the disk fails
            self._changed(elision.why)
        await self.kit.hooks.emit(ContextPruned(self.ids, tuple(elision.results), elision.tokens, elision.why))

    def _changed(self, why: str) -> None:
        """What is sent is not what was sent: the provider will read it anew, and what it counted no longer holds."""
        self.kit.continuity.cache.declare(why)
        self.kit.continuity.measured = None
