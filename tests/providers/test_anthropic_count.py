"""Asking Anthropic to count a request."""

from __future__ import annotations

import json

import httpx
import pytest

from zidane_lab.errors import AuthError, ProviderError
from zidane_lab.providers.anthropic_count import count_body, count_tokens
from zidane_lab.providers.anthropic_request import build_request
from zidane_lab.providers.base import Request, ToolSpec
from zidane_lab.providers.http import HttpClient
from zidane_lab.turns import TextBlock, Turn

pytestmark = pytest.mark.asyncio

REQUEST = Request(
    "claude-sonnet-4-5",
    "Be brief – ja.",
    (Turn("user", (TextBlock("hi"),)),),
    (ToolSpec("look", "Looks.", {"type": "object"}),),
    thinking="low",
)
BODY = json.dumps(build_request(REQUEST, producer="anthropic")).encode()


async def counted(answer, seen=None):
    def handler(request):
        if seen is not None:
            seen.append(request)
        return answer

    http = HttpClient("anthropic", transport=httpx.MockTransport(handler))
    try:
        return await count_tokens(http, "https://host.test", {"x-api-key": "k"}, BODY)
    finally:
        await http.aclose()


async def test_the_count_comes_back_and_the_request_is_the_same():
    seen = []
    assert await counted(httpx.Response(200, json={"input_tokens": 42}), seen) == 42
    (request,) = seen
    assert request.url.path == "/v1/messages/count_tokens"
    assert request.headers["x-api-key"] == "k"
    sent, whole = json.loads(request.content), json.loads(BODY)
    assert sent == {name: value for name, value in whole.items() if name not in ("max_tokens", "stream")}
    assert sent["thinking"]["type"] == "enabled"


@pytest.mark.parametrize(
    "body", [b"", b"nope", b"[]", b"{}", b'{"input_tokens": true}', b'{"input_tokens": -1}', b'{"input_tokens": "3"}']
)
async def test_an_answer_without_a_count_is_an_error(body):
    answer = httpx.Response(200, content=body, headers={"content-type": "application/json"})
    with pytest.raises(ProviderError, match="did not count"):
        await counted(answer)


async def test_a_refusal_keeps_its_kind():
    with pytest.raises(AuthError):
        await counted(httpx.Response(401, json={"error": {"type": "authentication_error", "message": "no"}}))


async def test_odd_text_survives():
    body = json.dumps({"model": "m", "max_tokens": 1, "messages": ["\ud800 ü"]}).encode()
    assert json.loads(count_body(body))["messages"] == ["\ud800 ü"]
