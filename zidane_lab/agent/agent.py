"""Agent: a provider, tools, a conversation and a bus, run turn by turn.

The loop: build the request from the session, stream the answer, store the turn, gate and run its calls,
store their results, repeat until the model stops. Every step is an event; whatever ends a run, the
conversation it leaves is valid.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from zidane_lab.agent.assemble import Assembly, assemble
from zidane_lab.agent.batch import Batch
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.partials import PartialTexts, recover
from zidane_lab.agent.result import RunResult
from zidane_lab.errors import AbortedError, BudgetExceededError, ConfigurationError, SessionError, ZidaneError
from zidane_lab.events import (
    AgentDone,
    AgentStart,
    ContextTransform,
    FinishReason,
    Ids,
    RunStatus,
    SystemTransform,
    TurnAfter,
    TurnBefore,
    UserTurn,
)
from zidane_lab.kernel.execution import Executor
from zidane_lab.providers.base import Provider, Request
from zidane_lab.session.session import Session
from zidane_lab.tools.base import Tool
from zidane_lab.turns import Block, TextBlock, ToolCallBlock, ToolResultBlock, Turn, Usage, new_id
from zidane_lab.wire.build import wire_turns

__all__ = ["Agent", "Prompt"]

Prompt: TypeAlias = str | Sequence[Block]
"""What a person asks: text, or blocks (text, images, documents…)."""


def _blocks(prompt: Prompt) -> tuple[Block, ...]:
    blocks = (TextBlock(prompt),) if isinstance(prompt, str) else tuple(prompt)
    if not any(not isinstance(block, TextBlock) or block.text.strip() for block in blocks):
        raise ConfigurationError("The prompt is empty.", hint="Say what you want done.")
    return blocks


def _said(blocks: tuple[Block, ...]) -> str:
    """Return what the person wrote: the first text; what is attached to it comes after."""
    return next((block.text for block in blocks if isinstance(block, TextBlock)), "")


def _outcome(
    task: asyncio.Task[tuple[RunStatus, FinishReason]],
) -> tuple[RunStatus, FinishReason | None, Exception | None]:
    if task.cancelled():
        return "aborted", None, None
    error = task.exception()
    if error is None:
        return *task.result(), None
    if isinstance(error, AbortedError):
        return "aborted", None, None
    if isinstance(error, Exception):
        return "error", None, error
    raise error


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
        session: Session | None = None,
        executor: Executor | None = None,
        hooks: HookBus | None = None,
        behavior: Behavior | None = None,
        cwd: Path | None = None,
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
        self.system = system
        self.session = session if session is not None else Session.memory()
        self.executor = executor
        self.hooks = hooks if hooks is not None else HookBus()
        if self.session.path is not None:
            self.hooks.use(PartialTexts(self.session))
        self.behavior = behavior if behavior is not None else Behavior()
        self.cwd = cwd if cwd is not None else Path.cwd()
        self.name, self.depth = name, depth
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[tuple[RunStatus, FinishReason]] | None = None
        self._batch: Batch | None = None
        self._steers: deque[tuple[Block, ...]] = deque()
        self._follow_ups: deque[tuple[Block, ...]] = deque()

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
        loop, batch = self._loop, self._batch
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
        if not self.running:
            raise ConfigurationError("Nothing is running to be steered.", hint="Send it as an ordinary prompt.")
        self._steers.append(_blocks(prompt))

    def follow_up(self, prompt: Prompt) -> None:
        """Queue a prompt for when the run would otherwise end; outside a run it waits for the next one."""
        self._follow_ups.append(_blocks(prompt))

    def queued(self) -> tuple[str, ...]:
        """The texts that wait, steering messages first."""
        waiting = (*self._steers, *self._follow_ups)
        return tuple("\n\n".join(b.text for b in blocks if isinstance(b, TextBlock)) for blocks in waiting)

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
            Limits of this run; the agent's own if left out.

        Raises
        ------
        BudgetExceededError
            ``max_turns`` or ``max_cost`` was reached.
        ProviderError
            The model's service failed; the subclass tells the cause.
        ConfigurationError
            A run is already under way, or the prompt is empty.

        Notes
        -----
        An error carries the outcome so far as its ``result`` attribute. Cancelling the awaiting task stops
        the run as :meth:`abort` does and then re-raises.
        """
        if self.running:
            raise ConfigurationError("This agent is already running.", hint="Use steer() or follow_up(), or wait.")
        blocks = _blocks(prompt)
        limits = behavior if behavior is not None else self.behavior
        metered = self.provider.capabilities.metered
        if limits.max_cost is not None and metered and not self.provider.price_known(self.model):
            raise self._no_price(limits.max_cost)
        recover(self.session)
        run_id = self.session.start_run(_said(blocks), model=self.model_name).id
        ids = Ids(run_id, depth=self.depth, agent_name=self.name)
        first, started = len(self.session.turns), time.monotonic()
        self._loop = asyncio.get_running_loop()
        task = self._task = asyncio.ensure_future(self._drive(blocks, ids, limits))
        cancelled = False
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
            task.cancel()
            await asyncio.wait({task})
        finally:
            self._task = self._loop = self._batch = None
        status, finish, failure = _outcome(task)
        if status == "aborted":
            self._steers.clear()  # said to a run that is no more
        turns = self.session.turns[first:]
        usage = sum((turn.usage for turn in turns if turn.usage), Usage())
        seconds = time.monotonic() - started
        result = RunResult(run_id, status, finish, self.model_name, turns, usage, seconds, self.session.path)
        error = str(failure) if failure is not None else None
        try:
            self.session.end_run(run_id, status, finish=finish, usage=usage, seconds=seconds, error=error)
        except SessionError as trouble:
            failure = failure if failure is not None else trouble
            error = str(failure)
        answers = sum(turn.role == "assistant" for turn in turns)
        code = getattr(failure, "code", "internal") if failure is not None else None
        await self.hooks.emit(AgentDone(ids, status, finish, usage, answers, seconds, error, code))
        if cancelled:
            raise asyncio.CancelledError
        if failure is not None:
            failure.result = result  # type: ignore[attr-defined]  # documented above
            raise failure
        return result

    async def _drive(self, blocks: tuple[Block, ...], ids: Ids, limits: Behavior) -> tuple[RunStatus, FinishReason]:
        await self.hooks.emit(AgentStart(ids, _said(blocks), self.model_name))
        system = SystemTransform(ids, self.system)
        await self.hooks.emit(system)
        await self._say(blocks, ids, "prompt")
        spent = Usage()
        index = 0
        while True:
            if limits.max_turns is not None and index >= limits.max_turns:
                raise BudgetExceededError("turns", limits.max_turns, index)
            turn, finish = await self._turn(system.system, ids, limits, index)
            index += 1
            spent = spent + (turn.usage or Usage())
            calls = turn.tool_calls
            more = bool(calls or self._steers or self._follow_ups)
            stop = self._over_budget(limits, spent) if more else None
            if stop is not None:
                refusal = (TextBlock(f"Not run: {stop.message}"),)
                if calls:
                    refused = tuple(ToolResultBlock(call.id, refusal, is_error=True) for call in calls)
                    self.session.append(Turn("user", refused, run_id=ids.run_id))
                raise stop
            if calls:
                await self._call(calls, ids, limits)
            if self._steers:
                await self._say(self._steers.popleft(), ids, "steer")
            elif not calls:
                if not self._follow_ups:
                    return "completed", finish
                await self._say(self._follow_ups.popleft(), ids, "follow-up")

    async def _say(
        self, blocks: tuple[Block, ...], ids: Ids, how: Literal["prompt", "steer", "follow-up", "injected"]
    ) -> None:
        turn = self.session.append(Turn("user", blocks, run_id=ids.run_id))
        await self.hooks.emit(UserTurn(replace(ids, turn_id=turn.id), turn, how))

    async def _turn(self, system: str, ids: Ids, limits: Behavior, index: int) -> tuple[Turn, FinishReason]:
        """Ask the model once and store its turn; after a failure or a stop, store the text that was shown."""
        turn_id = new_id("turn")
        ids = replace(ids, turn_id=turn_id)
        await self.hooks.emit(TurnBefore(ids, index))
        context = ContextTransform(ids, wire_turns(self.session.turns))
        await self.hooks.emit(context)
        request = Request(
            self.model,
            system,
            context.turns,
            tuple(tool.spec for tool in self.tools.values()),
            limits.max_tokens,
            limits.thinking,
        )
        assembly = Assembly(self.provider.name)
        try:
            await assemble(self.provider.stream(request), assembly, self.hooks.emit, ids)
        except BaseException:
            shown = tuple(block for block in assembly.blocks() if isinstance(block, TextBlock))
            if shown:
                self.session.append(self._assistant(turn_id, shown, assembly.usage, ids))
            raise
        finish = assembly.finish or "other"
        turn = self.session.append(self._assistant(turn_id, assembly.blocks(), assembly.usage, ids))
        await self.hooks.emit(TurnAfter(ids, index, turn, finish))
        return turn, finish

    async def _call(self, calls: tuple[ToolCallBlock, ...], ids: Ids, limits: Behavior) -> None:
        """Run a batch and store its results; when stopped, store them all the same."""
        ids = replace(ids, turn_id=self.session.turns[-1].id)
        batch = Batch(
            self.tools,
            self.hooks,
            limits,
            ids,
            self.cwd,
            self.executor,
            self.session,
            superseded=lambda: bool(self._steers),
        )
        self._batch = batch
        try:
            results = await batch.run(calls)
        except BaseException:
            self.session.append(Turn("user", batch.results_after_stop(calls), run_id=ids.run_id))
            raise
        finally:
            self._batch = None
        self.session.append(Turn("user", results, run_id=ids.run_id))
        if batch.abort_requested:
            raise AbortedError("A tool asked to stop the run.")

    def _assistant(self, turn_id: str, blocks: tuple[Block, ...], usage: Usage | None, ids: Ids) -> Turn:
        return Turn("assistant", blocks, id=turn_id, run_id=ids.run_id, usage=usage, model=self.model_name)

    def _no_price(self, limit: float) -> ConfigurationError:
        return ConfigurationError(
            f"The price of {self.model_name} is not known, so a limit of ${limit:g} cannot be kept.",
            hint="Use a limit on turns instead, or a model whose price is known.",
        )

    def _over_budget(self, limits: Behavior, spent: Usage) -> ZidaneError | None:
        if limits.max_cost is None or not self.provider.capabilities.metered:
            return None
        if spent.cost is None:
            return self._no_price(limits.max_cost)
        return BudgetExceededError("cost", limits.max_cost, spent.cost) if spent.cost >= limits.max_cost else None
