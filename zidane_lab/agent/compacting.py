"""Compact a conversation for an agent: tell how it goes, append the summary, put back what is in use.

What is to be summarised and how is decided in :mod:`zidane_lab.compaction`; here it is bound to a session, its
budget and its subscribers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.context_size import counted_size, estimated_size
from zidane_lab.agent.kit import Kit
from zidane_lab.agent.ledger import BudgetLedger
from zidane_lab.approvals.secrets import looks_secret
from zidane_lab.compaction.calls import Progress
from zidane_lab.compaction.compact import SUPPLIED, Compaction, compact_turns
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.compaction.decision import effective_window
from zidane_lab.compaction.observers import End, Observers, Start
from zidane_lab.compaction.restore import (
    PostCompactAttachments,
    PostCompactRestoreOptions,
    append_attachments,
    build_post_compact_attachments,
)
from zidane_lab.compaction.scope import Scope
from zidane_lab.compaction.state import CompactionState
from zidane_lab.compaction.working_set import RecentFile, paths_read, select_files_from_session, used_variables
from zidane_lab.errors import AbortedError, CompactInvalidInputError, SessionError, ZidaneError
from zidane_lab.events import CompactEnd, CompactProgress, CompactReason, CompactStart, CompactSummarize, Ids
from zidane_lab.providers.base import Request
from zidane_lab.providers.figures import info_at
from zidane_lab.providers.targets import ModelTarget
from zidane_lab.session.kept_results import release_replaced_turns
from zidane_lab.session.persisted import resolve_persist_dir
from zidane_lab.turns import CompactSummaryBlock, Turn

__all__ = ["Compactor", "NextRequest", "window_of"]

NextRequest: TypeAlias = Callable[[], Awaitable[Request]]
"""Builds the request the model would be sent next, whole."""

LEAST_OUTPUT: Final = 4_000
"""Tokens a summary may have at least."""

LEAST_RESTORED: Final = 1_000
"""Tokens that may be put back in any case: the names of variables, a small file."""

RESTORE_SHARE: Final = 0.8
"""Share of the effective window that a conversation may fill again by what is put back behind its summary."""


def window_of(target: ModelTarget, given: int | None = None) -> int | None:
    """Return the context window of a target in tokens: its own, the one given, or what the catalogue knows."""
    if target.window is not None:
        return target.window
    return given if given is not None else info_at(target.provider, target.model).window


@dataclass(slots=True)
class Compactor:
    """Compacts the conversation of one run, or between runs.

    Parameters
    ----------
    kit, behavior, ids, ledger
        Those of the run.
    """

    kit: Kit
    behavior: Behavior
    ids: Ids
    ledger: BudgetLedger
    is_busy: bool = False

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
        before = await self.size(next_request)
        window = self.window(writer)
        if window is not None:  # where the answer counts too, it must fit beside the conversation
            left = max(LEAST_OUTPUT, (window - before) // 2)  # the size is partly an estimate
            config = replace(config, max_output_tokens=min(config.max_output_tokens, left))
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

        self.is_busy = True
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
            restored = await self._what_to_restore(compaction, config, target, run_id)
            after = compaction.after + restored.estimated_tokens
            mark = self._take_in(_told(compaction.turn, reason, after, restored.missing), restored, after)
        except BaseException as error:
            await self._tell_failure(error, reason, writer, ended)
            raise
        finally:
            self.is_busy = False
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
            restored.missing,
            compaction.summary.spent,
        )
        await emit(told)
        if config.release:
            await self._release(compaction)
        return told

    async def attempt(
        self, reason: CompactReason, target: ModelTarget, next_request: NextRequest, scope: Scope
    ) -> bool:
        """Compact, and take note of a failure instead of raising it; stops and disk errors pass."""
        try:
            await self.compact(reason, target, next_request, scope)
        except (AbortedError, SessionError, CompactInvalidInputError):
            raise
        except ZidaneError:
            self.kit.continuity.compaction = self.state().failed()
            return False
        return True

    async def _what_to_restore(
        self, compaction: Compaction, config: AutoCompact, target: ModelTarget, run_id: str | None
    ) -> PostCompactAttachments:
        """Read what is in use, before anything is changed: a stop meanwhile leaves the conversation as it was."""
        session = self.kit.session
        if not config.restore:
            return PostCompactAttachments()
        options = PostCompactRestoreOptions()
        window = self.window(target)
        room = options.file_token_budget
        if window is not None:
            room = max(LEAST_RESTORED, int(RESTORE_SHARE * effective_window(window)) - compaction.after)
        marks = sum(isinstance(block, CompactSummaryBlock) for turn in session.turns for block in turn.blocks)
        return await build_post_compact_attachments(
            PostCompactRestoreOptions(
                key=str(marks + 1) if marks else "",
                run_id=run_id,
                cwd=self.kit.cwd,
                place=self.kit.place,
                recent_files=self._recent_files(),
                exclude_paths=tuple(paths_read(compaction.preserved)),
                allow=lambda path: not looks_secret(Path(path)),  # nobody is asked a second time
                file_token_budget=min(options.file_token_budget, room),
                variable_token_budget=min(options.variable_token_budget, room),
                executor=self.kit.executor if "inspect_variable" in self.kit.tools else None,
                variables=used_variables(session.turns),
            )
        )

    def _recent_files(self) -> tuple[RecentFile, ...]:
        """Return the files read in the place that is worked in: a path of another place is another file here."""
        place, session = self.kit.place, self.kit.session
        if "read_file" not in self.kit.tools:
            return ()
        if place is None or place.info.is_local:
            return select_files_from_session(session, self.kit.cwd)
        return select_files_from_session(session, Path(place.cwd), place=place.info.where)

    def _take_in(self, summary: Turn, restored: PostCompactAttachments, after: int) -> Turn:
        """Append the summary and what is put back, without a pause between them; return the summary's turn.

        When the disk fails at the summary, what belongs behind it is added all the same; the first trouble is raised.
        """
        try:
            mark = self.kit.session.append(summary)
        finally:
            self.changed("the conversation was compacted")
            self.kit.continuity.compaction = self.state().compacted(after)
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

    async def size(self, next_request: NextRequest) -> int:
        """Return the size of the context; a request is built only where nothing was counted."""
        counted = counted_size(self.kit.session.turns, self.kit.continuity.measured)
        return counted if counted is not None else estimated_size(await next_request())

    def window(self, target: ModelTarget) -> int | None:
        """Return a target's window; the one that was set is that of the run's own models."""
        config = self.behavior.compaction
        return window_of(target, config.window if config is not None and target != self.kit.promotion else None)

    def state(self) -> CompactionState:
        """Return the failures and the size after the last compaction, read from the session if need be."""
        state = self.kit.continuity.compaction
        if state is None:
            session = self.kit.session
            state = CompactionState.of(session.turns, session.wire_state.undone)
            self.kit.continuity.compaction = state
        return state

    def changed(self, why: str) -> None:
        """What is sent is not what was sent: the provider will read it anew, and what it counted no longer holds."""
        self.kit.continuity.cache.declare(why)
        self.kit.continuity.measured = None


def _told(summary: Turn, reason: CompactReason, after: int, missing: tuple[str, ...]) -> Turn:
    """Return a summary's turn that tells why it was made, and what is left with what was put back."""
    (block,) = (each for each in summary.blocks if isinstance(each, CompactSummaryBlock))
    metadata = {**block.metadata, "reason": reason, "after": after, "missing": list(missing)}
    return replace(summary, blocks=(replace(block, metadata=metadata),))
