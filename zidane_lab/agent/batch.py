"""One batch: the tool calls of one assistant turn, gated, run, and each answered by exactly one result.

Neighbouring ``shared`` calls may overlap, an ``exclusive`` one runs alone, results keep the calls' order.
Whatever happens (a raising tool, a refusal, a stop, a steering message), every call gets a result, so the
conversation stays valid.
"""

from __future__ import annotations

import asyncio
import difflib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.call_journal import CallJournal
from zidane_lab.agent.guards.gate_resume import settle
from zidane_lab.agent.guards.tool_state import ToolStateController
from zidane_lab.agent.hooks import HookBus
from zidane_lab.compaction.stale_reads import WRITTEN
from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import AbortedError, ToolInputError, ZidaneError
from zidane_lab.events import Ids, ToolAfter, ToolBefore, ToolErrored, ToolGate, ToolProgress, ToolTransform
from zidane_lab.kernel.execution import Executor
from zidane_lab.session.interactions import Interact, Interaction, InteractionAnswer
from zidane_lab.session.read_state import PLACE, READ
from zidane_lab.tools.base import OutputStore, Tool, ToolContext
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock
from zidane_lab.wire.markers import CANCELLED, CASCADED, INTERRUPTED, SUPERSEDED

__all__ = ["Batch"]

_OF_A_PLACE: Final = frozenset({READ, WRITTEN, "edit", "shell"})
"""Keys of metadata that speak of files and commands."""
_LOOKERS: Final = frozenset({"list_files", "glob", "grep", "ast_grep"})
"""Tools that speak of them without such metadata."""

Outcome: TypeAlias = Literal["ok", "error", "blocked", "skipped", "cancelled", "interrupted"]


def _error(call_id: str, text: str) -> ToolResultBlock:
    return ToolResultBlock(call_id, (TextBlock(text),), is_error=True)


@dataclass(slots=True)
class Batch:
    """Runs the calls of one turn.

    ``superseded`` is asked before each call starts; once it says yes, the rest is skipped. ``waiting`` is entered
    while a call is at the gate, or its tool asks, where a person may take their time. ``interact`` is how tools ask.
    ``gate`` makes the event a call passes the gate with; the ``journal`` is told when it has passed and starts.
    """

    tools: Mapping[str, Tool]
    hooks: HookBus
    behavior: Behavior
    ids: Ids
    cwd: Path
    executor: Executor | None = None
    outputs: OutputStore | None = None
    superseded: Callable[[], bool] = lambda: False
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    tool_state: ToolStateController | None = None
    place: ExecutionContext | None = None
    interact: Interact | None = None
    gate: Callable[[Ids, str, dict[str, Any]], ToolGate] = ToolGate
    journal: CallJournal | None = None
    abort_requested: bool = False
    _running: dict[str, asyncio.Task[ToolResultBlock]] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _cancelled: set[str] = field(default_factory=set)
    _cascaded: set[str] = field(default_factory=set)
    _cascading: bool = False
    _results: dict[str, ToolResultBlock] = field(default_factory=dict)

    def can_cancel(self, call_id: str) -> bool:
        """Whether a call is one of this batch and has not ended."""
        return call_id in self._known and call_id not in self._results

    def cancel(self, call_id: str) -> None:
        """Cancel one call, running or still waiting."""
        if self.can_cancel(call_id):
            self._cancelled.add(call_id)
            task = self._running.get(call_id)
            if task is not None:
                task.cancel()

    async def run(self, calls: Sequence[ToolCallBlock]) -> tuple[ToolResultBlock, ...]:
        """Answer every call, in order."""
        self._known.update(call.id for call in calls)
        for group in self._groups(calls):
            if len(group) == 1:
                await self._answer(group[0])
                continue
            async with asyncio.TaskGroup() as tasks:
                for call in group:
                    tasks.create_task(self._answer(call))
        return tuple(self._results[call.id] for call in calls)

    def results_after_stop(self, calls: Sequence[ToolCallBlock]) -> tuple[ToolResultBlock, ...]:
        """Return a result for every call after the run was stopped: the real one where there is one."""
        return tuple(self._results.get(call.id) or _error(call.id, INTERRUPTED) for call in calls)

    def _groups(self, calls: Sequence[ToolCallBlock]) -> list[list[ToolCallBlock]]:
        groups: list[list[ToolCallBlock]] = []
        open_group = False
        for call in calls:
            tool = self.tools.get(call.name)
            shared = (
                self.behavior.tool_execution == "parallel"
                and tool is not None
                and call.raw is None
                and tool.concurrency_of(call.input) == "shared"
            )
            if shared and open_group:
                groups[-1].append(call)
            else:
                groups.append([call])
            open_group = shared
        return groups

    async def _answer(self, call: ToolCallBlock) -> None:
        ids = replace(self.ids, call_id=call.id)
        started = time.monotonic()
        arguments: Mapping[str, Any] = call.input
        outcome: Outcome
        unstarted = self._unstarted(call.id)
        if unstarted is not None:
            result, outcome = unstarted
        else:
            result, outcome, arguments = await self._attempt(call, ids)
        transform = ToolTransform(ids, call.name, result)
        await self.hooks.emit(transform)
        self._results[call.id] = replace(transform.result, call_id=call.id)
        seconds = time.monotonic() - started
        await self.hooks.emit(ToolAfter(ids, call.name, arguments, self._results[call.id], outcome, seconds))
        if result.is_error and outcome == "error" and call.name in self.behavior.cascade_tools:
            self._cascade(call.id)

    def _unstarted(self, call_id: str) -> tuple[ToolResultBlock, Outcome] | None:
        """Return the answer to a call that must not start any more; asked before the gate and after it."""
        if call_id in self._cancelled:
            return _error(call_id, CANCELLED), "cancelled"
        if self._cascading:
            return _error(call_id, CASCADED), "cancelled"
        if self.superseded():
            return _error(call_id, SUPERSEDED), "skipped"
        return None

    def _cascade(self, failed: str) -> None:
        self._cascading = True
        for call_id, task in self._running.items():
            if call_id != failed and task.cancel():
                self._cascaded.add(call_id)

    async def _attempt(self, call: ToolCallBlock, ids: Ids) -> tuple[ToolResultBlock, Outcome, Mapping[str, Any]]:
        prepared = self._prepare(call)
        if isinstance(prepared, str):
            return _error(call.id, prepared), "error", call.input
        tool, arguments = prepared
        gate = await self._gated(ids, call, arguments)
        if gate.block is not None:
            return _error(call.id, f"Blocked: {gate.block}"), "blocked", gate.input
        unstarted = self._unstarted(call.id)  # a person may have taken their time over the gate's question
        if unstarted is not None:
            return *unstarted, gate.input
        if gate.result is not None:
            return replace(gate.result, call_id=call.id), "ok", gate.input

        if self.journal is not None:
            self.journal.passed(gate)
        await self.hooks.emit(ToolBefore(ids, call.name, gate.input))
        task = asyncio.ensure_future(self._body(tool, gate.input, ids))
        self._running[call.id] = task
        try:
            # Not a plain `await task`: a stop must not reach the tool before we can wait for its end.
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            cut = ToolTransform(ids, call.name, _cut(task, call.id, INTERRUPTED))
            self._results[call.id] = cut.result  # should a second stop come
            await self.hooks.emit(cut)  # what it had brought until then is handled like any other result
            self._results[call.id] = result = replace(cut.result, call_id=call.id)
            await self.hooks.emit(ToolAfter(ids, call.name, gate.input, result, "interrupted", 0.0))
            raise
        finally:
            self._running.pop(call.id, None)
        if call.id in self._cancelled:
            return _cut(task, call.id, CANCELLED), "cancelled", gate.input
        if call.id in self._cascaded:
            return _cut(task, call.id, CASCADED), "cancelled", gate.input
        if task.cancelled():
            return _error(call.id, INTERRUPTED), "interrupted", gate.input
        result = replace(task.result(), call_id=call.id)
        return result, "error" if result.is_error else "ok", gate.input

    async def _gated(self, ids: Ids, call: ToolCallBlock, arguments: dict[str, Any]) -> ToolGate:
        """Put a call to the gate; where the gate itself fails, it stays shut."""
        gate = self.gate(ids, call.name, arguments)
        with self.waiting():
            failures = await self.hooks.emit(gate)
        settle(gate, runs_again=True)
        if failures and gate.block is None:
            gate.block = f"the permission check itself failed ({failures[0].error}), so the call was refused."
        return gate

    def _prepare(self, call: ToolCallBlock) -> tuple[Tool, dict[str, Any]] | str:
        """Find the tool and check the arguments; a text says what is wrong, for the model."""
        tool = self.tools.get(call.name)
        if tool is None:
            near = difflib.get_close_matches(call.name, self.tools, n=3)
            known = f"Available: {', '.join(sorted(self.tools)) or 'none'}."
            hint = f"Did you mean {' or '.join(near)}?" if near else known
            return f"There is no tool named {call.name!r}. {hint}"
        if call.raw is not None:
            return (
                "The arguments are not a JSON object; the tool has not run. Send them again, complete and well formed."
            )
        try:
            return tool, dict(tool.validate(call.input))
        except ToolInputError as error:
            return str(error)

    async def _body(self, tool: Tool, arguments: Mapping[str, Any], ids: Ids) -> ToolResultBlock:
        loop = asyncio.get_running_loop()

        def progress(stream: str, text: str) -> None:
            event = ToolProgress(ids, tool.name, stream, text)  # type: ignore[arg-type]  # tools pass the literals
            asyncio.run_coroutine_threadsafe(self.hooks.emit(event), loop)

        state = self.tool_state.view(tool.name, ids.call_id or "") if self.tool_state is not None else None
        place, interact = self.place, self._interact()
        context = ToolContext(ids, self.cwd, self.executor, self.outputs, progress, state, place, interact)
        try:
            output = await tool.run(context, arguments)
        except AbortedError:
            self.abort_requested = True
            return _error("", INTERRUPTED)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a raising tool is an error result, whatever it raises
            text = str(error) if isinstance(error, ZidaneError) else f"{type(error).__name__}: {error}"
            await self.hooks.emit(ToolErrored(ids, tool.name, text))
            return _error("", text)
        parts = output.parts or (TextBlock("(no output)"),)
        return ToolResultBlock("", parts, output.is_error, self._placed(tool.name, output.metadata))

    def _placed(self, tool: str, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
        """Say of files and commands in another place where they are: the same path here is another file."""
        where = self.place.info.where if self.place is not None else ""
        speaks = tool in _LOOKERS or bool(_OF_A_PLACE & metadata.keys())
        return {**metadata, PLACE: where} if where and speaks else metadata

    def _interact(self) -> Interact | None:
        """Return how tools ask; the time a person takes is not the run's."""
        interact = self.interact
        if interact is None:
            return None

        async def ask(interaction: Interaction, /) -> InteractionAnswer:
            with self.waiting():
                return await interact(interaction)

        return ask


def _cut(task: asyncio.Task[ToolResultBlock], call_id: str, marker: str) -> ToolResultBlock:
    """Return the result of a call that was cut: the marker, and whatever evidence the tool still gave."""
    if task.cancelled() or task.exception() is not None:
        return _error(call_id, marker)
    partial = task.result()
    text = partial.text if partial.text.startswith(marker) else f"{marker}\n{partial.text}".strip()
    return ToolResultBlock(call_id, (TextBlock(text),), is_error=True, metadata=partial.metadata)
