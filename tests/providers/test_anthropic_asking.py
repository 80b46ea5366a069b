"""What the Anthropic provider sends, and what it does when reasoning is refused."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.providers.test_anthropic import (
    HELLO,
    MESSAGE_STOP,
    ask,
    assistant,
    events_of,
    message_delta,
    provider_of,
    sse,
    text_of,
    user,
)
from zidane_lab.errors import (
    BadRequestError,
)
from zidane_lab.providers.anthropic import AnthropicProvider
from zidane_lab.providers.base import (
    HistoryRepair,
    UsageUpdate,
)
from zidane_lab.turns import (
    ThinkingBlock,
    Usage,
)

# --- asking -----------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "base_url",
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/"],
)
@pytest.mark.parametrize("key", ["secret", None])
async def test_where_and_how_it_asks(base_url, key):
    seen = []

    def handler(request):
        seen.append(request)
        return httpx.Response(200, content=sse(*HELLO, message_delta(), MESSAGE_STOP))

    provider = AnthropicProvider(key, base_url=base_url, transport=httpx.MockTransport(handler))
    await events_of(provider)
    await provider.aclose()
    assert str(seen[0].url) == "http://127.0.0.1:8080/v1/messages"
    assert seen[0].headers["anthropic-version"] == "2023-06-01"
    assert seen[0].headers.get("x-api-key") == key
    assert json.loads(seen[0].content)["stream"] is True
    assert not provider.capabilities.metered
    assert provider.capabilities.thinking


# --- refused reasoning ----------------------------------------------------------------------------

SEALED = (user("hi"), assistant(ThinkingBlock("t", "old", "anthropic"), "yes"), user("more"))


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "message",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
    ],
)
async def test_refused_reasoning_costs_the_reasoning_not_the_conversation(message):
    sent = []

    def handler(request):
        sent.append(json.loads(request.content))
        if "old" in request.content.decode():
            return httpx.Response(
                400, json={"type": "error", "error": {"type": "invalid_request_error", "message": message}}
            )
        return httpx.Response(200, content=sse(*HELLO, message_delta(), MESSAGE_STOP))

    provider = AnthropicProvider("key", transport=httpx.MockTransport(handler))
    events = await events_of(provider, ask(*SEALED))
    assert text_of(events) == "Hello"
    assert events[0] == HistoryRepair("1 block of earlier reasoning left out: its seal was refused.")
    assert len(sent) == 2
    later = ask(*SEALED, assistant(ThinkingBlock("t2", "new", "anthropic"), "Hello"), user("and?"))
    await events_of(provider, later)
    assert len(sent) == 3, "what was refused once is not sent again"
    assert "new" in json.dumps(sent[2])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("turns", "message"),
    [(SEALED, "messages: roles must alternate"), ((user("hi"),), "Invalid `signature` in `thinking` block")],
)
async def test_other_refusals_are_not_tried_again(turns, message):
    sent = []

    def handler(request):
        sent.append(request)
        return httpx.Response(
            400, json={"type": "error", "error": {"type": "invalid_request_error", "message": message}}
        )

    with pytest.raises(BadRequestError):
        await events_of(AnthropicProvider("key", transport=httpx.MockTransport(handler)), ask(*turns))
    assert len(sent) == 1


@pytest.mark.asyncio
async def test_an_unpriced_model_costs_an_unknown_amount():
    events = await events_of(
        provider_of(sse(*HELLO, message_delta(output_tokens=4), MESSAGE_STOP)), ask(model="claude-nova-7")
    )
    assert [event.usage for event in events if isinstance(event, UsageUpdate)][-1] == Usage(input=10, output=4)
