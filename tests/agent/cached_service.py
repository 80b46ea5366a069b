"""A service that keeps prompts as Anthropic's does: it counts honestly, and refuses what is too long.

It is sent what the real provider would send. Everything it says of a request follows from that body alone: it reads
tools, system prompt and messages in this order, keeps what stands before each breakpoint, finds it again where a later
breakpoint stands at most 20 blocks behind it, and counts every block it has not found as read anew (Anthropic,
"Prompt caching").
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from zidane_lab.errors import ContextExceededError
from zidane_lab.providers.anthropic_request import RequestEncoder
from zidane_lab.providers.base import (
    Capabilities,
    Finish,
    Request,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from zidane_lab.turns import TextBlock, ThinkingBlock, ToolCallBlock, Usage

BYTES_PER_TOKEN = 3.7
"""Not what the agent's own estimates assume, as with a real service."""
LOOK_BACK = 20
BREAKPOINTS = 4
LEAST_KEPT = 1_024

Script = Callable[[Request], Sequence[Any]]
"""What a request is answered with: texts and blocks."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of a prompt: what is compared, what it costs, and whether a breakpoint stands behind it."""

    text: bytes
    tokens: int
    kept: bool


@dataclass(slots=True)
class Exchange:
    """One request as it was sent, and what it used; ``pieces`` are numbers that stand for equal blocks."""

    sha256: str
    pieces: tuple[int, ...]
    tokens: int
    is_summary: bool
    usage: Usage | None = None
    refused: bool = False


@dataclass
class CachedService:
    """The provider.

    Parameters
    ----------
    script
        Says what to answer; requests for a summary are answered with ``summary``.
    window
        Tokens a prompt may have; with ``counts_answer`` the prompt and the answer it asks for, as older models do.
    inspect
        Looks at every body before anything else does.
    like
        The same service at an earlier time: what it has kept, and its numbers for blocks.
    """

    script: Script
    window: int
    summary: str = "What was done so far: the tables were read, cleaned and joined. " * 20
    counts_answer: bool = False
    inspect: Callable[[dict[str, Any]], None] | None = None
    like: CachedService | None = None
    exchanges: list[Exchange] = field(default_factory=list)

    name = "anthropic"
    default_model = "claude-sonnet-4-5"
    capabilities = Capabilities(thinking=True, metered=False)

    def __post_init__(self) -> None:
        self._encoder = RequestEncoder(self.name)
        self._numbers: dict[bytes, int] = {} if self.like is None else self.like._numbers
        self._stored: set[bytes] = set() if self.like is None else self.like._stored

    @property
    def answered(self) -> list[Exchange]:
        """The requests of the conversation itself that were answered."""
        return [each for each in self.exchanges if not each.is_summary and each.usage is not None]

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        raw = self._encoder.encode(request)
        body = json.loads(raw)
        if self.inspect is not None:
            self.inspect(body)
        pieces = list(pieces_of(body))
        exchange = Exchange(
            hashlib.sha256(raw).hexdigest(),
            tuple(self._numbers.setdefault(piece.text, len(self._numbers)) for piece in pieces),
            sum(piece.tokens for piece in pieces),
            asks_for_summary(body),
        )
        self.exchanges.append(exchange)
        if exchange.tokens + (body["max_tokens"] if self.counts_answer else 0) > self.window:
            exchange.refused = True
            raise ContextExceededError(f"prompt is too long: {exchange.tokens} tokens > {self.window} maximum")
        blocks = [self.summary_answer()] if exchange.is_summary else list(self.script(request))
        usage = self._read(pieces, sum(tokens_of(_words(block)) for block in blocks))
        yield UsageUpdate(usage)
        for index, block in enumerate(blocks):
            await asyncio.sleep(0)
            for event in _events(index, block):
                yield event
        exchange.usage = usage
        yield Finish("tool-calls" if any(isinstance(block, ToolCallBlock) for block in blocks) else "stop")

    def summary_answer(self) -> str:
        return f"<analysis>Message by message.</analysis>\n<summary>{self.summary}</summary>"

    def _read(self, pieces: Sequence[Piece], output: int) -> Usage:
        """Look the prompt up, keep it, and say what it used."""
        prefixes, total = [], 0
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece.text)
            total += piece.tokens
            prefixes.append((digest.digest(), total))
        ends = [at for at, piece in enumerate(pieces) if piece.kept]
        assert len(ends) <= BREAKPOINTS
        read = max(
            (
                prefixes[at][1]
                for end in ends
                for at in range(max(0, end - LOOK_BACK), end + 1)
                if prefixes[at][0] in self._stored
            ),
            default=0,
        )
        last = prefixes[ends[-1]][1] if ends else 0
        self._stored.update(prefixes[end][0] for end in ends if prefixes[end][1] >= LEAST_KEPT)
        written = max(0, last - read) if last >= LEAST_KEPT else 0
        return Usage(input=total - read - written, output=output, cache_read=read, cache_creation=written)

    def price_known(self, _model: str) -> bool:
        return False

    async def aclose(self) -> None:
        pass


def pieces_of(body: dict[str, Any]) -> Iterator[Piece]:
    """Take a body apart in the order in which the service reads it. Another model shares nothing, tools are first."""
    opening = {"model": body["model"]}
    for tool in body.get("tools", ()):
        yield _piece(opening | {"tool": tool}, tool)
    for block in body.get("system", ()):
        yield _piece(opening | {"system": block}, block)
    thinking = {name: body[name] for name in ("thinking", "output_config") if name in body}
    for message in body["messages"]:
        for block in message["content"]:
            yield _piece(opening | thinking | {"role": message["role"], "block": block}, block)


def _piece(shown: dict[str, Any], block: dict[str, Any]) -> Piece:
    kept = block.pop("cache_control", None) is not None
    return Piece(json.dumps(shown, sort_keys=False).encode(), tokens_of(json.dumps(block)), kept)


def asks_for_summary(body: dict[str, Any]) -> bool:
    last = body["messages"][-1]["content"][-1]
    return last["type"] == "text" and last["text"].rstrip().endswith("Provide your <analysis> and <summary> now.")


def tokens_of(text: str) -> int:
    return math.ceil(len(text) / BYTES_PER_TOKEN)


def _words(block: Any) -> str:
    if isinstance(block, ToolCallBlock):
        return f"{block.name}{json.dumps(dict(block.input))}"
    return block if isinstance(block, str) else block.text


def _events(index: int, block: Any) -> Iterator[StreamEvent]:
    match block:
        case str() | TextBlock():
            text = block if isinstance(block, str) else block.text
            half = len(text) // 2
            yield from (TextDelta(part) for part in (text[:half], text[half:]) if part)
        case ThinkingBlock():
            yield ThinkingDelta(block.text)
            yield ThinkingEnd(block.signature)
        case ToolCallBlock():
            yield ToolCallStart(index, block.id, block.name)
            yield ToolCallEnd(index, block.id, block.name, block.input)
