"""Anthropic's Messages API, streamed.

Works with Anthropic itself and with every server that speaks its format (llama.cpp, gateways).
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from zidane_lab.errors import BadRequestError
from zidane_lab.events import FinishReason
from zidane_lab.providers.anthropic_count import count_tokens
from zidane_lab.providers.anthropic_request import RequestEncoder
from zidane_lab.providers.base import (
    Capabilities,
    Finish,
    HistoryRepair,
    Request,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from zidane_lab.providers.catalog import ModelInfo, cost_of, model_info
from zidane_lab.providers.exchange import exchange, mapping
from zidane_lab.providers.failures import classify
from zidane_lab.providers.http import IDLE_SECONDS, HttpClient, is_local
from zidane_lab.providers.openai_calls import UNNAMED
from zidane_lab.providers.payload import parse_arguments
from zidane_lab.turns import MOST_TOKENS, Usage, new_id

if TYPE_CHECKING:
    import httpx

__all__ = ["BASE_URL", "DEFAULT_MODEL", "AnthropicProvider", "MessagesDecoder"]

BASE_URL: Final = "https://api.anthropic.com"
DEFAULT_MODEL: Final = "claude-sonnet-5-5"
API_VERSION: Final = "2023-06-01"

_FINISH: Final[Mapping[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
}


class AnthropicProvider:
    """Answers from Anthropic's Messages API.

    Parameters
    ----------
    api_key
        Sent as ``x-api-key``; ``None`` sends none (local servers).
    base_url
        Where the service is, with or without a final ``/v1``.
    idle
        Seconds of silence after which an answer is given up.
    transport
        An httpx transport to use instead of the network.
    """

    name = "anthropic"
    default_model = DEFAULT_MODEL

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str = BASE_URL,
        idle: float = IDLE_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._key = api_key
        self._base_url = base_url.rstrip("/").removesuffix("/v1")
        self._http = HttpClient(self.name, secrets=(api_key or "",), idle=idle, transport=transport)
        self._encoder = RequestEncoder(self.name, base_url=self._base_url)
        self.capabilities = Capabilities(thinking=True, metered=not is_local(base_url))

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Ask and stream the answer; see :class:`~zidane_lab.providers.base.Provider`.

        Reasoning is sealed to the model and the conversation that produced it. After a compaction or a change
        of model the service may refuse the seal; the request is then sent once more without that reasoning,
        which stays left out from then on.
        """
        try:
            async with aclosing(self._ask(request)) as events:
                async for event in events:
                    yield event
        except BadRequestError as error:
            replayed = self._encoder.new_signatures(request)
            if not (replayed and _refuses_reasoning(error)):
                raise
            self._encoder.refuse(replayed)
            blocks = "block" if len(replayed) == 1 else "blocks"
            yield HistoryRepair(f"{len(replayed)} {blocks} of earlier reasoning left out: its seal was refused.")
        else:
            return
        async with aclosing(self._ask(request)) as events:
            async for event in events:
                yield event

    def price_known(self, model: str) -> bool:
        """Whether a price applies to this model at this address."""
        return model_info(self.name, model, base_url=self._base_url).input_price is not None

    def model_info(self, model: str) -> ModelInfo:
        """Return what is known of a model at this address."""
        return model_info(self.name, model, base_url=self._base_url)

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return what tokens of a model cost at this address, in US dollars; ``None`` where no price is known."""
        return cost_of(self.name, model, usage, base_url=self._base_url)

    async def count_tokens(self, request: Request) -> int:
        """Return how many tokens a request has, as the service counts them; nothing is charged.

        Raises
        ------
        ProviderError
            The service refused or does not count.
        """
        return await count_tokens(self._http, self._base_url, self._headers(), self._encoder.encode(request))

    async def aclose(self) -> None:
        """Release connections."""
        await self._http.aclose()

    def _headers(self) -> dict[str, str]:
        key = {"x-api-key": self._key} if self._key else {}
        return {"anthropic-version": API_VERSION, **key}

    async def _ask(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        content = self._encoder.encode(request)
        reply = self._http.post(f"{self._base_url}/v1/messages", headers=self._headers(), content=content)
        decoder = MessagesDecoder(self.name, secrets=(self._key or "",), base_url=self._base_url)
        async with aclosing(exchange(reply, decoder)) as events:
            async for event in events:
                if isinstance(event, UsageUpdate):
                    cost = cost_of(
                        self.name, request.model, event.usage, base_url=self._base_url, hour_writes=decoder.hour_writes
                    )
                    yield UsageUpdate(replace(event.usage, cost=cost))
                else:
                    yield event


def _refuses_reasoning(error: BadRequestError) -> bool:
    """Whether the service refused replayed reasoning: a wrong seal, another conversation, an edited block."""
    text = error.message.lower()
    return "thinking" in text and any(word in text for word in ("signature", "cannot be modified", "bound to"))


class MessagesDecoder:
    """Understands the events of one answer; see :class:`~zidane_lab.providers.exchange.Decoder`.

    Parameters
    ----------
    provider
        Name of the provider, for messages.
    secrets
        Texts that no message may repeat, should the service quote them.
    base_url
        Where the service is, which tells what people call it.
    """

    def __init__(self, provider: str, *, secrets: tuple[str, ...] = (), base_url: str | None = None) -> None:
        self.provider = provider
        self._secrets = secrets
        self._base_url = base_url
        self.is_complete = False
        self.is_over = False
        self.hour_writes = 0
        """Tokens written into the cache for an hour, part of ``cache_creation``; they have a price of their own."""
        self._counts: dict[str, int] = {}
        self._reason: str | None = None
        self._calls = 0
        self._block: dict[str, Any] = {}
        self._json: list[str] = []

    def feed(self, payload: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Take one event's payload.

        Raises
        ------
        ProviderError
            The service reported an error in the stream.
        """
        match payload.get("type"):
            case "message_start":
                yield from self._usage(mapping(mapping(payload.get("message")).get("usage")))
            case "content_block_start":
                yield from self._start(mapping(payload.get("content_block")))
            case "content_block_delta":
                yield from self._delta(mapping(payload.get("delta")))
            case "content_block_stop":
                yield from self._stop()
            case "message_delta":
                self._reason = _text(mapping(payload.get("delta")).get("stop_reason")) or self._reason
                # Nothing of the content follows; a server that forgets `message_stop` has still said it all.
                self.is_complete = self._reason is not None
                yield from self._usage(mapping(payload.get("usage")))
            case "message_stop":
                self.is_complete = self.is_over = True
            case "error":
                raise classify(
                    provider=self.provider, status=None, body=payload, secrets=self._secrets, base_url=self._base_url
                )
            case _:
                # `ping`, and kinds of event that newer versions add: the service asks clients to ignore them.
                return

    def feed_whole(self, payload: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Take an answer that came in one piece, from a server that does not stream."""
        if payload.get("type") == "error" or "error" in payload:
            raise classify(
                provider=self.provider, status=None, body=payload, secrets=self._secrets, base_url=self._base_url
            )
        yield from self._usage(mapping(payload.get("usage")))
        content = payload.get("content")
        for block in content if isinstance(content, list) else ():
            yield from self._start(mapping(block))
            yield from self._stop()
        self._reason = _text(payload.get("stop_reason"))
        self.is_complete = isinstance(content, list)

    def finish(self) -> Iterator[StreamEvent]:
        """Say why the answer ended."""
        yield from self._stop()  # a block that the service forgot to end
        reason = _FINISH.get(self._reason or "", "other")
        if reason in {"stop", "other"} and self._calls:
            reason = "tool-calls"
        elif reason == "tool-calls" and not self._calls:
            reason = "stop"
        yield Finish(reason)

    def _start(self, block: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield from self._stop()
        self._block = dict(block)
        self._json = []
        match block.get("type"):
            case "text" if block.get("text"):
                yield TextDelta(str(block["text"]))
            case "thinking" if block.get("thinking"):
                yield ThinkingDelta(str(block["thinking"]))
            case "tool_use":
                self._block["id"] = str(block.get("id") or new_id("call"))
                name = _text(block.get("name")) or UNNAMED
                yield ToolCallStart(self._calls, self._block["id"], name)
            case _:
                return

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        match delta.get("type"):
            case "text_delta" if delta.get("text"):
                yield TextDelta(str(delta["text"]))
            case "thinking_delta" if delta.get("thinking"):
                yield ThinkingDelta(str(delta["thinking"]))
            case "signature_delta":
                self._block["signature"] = delta.get("signature")
            case "input_json_delta" if delta.get("partial_json"):
                self._json.append(str(delta["partial_json"]))
                yield ToolCallDelta(self._calls, self._json[-1])
            case _:
                return

    def _stop(self) -> Iterator[StreamEvent]:
        block, self._block = self._block, {}
        match block.get("type"):
            case "thinking":
                yield ThinkingEnd(block.get("signature") or None)
            case "redacted_thinking":
                yield ThinkingEnd(block.get("data") or None, redacted=True)
            case "tool_use":
                given = block.get("input")
                if not self._json and given:
                    # Some servers send the arguments whole, at the start of the block.
                    self._json = [json.dumps(given, ensure_ascii=False)]
                    yield ToolCallDelta(self._calls, self._json[0])
                arguments, raw = parse_arguments("".join(self._json))
                name = _text(block.get("name")) or UNNAMED
                yield ToolCallEnd(self._calls, block["id"], name, arguments, raw)
                self._calls += 1
            case _:
                return

    def _usage(self, raw: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Update the running totals: each number replaces the one before, a missing one keeps it."""
        written = _counts(mapping(raw.get("cache_creation")))  # how long for; the total is told beside it, mostly
        fresh = ({"cache_creation_input_tokens": sum(written.values())} if written else {}) | _counts(raw)
        if not fresh:
            return
        self._counts |= fresh
        self.hour_writes = written.get("ephemeral_1h_input_tokens", self.hour_writes)
        yield UsageUpdate(
            Usage(
                input=self._counts.get("input_tokens", 0),
                output=self._counts.get("output_tokens", 0),
                cache_read=self._counts.get("cache_read_input_tokens", 0),
                cache_creation=self._counts.get("cache_creation_input_tokens", 0),
            )
        )


def _counts(raw: Mapping[str, Any]) -> dict[str, int]:
    """Return the plausible counts among the values (bool is an int too)."""
    return {name: count for name, count in raw.items() if type(count) is int and 0 <= count <= MOST_TOKENS}


def _text(value: object) -> str | None:
    """Return ``value`` if it is a text; what comes from a service may have any shape."""
    return value if isinstance(value, str) else None
