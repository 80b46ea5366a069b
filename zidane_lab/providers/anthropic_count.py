"""Anthropic's own count of a request: ``POST /v1/messages/count_tokens``, which costs nothing and runs no model.

The service calls its counts estimates that "may differ by a small amount" from what a call is charged for
(Anthropic, "Token counting"); they are the best there is before a request is sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from zidane_lab.errors import ProviderError
from zidane_lab.providers.http import HttpClient
from zidane_lab.turns import MOST_TOKENS

__all__ = ["count_body", "count_tokens"]

_TAKEN: Final = ("model", "system", "tools", "tool_choice", "thinking", "output_config", "messages")
"""Fields of a request that the counting service takes; of the others it says that they are not permitted."""


def count_body(body: bytes) -> bytes:
    """Return the body that asks for the count of a request whose own body is ``body``."""
    asked: Mapping[str, Any] = json.loads(body)
    kept = {name: asked[name] for name in _TAKEN if name in asked}
    return json.dumps(kept).encode("ascii")


async def count_tokens(http: HttpClient, base_url: str, headers: Mapping[str, str], body: bytes) -> int:
    """Return how many tokens a request's prompt has.

    Parameters
    ----------
    http
        The provider's client.
    base_url
        Where the service is, without a final ``/v1``.
    headers
        Version and key, as for the request itself.
    body
        The request's own JSON body.

    Raises
    ------
    ProviderError
        The service refused, or its answer holds no count: servers that speak the format need not count.
    """
    async with http.post(f"{base_url}/v1/messages/count_tokens", headers=headers, content=count_body(body)) as reply:
        text = await reply.body()
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    count = answer.get("input_tokens") if isinstance(answer, Mapping) else None
    if type(count) is not int or not 0 <= count <= MOST_TOKENS:  # bool is an int too
        raise ProviderError(
            f"{http.provider}: the service did not count the tokens of the request.",
            provider=http.provider,
            hint="Sizes are estimated instead.",
        )
    return count
