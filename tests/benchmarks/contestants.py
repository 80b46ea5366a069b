"""The same run for everybody: model turns that stream text and call one trivial tool, then a last answer.

Each contestant keeps its client from run to run, streams, draws or hands out text as it comes, and answers
:class:`Outcome`. Peers are imported when they are asked for.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import httpx

SYSTEM = "You are a careful assistant."
PROMPT = "Add the numbers, one after another."
MODEL = "gpt-4o"
TEXT = "I will look at the next pair of numbers, add them with the tool, and go on with the pair after it. " * 3
LAST = "All of them are added now. " * 10


def answers(calls: int) -> list[dict[str, Any]]:
    """What the service says: ``calls`` answers with text and a call of ``add``, and one without a call."""
    call = lambda number: {"name": "add", "arguments": {"a": number, "b": 1}}  # noqa: E731
    asking = [{"type": "reply", "text": TEXT, "tool_calls": [call(number)]} for number in range(calls)]
    return [*asking, {"type": "reply", "text": LAST}]


@dataclass
class Outcome:
    """One run: what it took, as a ``with`` block in seconds, and what it did, to see that everybody did the same."""

    wall: float = 0.0
    processor: float = 0.0
    first: float | None = None
    tool_calls: int = 0
    text: str = ""

    def __enter__(self) -> Self:
        self.wall, self.processor = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall, self.processor = time.perf_counter() - self.wall, time.process_time() - self.processor

    def saw_text(self) -> None:
        """Note when the first text was there."""
        if self.first is None:
            self.first = time.perf_counter() - self.wall


class Contestant(Protocol):
    async def run(self) -> Outcome: ...
    async def aclose(self) -> None: ...


class Floor:
    """Bare httpx: the requests of such a run, prepared beforehand, their answers read and thrown away."""

    def __init__(self, url: str, calls: int) -> None:
        self._client = httpx.AsyncClient(timeout=60)
        self._url = f"{url}/chat/completions"
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": PROMPT},
        ]
        self._requests: list[httpx.Request] = []
        for number in range(calls + 1):
            self._requests.append(self._client.build_request("POST", self._url, json=_body(messages)))
            arguments = f'{{"a": {number}, "b": 1}}'
            call = {"id": f"call_{number:024}", "type": "function", "function": {"name": "add", "arguments": arguments}}
            messages.append({"role": "assistant", "content": TEXT, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(number + 1)})

    async def run(self) -> Outcome:
        with Outcome() as outcome:
            for request in self._requests:
                response = await self._client.send(request, stream=True)
                try:
                    async for chunk in response.aiter_bytes():
                        if outcome.first is None and b'"content":"I' in chunk:
                            outcome.saw_text()
                finally:
                    await response.aclose()
        outcome.tool_calls, outcome.text = len(self._requests) - 1, LAST
        return outcome

    async def aclose(self) -> None:
        await self._client.aclose()


class Page:
    """A page that only notes when something is drawn on it."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._drawn = 0

    def show(self, bundle: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> str:
        if bundle.get("text/plain"):
            self._outcome.saw_text()
        self._drawn += 1
        return str(self._drawn)

    def update(self, display_id: str, bundle: Mapping[str, Any]) -> None:
        pass


class Zidane:
    """zidane_lab with everything a cell has: its loop, its bus, its renderer; optionally its session file."""

    def __init__(self, url: str, folder: Path | None = None) -> None:
        from zidane_lab import tool
        from zidane_lab.providers.openai_chat import OpenAIChatProvider

        self._provider = OpenAIChatProvider("none", base_url=url)
        self._folder = folder
        self._calls = 0

        @tool
        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            self._calls += 1
            return a + b

        self._tool = add

    async def run(self) -> Outcome:
        from zidane_lab import Agent, Behavior, Session
        from zidane_lab.notebook.render import CellRenderer

        self._calls = 0
        # A notebook has one session and many prompts: making it is not part of a run.
        with Session.memory() if self._folder is None else Session.create(self._folder) as session:
            with Outcome() as outcome:
                agent = Agent(
                    self._provider,
                    model=MODEL,
                    tools=[self._tool],
                    system=SYSTEM,
                    session=session,
                    behavior=Behavior(max_turns=None),
                )
                agent.hooks.use(CellRenderer(Page(outcome)))
                result = await agent.run(PROMPT)
        outcome.tool_calls, outcome.text = self._calls, result.text
        return outcome

    async def aclose(self) -> None:
        await self._provider.aclose()


class PydanticAI:
    """pydantic-ai, streaming the events of a whole run."""

    def __init__(self, url: str) -> None:
        from openai import AsyncOpenAI
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        self._client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=self._client))
        self._agent = Agent(model, instructions=SYSTEM)
        self._calls = 0

        @self._agent.tool_plain
        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            self._calls += 1
            return a + b

    async def run(self) -> Outcome:
        from pydantic_ai import (
            AgentRunResultEvent,
            PartDeltaEvent,
            PartStartEvent,
            TextPart,
            TextPartDelta,
            UsageLimits,
        )

        self._calls, limits = 0, UsageLimits(request_limit=None)
        with Outcome() as outcome:
            async with self._agent.run_stream_events(PROMPT, usage_limits=limits) as events:
                async for event in events:
                    match event:
                        case PartStartEvent(part=TextPart(content=text)) if text:
                            outcome.saw_text()
                        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                            outcome.saw_text()
                        case AgentRunResultEvent():
                            outcome.text = event.result.output
        outcome.tool_calls = self._calls
        return outcome

    async def aclose(self) -> None:
        await self._client.close()


class OpenAIAgents:
    """The OpenAI Agents SDK over the same wire format, streaming, its tracing off."""

    def __init__(self, url: str) -> None:
        from agents import Agent, OpenAIChatCompletionsModel, function_tool
        from openai import AsyncOpenAI

        self._client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        self._calls = 0

        @function_tool
        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            self._calls += 1
            return a + b

        model = OpenAIChatCompletionsModel(model=MODEL, openai_client=self._client)
        self._agent = Agent(name="bench", instructions=SYSTEM, model=model, tools=[add])

    async def run(self) -> Outcome:
        from agents import RunConfig, Runner

        self._calls, config = 0, RunConfig(tracing_disabled=True)
        with Outcome() as outcome:
            result = Runner.run_streamed(self._agent, PROMPT, max_turns=10_000, run_config=config)
            async for event in result.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    outcome.saw_text()
        outcome.tool_calls, outcome.text = self._calls, result.final_output
        return outcome

    async def aclose(self) -> None:
        await self._client.close()


def _body(messages: list[dict[str, Any]]) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }
    tool = {
        "type": "function",
        "function": {"name": "add", "description": "Add two numbers.", "parameters": parameters},
    }
    return {
        "model": MODEL,
        "messages": messages,
        "tools": [tool],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
