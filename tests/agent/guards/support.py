"""A run without a model: turns of calls through the real batch, their results stored, the boundary told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.agent.support import Recorder
from zidane_lab.agent.batch import Batch
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.hooks import HookBus
from zidane_lab.events import AgentDone, AgentStart, Ids, ToolAfter, TurnBoundary, UserTurn
from zidane_lab.session.session import Session
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn, Usage


class Stage:
    """Plays turns of calls on a bus with guards."""

    def __init__(self, *tools: Tool, guards: Any = (), cwd: Path | None = None, session: Session | None = None) -> None:
        self.session = session if session is not None else Session.memory()
        self.hooks = HookBus()
        for guard in guards:
            self.hooks.use(guard)
        self.seen = Recorder(self.hooks)
        self.tools = {tool.name: tool for tool in tools}
        self.cwd = cwd or Path.cwd()
        self.ids = Ids("run_1")
        self.calls = 0

    async def start(self, run_id: str = "run_1", prompt: str = "go") -> None:
        self.ids = Ids(run_id)
        await self.hooks.emit(AgentStart(self.ids, prompt, "scripted/x"))
        await self.says(prompt, "prompt")

    async def end(self) -> None:
        await self.hooks.emit(AgentDone(self.ids, "completed", "stop", Usage(), 1, 0.0))

    async def says(self, text: str, how: Any = "steer") -> None:
        turn = self.session.append(Turn("user", (TextBlock(text),)))
        await self.hooks.emit(UserTurn(self.ids, turn, how))

    async def turn(self, *calls: tuple[str, Mapping[str, Any]]) -> tuple[ToolResultBlock, ...]:
        """Let the model make these calls; the results of the batch."""
        boundary = await self.boundary(*calls)
        assert boundary.results is not None
        return boundary.results.tool_results

    async def boundary(self, *calls: tuple[str, Mapping[str, Any]]) -> TurnBoundary:
        """Do the same; the event of the boundary after it."""
        blocks = []
        for name, arguments in calls:
            self.calls += 1
            blocks.append(ToolCallBlock(f"call_{self.calls}", name, arguments))
        turn = self.session.append(Turn("assistant", tuple(blocks)))
        ids = replace(self.ids, turn_id=turn.id)
        batch = Batch(tools=self.tools, hooks=self.hooks, behavior=Behavior(), ids=ids, cwd=self.cwd)
        stored = self.session.append(Turn("user", await batch.run(turn.tool_calls)))
        event = TurnBoundary(ids, 0, turn, "tool-calls", stored)
        failures = await self.hooks.emit(event)
        assert not failures, failures
        return event

    def hits(self, guard: str) -> list[str]:
        return [event.text for event in self.seen.of("guard:hit") if event.guard == guard]

    def outcomes(self) -> list[str]:
        return [event.outcome for event in self.seen.events if isinstance(event, ToolAfter)]


class Counting:
    """The handler of a tool that counts its runs and answers with their number, or with what it was given to say."""

    def __init__(self, *answers: Any) -> None:
        self.runs = 0
        self.answers = answers

    async def __call__(self, _context: ToolContext, **_arguments: Any) -> Any:
        self.runs += 1
        answer = self.answers[min(self.runs, len(self.answers)) - 1] if self.answers else f"run {self.runs}"
        if isinstance(answer, Exception):
            raise answer
        return answer


def evidence(text: str = "", *, status: str = "ok", seconds: float = 0.1, **more: Any) -> ToolOutput:
    """What ``run_python`` returns for code that printed ``text``."""
    execution = {
        "status": status,
        "outputs": [{"kind": "stdout", "text": text, "data": {}}],
        "error": None,
        "created": (),
        "changed": (),
        "deleted": (),
        **more,
    }
    return ToolOutput(
        (TextBlock(f"[stdout]\n{text}\n[done in {seconds} s]"),),
        is_error=status != "ok",
        metadata={"execution": execution},
    )
