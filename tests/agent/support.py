"""Small tools and a recorder for the tests of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from zidane_lab.agent.agent import Agent
from zidane_lab.agent.hooks import HookBus
from zidane_lab.tools.base import Concurrency, Tool, ToolContext, ToolOutput
from zidane_lab.turns import TextBlock


class Recorder:
    """Keeps every event of a bus, in order."""

    def __init__(self, hooks: HookBus) -> None:
        self.events: list[Any] = []
        hooks.on("*", self.events.append)

    def names(self) -> list[str]:
        return [event.name for event in self.events]

    def of(self, name: str) -> list[Any]:
        return [event for event in self.events if event.name == name]


def simple_tool(name: str, handler: Any, *, concurrency: Concurrency = "exclusive", tier: str = "read") -> Tool:
    async def run(context: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput:
        return ToolOutput.of(await handler(context, **arguments))

    return Tool(name, f"the {name} tool", {"type": "object"}, run, dict, tier, concurrency)  # type: ignore[arg-type]


class Slow:
    """A tool that says when it has started and runs until it is released."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.release = asyncio.Event()
        self.ended: list[str] = []

    async def __call__(self, _context: ToolContext, **arguments: Any) -> str:
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("done")
        return f"slow {arguments}"


async def echo(_context: ToolContext, text: str = "") -> str:
    return f"echo {text}"


def texts(agent: Agent) -> list[tuple[str, str]]:
    """The conversation as (role, text) pairs; results show as their text."""
    out = []
    for turn in agent.session.turns:
        words = turn.text or " | ".join(result.text for result in turn.tool_results)
        out.append((turn.role, words or " ".join(f"call:{call.name}" for call in turn.tool_calls)))
    return out


def text_parts(text: str) -> tuple[TextBlock, ...]:
    return (TextBlock(text),)
