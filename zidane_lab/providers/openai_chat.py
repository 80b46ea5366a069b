"""OpenAI's Chat Completions API, streamed, at OpenAI or any server that speaks its format.

That is OpenRouter, Ollama, vLLM, llama.cpp, LM Studio and many more, which differ in details; what is known of
their ways is tolerated here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from zidane_lab.events import FinishReason
from zidane_lab.providers.base import (
    Capabilities,
    Finish,
    Request,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ThinkingEnd,
    UsageUpdate,
)
from zidane_lab.providers.catalog import ModelInfo, cost_of, model_info
from zidane_lab.providers.exchange import DONE, exchange, mapping
from zidane_lab.providers.failures import classify
from zidane_lab.providers.http import IDLE_SECONDS, HttpClient, is_local
from zidane_lab.providers.openai_calls import CallAssembler
from zidane_lab.providers.openai_request import RequestEncoder
from zidane_lab.turns import Usage

if TYPE_CHECKING:
    import httpx

__all__ = ["BASE_URL", "DEFAULT_MODEL", "ChatDecoder", "OpenAIChatProvider"]

BASE_URL: Final = "https://api.openai.com/v1"
DEFAULT_MODEL: Final = "gpt-6-sol"
"""The newest of OpenAI's models that takes functions over the chat format."""

_FINISH: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "eos": "stop",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
}


class OpenAIChatProvider:
    """Answers from a Chat Completions API.

    Parameters
    ----------
    api_key
        Sent as a bearer token; ``None`` sends none (local servers).
    base_url
        Where the service is, with its ``/v1`` or what stands for it.
    idle
        Seconds of silence after which an answer is given up.
    transport
        An httpx transport to use instead of the network.
    """

    name = "openai"
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
        self._base_url = base_url.rstrip("/")
        self._tells_cost = urlsplit(self._base_url).hostname == "openrouter.ai"
        self._http = HttpClient(self.name, secrets=(api_key or "",), idle=idle, transport=transport)
        self._encoder = RequestEncoder(self.name, base_url=self._base_url)
        self.capabilities = Capabilities(thinking=True, metered=not is_local(base_url))

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Ask and stream the answer; see :class:`~zidane_lab.providers.base.Provider`."""
        content = self._encoder.encode(request)
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        reply = self._http.post(f"{self._base_url}/chat/completions", headers=headers, content=content)
        decoder = ChatDecoder(
            self.name, tells_cost=self._tells_cost, secrets=(self._key or "",), base_url=self._base_url
        )
        async with aclosing(exchange(reply, decoder)) as events:
            async for event in events:
                if isinstance(event, UsageUpdate) and event.usage.cost is None:
                    cost = cost_of(self.name, request.model, event.usage, base_url=self._base_url)
                    yield UsageUpdate(replace(event.usage, cost=cost))
                else:
                    yield event

    def price_known(self, model: str) -> bool:
        """Whether a price applies to this model at this address, or the service tells the cost itself."""
        return self._tells_cost or model_info(self.name, model, base_url=self._base_url).input_price is not None

    def model_info(self, model: str) -> ModelInfo:
        """Return what is known of a model at this address."""
        return model_info(self.name, model, base_url=self._base_url)

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return what tokens of a model cost at this address, in US dollars; ``None`` where no price is known."""
        return cost_of(self.name, model, usage, base_url=self._base_url)

    async def aclose(self) -> None:
        """Release connections."""
        await self._http.aclose()


class ChatDecoder:
    """Understands the chunks of one answer; see :class:`~zidane_lab.providers.exchange.Decoder`.

    Parameters
    ----------
    provider
        Name of the provider, for messages.
    tells_cost
        Whether ``usage.cost`` of this service is what the call cost in US dollars.
    secrets
        Texts that no message may repeat, should the service quote them.
    base_url
        Where the service is, which tells what people call it.
    """

    def __init__(
        self, provider: str, *, tells_cost: bool, secrets: tuple[str, ...] = (), base_url: str | None = None
    ) -> None:
        self.provider = provider
        self._secrets = secrets
        self._base_url = base_url
        self.is_complete = False
        self.is_over = False
        self._tells_cost = tells_cost
        self._reason = ""
        self._refused = False
        self._is_thinking = False
        self._calls = CallAssembler()

    def feed(self, payload: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Take one chunk.

        Raises
        ------
        ProviderError
            The service reported an error in the stream.
        """
        if payload is DONE:
            self.is_complete = self.is_over = True
            return
        if payload.get("error") or payload.get("object") == "error":
            raise classify(
                provider=self.provider, status=None, body=payload, secrets=self._secrets, base_url=self._base_url
            )
        choice = _first(payload.get("choices"))
        yield from self._delta(mapping(choice.get("delta")))
        if isinstance(choice.get("finish_reason"), str) and choice["finish_reason"]:
            self._reason = choice["finish_reason"]
            self.is_complete = True
        yield from self._usage(mapping(payload.get("usage")))

    def feed_whole(self, payload: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Take an answer that came in one piece, from a server that does not stream."""
        choice = _first(payload.get("choices"))
        message = dict(mapping(choice.get("message")))
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            message["tool_calls"] = [{**mapping(call), "index": index} for index, call in enumerate(calls)]
        yield from self.feed({**payload, "choices": [{**choice, "delta": message}]})
        self.is_complete = bool(message)

    def finish(self) -> Iterator[StreamEvent]:
        """Complete what is open and say why the answer ended."""
        yield from self._end_thinking()
        yield from self._calls.finish()
        reason = _FINISH.get(self._reason, "other") if self._reason else "stop"
        if self._refused:
            reason = "refusal"
        elif reason in {"stop", "other"} and self._calls:
            # Ollama, Gemini and others say `stop` after calls.
            reason = "tool-calls"
        elif reason == "tool-calls" and not self._calls:
            reason = "stop"
        yield Finish(reason)

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        thinking = _text(delta.get("reasoning_content")) or _text(delta.get("reasoning"))
        if thinking:
            self._is_thinking = True
            yield ThinkingDelta(thinking)
        refusal = _text(delta.get("refusal"))
        self._refused = self._refused or bool(refusal)
        for text in (_text(delta.get("content")), refusal):
            if text:
                yield from self._end_thinking()
                yield TextDelta(text)
        calls = delta.get("tool_calls")
        if isinstance(calls, list) and calls:
            yield from self._end_thinking()
            yield from self._calls.feed(calls)

    def _end_thinking(self) -> Iterator[StreamEvent]:
        if self._is_thinking:
            self._is_thinking = False
            yield ThinkingEnd()

    def _usage(self, raw: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Read the counts: the format counts cached tokens as part of the prompt, we count them apart."""
        prompt, completion = _count(raw, "prompt_tokens"), _count(raw, "completion_tokens")
        if not (prompt or completion):
            return
        of_prompt = mapping(raw.get("prompt_tokens_details"))
        cached = _count(of_prompt, "cached_tokens") or _count(raw, "prompt_cache_hit_tokens")
        written = _count(of_prompt, "cache_write_tokens")
        reasoning = _count(mapping(raw.get("completion_tokens_details")), "reasoning_tokens")
        if reasoning and _count(raw, "total_tokens") == prompt + completion + reasoning:
            # xAI counts reasoning apart; ours is part of the output.
            completion += reasoning
        counts = {
            "input": prompt - cached - written,
            "output": completion,
            "cache_read": cached,
            "cache_creation": written,
            "reasoning": reasoning,
            "cost": raw.get("cost") if self._tells_cost else None,
        }
        yield UsageUpdate(Usage.of(counts))


def _first(choices: Any) -> Mapping[str, Any]:
    return mapping(choices[0]) if isinstance(choices, list) and choices else {}


def _text(value: Any) -> str:
    """Return the text of a delta's field; Mistral sends lists of parts."""
    if isinstance(value, list):
        return "".join(_text(mapping(part).get("text")) for part in value)
    return value if isinstance(value, str) else ""


def _count(raw: Mapping[str, Any], name: str) -> int:
    value = raw.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
