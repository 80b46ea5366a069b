"""The loop of one run: ask the model, run its calls, ask again, until it stops.

Whatever ends it, the conversation it leaves is valid: every call has its result.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Literal

from zidane_lab.agent.batch import Batch
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.calling import Caller
from zidane_lab.agent.inbox import Inbox, said
from zidane_lab.agent.kit import Kit
from zidane_lab.agent.ledger import SPENDABLE, BudgetLedger, check
from zidane_lab.agent.resume import Resumes
from zidane_lab.errors import AbortedError, ZidaneError
from zidane_lab.events import (
    AgentStart,
    FinishReason,
    Ids,
    Injection,
    RunStatus,
    SystemTransform,
    TurnBoundary,
    UserTurn,
)
from zidane_lab.turns import Block, InjectedReason, TextBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.markers import INTERRUPTED

__all__ = ["Run", "outcome"]


class Run:
    """One run.

    Parameters
    ----------
    kit
        What it works with.
    inbox
        What the person says meanwhile.
    behavior
        Its limits and policies.
    ids
        Of its events.
    ledger
        What it may spend.
    system
        The system prompt.
    """

    def __init__(
        self, kit: Kit, inbox: Inbox, behavior: Behavior, ids: Ids, *, ledger: BudgetLedger, system: str
    ) -> None:
        self._kit, self._inbox, self._behavior, self._ids = kit, inbox, behavior, ids
        self._ledger = ledger
        self._resumes = Resumes(behavior.resume)
        self.caller = Caller(kit, behavior, ids, ledger, system)
        self.batch: Batch | None = None

    async def drive(self, blocks: tuple[Block, ...]) -> tuple[RunStatus, FinishReason]:
        """Answer a prompt.

        Raises
        ------
        BudgetExceededError
            A limit was reached and not extended.
        LengthResumeExhaustedError
            The model kept reaching its output limit with nothing to show.
        ProviderError
            No model of the chain could answer.
        """
        try:
            return await self._go(blocks)
        except BaseException:
            self._kit.session.close_calls(INTERRUPTED)  # those that a stop between two steps left open
            raise

    async def _go(self, blocks: tuple[Block, ...]) -> tuple[RunStatus, FinishReason]:
        emit = self._kit.hooks.emit
        await emit(AgentStart(self._ids, said(blocks), self.caller.target.name))
        system = SystemTransform(self._ids, self.caller.system)
        await emit(system)
        self.caller.use_system(system.system)
        await self._say(blocks, "prompt")
        index = 0
        while True:
            await check(self._ledger, emit, self._ids)
            turn, finish = await self.caller.ask(index)
            results = await self._answer_calls(turn) if turn.tool_calls else None
            injections = await self._boundary(index, turn, finish, results)
            index += 1
            for injection in injections:
                await self._say((TextBlock(injection.text),), "injected", injection.reason)
            if self._inbox.steers:
                await self._say(self._inbox.steers.popleft(), "steer")
            elif not turn.tool_calls and not injections:
                if not self._inbox.follow_ups:
                    return "completed", finish
                await self._say(self._inbox.follow_ups.popleft(), "follow-up")

    async def _boundary(
        self, index: int, turn: Turn, finish: FinishReason, results: Turn | None
    ) -> tuple[Injection, ...]:
        """Ask what the model should be told before it is asked again; a steering message comes before all that."""
        resumed = self._resumes.after(turn, finish)
        ids = replace(self._ids, turn_id=turn.id)
        boundary = TurnBoundary(ids, index, turn, finish, results, [resumed] if resumed is not None else [])
        await self._kit.hooks.emit(boundary)
        return () if self._inbox.steers else tuple(boundary.inject)

    async def _say(
        self,
        blocks: tuple[Block, ...],
        how: Literal["prompt", "steer", "follow-up", "injected"],
        reason: InjectedReason | None = None,
    ) -> None:
        turn = self._kit.session.append(Turn("user", blocks, run_id=self._ids.run_id, injected=reason))
        await self._kit.hooks.emit(UserTurn(replace(self._ids, turn_id=turn.id), turn, how))

    async def _answer_calls(self, turn: Turn) -> Turn:
        """Run the calls of an answer, unless a budget is used up: then each is told so and the run ends."""
        calls = turn.tool_calls
        try:
            await check(self._ledger, self._kit.hooks.emit, self._ids, kinds=SPENDABLE)
        except ZidaneError as stop:
            refusal = (TextBlock(f"Not run: {stop.message}"),)
            self._append_results(tuple(ToolResultBlock(call.id, refusal, is_error=True) for call in calls))
            raise
        return await self._run_batch(calls, replace(self._ids, turn_id=turn.id))

    async def _run_batch(self, calls: tuple[ToolCallBlock, ...], ids: Ids) -> Turn:
        """Run a batch and store its results; when stopped, store them all the same."""
        kit = self._kit
        batch = self.batch = Batch(
            kit.tools,
            kit.hooks,
            self._behavior,
            ids,
            kit.cwd,
            kit.executor,
            kit.session,
            superseded=lambda: bool(self._inbox.steers),
            waiting=self._ledger.paused,
            tool_state=kit.tool_state,
            place=kit.place,
            interact=kit.interact,
            journal=kit.journal,
        )
        try:
            results = await batch.run(calls)
        except BaseException:
            self._append_results(batch.results_after_stop(calls))
            raise
        finally:
            self.batch = None
        stored = self._append_results(results)
        if batch.abort_requested:
            raise AbortedError("A tool asked to stop the run.")
        return stored

    def _append_results(self, results: tuple[ToolResultBlock, ...]) -> Turn:
        return self._kit.session.append(Turn("user", results, run_id=self._ids.run_id))


def outcome(
    task: asyncio.Task[tuple[RunStatus, FinishReason]],
) -> tuple[RunStatus, FinishReason | None, Exception | None]:
    """Say how a run that is over ended: its status, why the model stopped, and what went wrong."""
    if task.cancelled():
        return "aborted", None, None
    error = task.exception()
    if error is None:
        return *task.result(), None
    if isinstance(error, AbortedError):  # by a tool or a guard, which says why
        return "aborted", None, error
    if isinstance(error, Exception):
        return "error", None, error
    raise error
