"""What the tests of whole runs are made of: services with names and prices, answers that were counted, long talks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.retry import RetryPolicy
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.compaction.prompts import SUMMARY_SYSTEM
from zidane_lab.errors import SessionError
from zidane_lab.providers.base import Finish, Request, TextDelta, UsageUpdate
from zidane_lab.providers.catalog import ModelInfo
from zidane_lab.providers.scripted import Answer, ScriptedProvider
from zidane_lab.session.entries import Entry
from zidane_lab.session.session import Session
from zidane_lab.session.store import MemoryStore
from zidane_lab.turns import Block, TextBlock, ToolCallBlock, ToolResultBlock, Turn, Usage

QUICK = RetryPolicy(base_delay=0.001, jitter=0)
"""Retries that hardly wait."""

WINDOW = 30_000
"""A small window: 10 000 tokens may be used, so that a prompt of 8 500 is summarised."""

SMALL = AutoCompact(window=WINDOW)


class Service(ScriptedProvider):
    """A scripted service of a name, perhaps with a price: a dollar a token, or none that is known."""

    def __init__(
        self,
        name: str,
        answers: Iterable[Answer],
        *,
        metered: bool = False,
        priced: bool = False,
        window: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(answers, **options)
        self.name = name
        self.capabilities = replace(ScriptedProvider.capabilities, metered=metered)
        self.priced, self.window = priced, window

    def price_known(self, _model: str) -> bool:
        return self.priced

    def model_info(self, _model: str) -> ModelInfo:
        return ModelInfo(window=self.window)

    def cost(self, _model: str, usage: Usage) -> float | None:
        return float(usage.context + usage.output) if self.priced else None


def counted(*blocks: Block | str, context: int = 100, output: int = 10, cost: float | None = None) -> Turn:
    """An answer the service counted."""
    said = tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks)
    return Turn("assistant", said, usage=Usage(input=context, output=output, cost=cost))


def cut(text: str, reason: Any) -> list[Any]:
    """An answer that ends for ``reason``."""
    return [*([TextDelta(text)] if text else []), Finish(reason)]


def failing(error: Exception, *, spent: Usage | None = None) -> list[Any]:
    """A call that fails, after the service told what it had spent by then."""
    return [*([UsageUpdate(spent)] if spent is not None else []), error]


def talk(rounds: int = 4, *, context: int = 0, words: str = "") -> Session:
    """A session of questions and answers; the last answer was counted at ``context``, with 10 tokens of its own."""
    session = Session.memory()
    fill(session, rounds, context=context, words=words)
    return session


def fill(session: Session, rounds: int, *, context: int = 0, words: str = "") -> None:
    for n in range(1, rounds + 1):
        usage = Usage(input=context, output=10) if n == rounds and context else None
        session.append(Turn("user", (TextBlock(f"question {n} {words}".strip()),), id=f"q{n}"))
        session.append(Turn("assistant", (TextBlock(f"answer {n} {words}".strip()),), id=f"a{n}", usage=usage))


def add_call(session: Session, call_id: str, name: str, arguments: dict[str, Any], text: str, **fields: Any) -> None:
    """One call and its result."""
    session.append(Turn("assistant", (ToolCallBlock(call_id, name, arguments),), id=f"{call_id}-call"))
    result = ToolResultBlock(call_id, (TextBlock(text),), **fields)
    session.append(Turn("user", (result,), id=f"{call_id}-result"))


def is_summary(request: Request) -> bool:
    """Whether a request asks for a summary: behind the conversation, or in a request of its own."""
    return request.system == SUMMARY_SYSTEM or request.turns[-1].id.endswith("-summarize")


def wire_texts(request: Request) -> list[str]:
    """What is sent, a text for each turn."""
    return [turn.text or " | ".join(result.text for result in turn.tool_results) for turn in request.turns]


def full(answers: Sequence[Answer], *, context: int = 9_000, rounds: int = 4, **options: Any) -> Agent:
    """An agent whose window is full, unless said otherwise."""
    behavior = options.pop("behavior", Behavior(compaction=SMALL, retry=QUICK))
    session = options.pop("session", None) or talk(rounds, context=context)
    provider = options.pop("provider", None) or Service("main", answers)
    return Agent(provider, session=session, behavior=behavior, **options)


def open_calls(agent: Agent) -> set[str]:
    """Calls of the conversation that nobody answered."""
    turns = agent.session.turns
    answered = {result.call_id for turn in turns for result in turn.tool_results}
    return {call.id for turn in turns for call in turn.tool_calls} - answered


def others() -> set[asyncio.Task[Any]]:
    """Tasks that are still there besides the test's own."""
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]  # it is one


class FullDisk(MemoryStore):
    """Fails once, as a file's store does, at the first entry that ``trips`` (a word of its kind or data)."""

    def __init__(self, header: Any, trips: str) -> None:
        super().__init__(header)
        self.trips: str | None = trips

    def append(self, entries: Sequence[Entry]) -> None:
        if self.trips is not None and any(self.trips in f"{entry.type} {entry.data}" for entry in entries):
            self.trips = None
            raise SessionError("No space left on device.")

    @classmethod
    def session(cls, trips: str) -> Session:
        return Session(cls(Session.memory().header, trips))
