"""Agent: a provider, tools, a conversation and a bus, run turn by turn.

The loop: build the request from the session, stream the answer, store the turn, gate and run its calls,
store their results, repeat until the model stops. Every step is an event; whatever ends a run, the
conversation it leaves is valid.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.budgets import Spent, spent_in
from zidane_lab.agent.call_journal import CallJournal
from zidane_lab.agent.calling import Caller
from zidane_lab.agent.context_size import measured_in
from zidane_lab.agent.guards.local_reliability import with_defaults
from zidane_lab.agent.guards.settings import guards_for
from zidane_lab.agent.guards.tool_state import SessionToolState, ToolStateController
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.inbox import Inbox, Prompt, prompt_blocks, said
from zidane_lab.agent.kit import Continuity, Kit
from zidane_lab.agent.ledger import BudgetLedger
from zidane_lab.agent.loop import Run, outcome
from zidane_lab.agent.partials import PartialTexts, recover
from zidane_lab.agent.result import RunResult
from zidane_lab.agent.resuming import resume_calls
from zidane_lab.compaction.scope import KEEP_TURNS, Scope, parse_scope
from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import AbortedError, ConfigurationError, SessionError
from zidane_lab.events import AgentDone, CompactEnd, Ids, SystemTransform
from zidane_lab.kernel.execution import Executor
from zidane_lab.providers.base import Provider
from zidane_lab.providers.targets import ModelTarget, target_named
from zidane_lab.session.interactions import Interact
from zidane_lab.session.session import Session
from zidane_lab.tools.base import Tool
from zidane_lab.turns import Block, Turn
from zidane_lab.wire.cutoff import active_markers
from zidane_lab.wire.state import COMPACT_UNDO

__all__ = ["Agent", "Prompt"]


class Agent:
    """An agent over one conversation.

    Parameters
    ----------
    provider
        Where answers come from, or the name of one (``"anthropic"``, ``"openai/gpt-5"``, ``"offline"``).
    model
        The provider's own name of the model; its default model if left out.
    tools
        What the model may call.
    system
        The system prompt. Keep it the same bytes from run to run: providers cache it.
    system_boundary
        Length of the part of it that is the same from day to day and place to place; ``None`` when all of it is.
    session
        The conversation; a new one in memory if left out.
    executor
        The kernel that ``run_python`` and the variable tools work on.
    hooks
        The bus; a new one if left out.
    behavior
        Limits and policies.
    cwd
        Folder that relative paths start from.
    fallbacks
        Models that take over, in order, when the one before has failed for good.
    summarizer
        Who writes summaries; the model that answers if left out.
    promotion
        A model with a larger window that takes over before anything is summarised.
    continuity
        What an earlier agent of the same conversation hands on; a new one if left out.
    notebook_spent
        What all sessions of the notebook have spent, for limits on the notebook.
    place
        Where files and commands live; this machine, from ``cwd``, if left out.
    interact
        How tools ask the person; nobody can be asked if left out.
    journal
        Keeps how far batches of calls come, for :meth:`resume_calls`; it must be on the bus.
    name, depth
        For events of agents within agents.

    Notes
    -----
    ``abort``, ``cancel_tool``, ``steer`` and ``follow_up`` may be called from any thread.
    """

    def __init__(
        self,
        provider: Provider | str,
        *,
        model: str | None = None,
        tools: Iterable[Tool] = (),
        system: str = "",
        system_boundary: int | None = None,
        session: Session | None = None,
        executor: Executor | None = None,
        hooks: HookBus | None = None,
        behavior: Behavior | None = None,
        cwd: Path | None = None,
        fallbacks: Iterable[ModelTarget] = (),
        summarizer: ModelTarget | None = None,
        promotion: ModelTarget | None = None,
        continuity: Continuity | None = None,
        notebook_spent: Callable[[], Spent] | None = None,
        place: ExecutionContext | None = None,
        interact: Interact | None = None,
        journal: CallJournal | None = None,
        name: str = "zidane",
        depth: int = 0,
    ) -> None:
        if isinstance(provider, str):
            from zidane_lab.providers.registry import create_provider, split_model

            provider_name, named = split_model(provider)
            provider, model = create_provider(provider_name), model or named
        self.provider: Provider = provider
        self.model = model or provider.default_model
        self.tools = {tool.name: tool for tool in tools}
        self.system, self.system_boundary = system, system_boundary
        self.session = session if session is not None else Session.memory()
        self.executor = executor
        self.hooks = hooks if hooks is not None else HookBus()
        if self.session.path is not None:
            self.hooks.use(PartialTexts(self.session))
        self.tool_state = ToolStateController(SessionToolState(self.session))
        self.hooks.use(self.tool_state)
        self.behavior = behavior if behavior is not None else Behavior()
        self.cwd = cwd if cwd is not None else Path.cwd()
        if self.behavior.guards is not None:
            for guard in guards_for(self.behavior.guards, self.session, cwd=self.cwd):
                self.hooks.use(guard)
        if self.behavior.read_file_defaults and "read_file" in self.tools:
            self.tools["read_file"] = with_defaults(self.tools["read_file"], self.behavior.read_file_defaults)
        self.name, self.depth = name, depth
        self.fallbacks = tuple(fallbacks)
        config = self.behavior.compaction
        if summarizer is None and config is not None and config.model is not None:
            summarizer = target_named(config.model)
        self.summarizer, self.promotion = summarizer, promotion
        self.continuity = continuity if continuity is not None else Continuity()
        if self.continuity.measured is None:
            self.continuity.measured = measured_in(self.session.turns, self.session.wire_state)
        self.notebook_spent, self.place = notebook_spent, place
        self.interact, self.journal = interact, journal
        self.ledger: BudgetLedger | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Future[Any] | None = None
        self._run: Run | None = None
        self._inbox = Inbox()

    @property
    def model_name(self) -> str:
        """The full name of the model in use: ``provider/model``."""
        return f"{self.provider.name}/{self.model}"

    @property
    def running(self) -> bool:
        """Whether a run is under way."""
        return self._task is not None

    # --- what a person may do while it runs ---------------------------------------------------------

    def abort(self) -> bool:
        """Stop the run: close the stream, stop the tools, keep what is done. ``False`` when none is on."""
        loop, task = self._loop, self._task
        if loop is None or task is None:
            return False
        loop.call_soon_threadsafe(task.cancel)
        return True

    def cancel_tool(self, call_id: str) -> bool:
        """Cancel one call, running or waiting; the rest of its batch goes on. ``False`` when there is none such."""
        loop, batch = self._loop, self._run.batch if self._run is not None else None
        if loop is None or batch is None or not batch.can_cancel(call_id):
            return False
        loop.call_soon_threadsafe(batch.cancel, call_id)
        return True

    def steer(self, prompt: Prompt) -> None:
        """Say something to the running agent: calls not yet started are skipped, the model answers this next.

        Raises
        ------
        ConfigurationError
            Nothing is running, or the prompt is empty.
        """
        task = self._task
        if self._run is None or task is None or task.done():  # one that has ended hears nothing any more
            raise ConfigurationError("Nothing is running to be steered.", hint="Send it as an ordinary prompt.")
        self._inbox.steers.append(self._said(prompt))

    def follow_up(self, prompt: Prompt) -> None:
        """Queue a prompt for when the run would otherwise end; outside a run it waits for the next one."""
        self._inbox.follow_ups.append(self._said(prompt))

    def _said(self, prompt: Prompt) -> tuple[Block, ...]:
        """Return the blocks of a prompt; a credential in it is for tools, not for the model."""
        blocks, screen = prompt_blocks(prompt), self.session.screen
        return blocks if screen is None else screen.blocks(blocks)

    def queued(self) -> tuple[str, ...]:
        """The texts that wait, steering messages first."""
        return self._inbox.texts()

    async def aclose(self) -> None:
        """Release the provider's connections and the session's lock; the agent may not be used afterwards."""
        await self.provider.aclose()
        self.session.close()

    # --- the run ------------------------------------------------------------------------------------

    async def run(self, prompt: Prompt, *, behavior: Behavior | None = None) -> RunResult:
        """Answer ``prompt``, using tools as needed, until the model stops.

        Parameters
        ----------
        prompt
            Text or blocks.
        behavior
            Limits and policies of this run; the agent's own if left out.

        Raises
        ------
        BudgetExceededError
            A limit was reached and nobody extended it.
        ProviderError
            The models' services failed; the subclass tells the cause.
        LengthResumeExhaustedError
            The model kept reaching its output limit with nothing to show.
        ConfigurationError
            A run is already under way, the prompt is empty, or a limit on money cannot be kept.

        Notes
        -----
        An error carries the outcome so far as its ``result`` attribute. Cancelling the awaiting task stops
        the run as :meth:`abort` does and then re-raises.
        """
        self._must_be_idle()
        blocks = self._said(prompt)
        behavior = behavior if behavior is not None else self.behavior
        ledger = self._new_ledger(behavior)
        recover(self.session)
        run_id = self.session.start_run(said(blocks), model=self.model_name).id
        ids = Ids(run_id, depth=self.depth, agent_name=self.name)
        first, started = len(self.session.turns), time.monotonic()
        run = self._run = Run(self._kit(), self._inbox, behavior, ids, ledger=ledger, system=self.system)
        self.ledger = ledger
        task = asyncio.ensure_future(run.drive(blocks))
        try:
            cancelled = await self._wait(task)
        finally:
            self._run = self.ledger = None
        status, finish, failure = outcome(task)
        unread: tuple[str, ...] = ()
        if status != "completed":  # said to a run that is no more
            unread = self._inbox.texts()
            self._inbox.steers.clear()
            self._inbox.follow_ups.clear()
        if failure is not None and self.session.screen is not None:
            self.session.screen.error(failure)
        turns = self.session.turns[first:]
        usage = ledger.spent().usage
        seconds = time.monotonic() - started
        model = run.caller.target.name
        error = str(failure) if failure is not None else None
        why = error or "" if status == "aborted" else ""
        result = RunResult(run_id, status, finish, model, turns, usage, seconds, self.session.path, why)
        try:
            self.session.end_run(run_id, status, finish=finish, usage=usage, seconds=seconds, error=error)
        except SessionError as trouble:
            failure = failure if failure is not None else trouble
            error = str(failure)
        answers = sum(turn.role == "assistant" and turn.injected is None for turn in turns)
        code = getattr(failure, "code", "internal") if failure is not None else None
        await self.hooks.emit(AgentDone(ids, status, finish, usage, answers, seconds, error, code, unread))
        if cancelled:
            raise asyncio.CancelledError
        if failure is not None and status == "error":
            failure.result = result  # type: ignore[attr-defined]  # documented above
            raise failure
        return result

    async def resume_calls(self) -> Turn | None:
        """Answer the calls that a process which died has left open: what the person allowed since then runs.

        Returns
        -------
        Turn or None
            The turn of results; ``None`` when no call is open.

        Raises
        ------
        AbortedError
            It was stopped; every call has a result all the same.
        ConfigurationError
            A run is under way.
        SessionError
            The results could not be written.
        """
        self._must_be_idle()
        ids = Ids(depth=self.depth, agent_name=self.name)
        task = asyncio.ensure_future(resume_calls(self._kit(), self.behavior, ids=ids))
        if await self._wait(task):
            raise asyncio.CancelledError
        if task.cancelled():
            raise AbortedError("The calls that were left open were stopped.")
        return task.result()

    async def compact(self, scope: Scope | str = "tail", *, instructions: str = "") -> CompactEnd:
        """Summarise part of the conversation now, between runs.

        Parameters
        ----------
        scope
            Which part: ``"tail"`` (all but the last few turns), ``"tail 6"``, ``"full"``, ``"from <turn id>"`` or
            ``"up_to <turn id>"``.
        instructions
            What the summary should pay attention to.

        Returns
        -------
        CompactEnd
            What was done. The turns stay in the session; :meth:`undo_compaction` takes it back.

        Raises
        ------
        CompactInvalidInputError
            There is nothing to summarise, or the scope says no part of this conversation.
        AbortedError
            It was stopped; nothing was changed.
        CompactionError, ProviderError, OperationTimeoutError
            It failed; nothing was changed.
        SessionError
            The summary could not be written to the disk; it holds all the same.
        ConfigurationError
            A run is under way.
        """
        self._must_be_idle()
        if self.session.screen is not None:
            instructions = self.session.screen.text(instructions)
        if isinstance(scope, str):
            keep = self.behavior.compaction.keep_turns if self.behavior.compaction is not None else KEEP_TURNS
            scope = parse_scope(scope, keep_turns=keep)
        last = self.session.runs[-1].id if self.session.runs else ""
        ids = Ids(last, depth=self.depth, agent_name=self.name)
        kit = self._kit()
        caller = Caller(kit, self.behavior, ids, self._new_ledger(self.behavior), self.system)

        async def work(scope: Scope) -> CompactEnd:
            system = SystemTransform(ids, self.system)
            await self.hooks.emit(system)
            caller.use_system(system.system)
            return await caller.room.compactor.compact(
                "manual", caller.target, lambda: caller.request(0), scope, instructions=instructions
            )

        task = asyncio.ensure_future(work(scope))
        if await self._wait(task):
            raise asyncio.CancelledError
        if task.cancelled():
            raise AbortedError("The compaction was stopped.")
        return task.result()

    def undo_compaction(self, turn_id: str | None = None) -> str:
        """Let a summary no longer stand for the turns it was made of: they are sent again, word for word.

        Parameters
        ----------
        turn_id
            The summary's turn; the newest that counts if left out.

        Returns
        -------
        str
            The id of the summary's turn.

        Raises
        ------
        ConfigurationError
            There is no such summary, or a run is under way.
        SessionError
            It could not be written to the disk; it holds all the same.
        """
        self._must_be_idle()
        marks = [turn.id for turn in active_markers(self.session.turns, self.session.wire_state.undone)]
        if not marks or (turn_id is not None and turn_id not in marks):
            raise ConfigurationError(
                "There is no compaction to undo." if turn_id is None else f"{turn_id} is no summary that counts now.",
                hint="A summary that a newer one has taken in counts again once the newer one is undone.",
            )
        chosen = turn_id or marks[-1]
        try:
            self.session.record(COMPACT_UNDO, {"turn": chosen, "after": self.session.turns[-1].id})
        finally:  # it holds in memory also when the disk fails
            self.continuity.cache.declare("a compaction was undone")
            self.continuity.measured = self.continuity.compaction = None
            self.session.unlighten()
        return chosen

    # --- small things -------------------------------------------------------------------------------

    async def _wait(self, task: asyncio.Future[Any]) -> bool:
        """Wait for the end of ``task``, which :meth:`abort` may cut short; tell whether the caller was cancelled."""
        self._loop, self._task = asyncio.get_running_loop(), task
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            return True
        finally:
            self._task = self._loop = None
        return False

    def _must_be_idle(self) -> None:
        if self.running:
            raise ConfigurationError("This agent is already running.", hint="Use steer() or follow_up(), or wait.")

    def _new_ledger(self, behavior: Behavior) -> BudgetLedger:
        ledger = BudgetLedger(behavior.limits, session=spent_in(self.session), notebook=self.notebook_spent)
        targets = self._targets
        first = targets[self.continuity.fallback.first(targets)]
        for target in (first, self.summarizer, self.promotion):
            if target is not None:
                ledger.require_price(target.provider, target.model)
        return ledger

    @property
    def _targets(self) -> tuple[ModelTarget, ...]:
        return ModelTarget(self.provider, self.model), *self.fallbacks

    def _kit(self) -> Kit:
        return Kit(
            self.session,
            self.hooks,
            self.tools,
            self.executor,
            self.cwd,
            self._targets,
            self.continuity,
            self.summarizer,
            self.promotion,
            self.system_boundary,
            self.tool_state,
            self.place,
            self.interact,
            self.journal,
        )
