"""Limits that services set, and the one sentence for each that every surface shows.

A run's line, a subagent's report, the notice of a fallback and a notification all say the same:
``Claude rate limit reached. Resets in 1 h 45 min.``
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from zidane_lab.errors import OverloadedError, ProviderError, QuotaError, RateLimitError
from zidane_lab.providers.waits import human_seconds

__all__ = [
    "OVERLOADED",
    "ProviderLimit",
    "ProviderLimitReason",
    "causes",
    "classify_provider_limit",
    "describe_provider_limit",
    "limit_reason",
    "product_name",
]

ProviderLimitReason: TypeAlias = Literal["rate_limit", "quota", "overloaded"]
"""Why a service turned a request away for its capacity or the account's, not for its content."""

OVERLOADED: Final = re.compile(
    r"overloaded|over capacity|at capacity|temporarily unavailable|high demand|peak load", re.IGNORECASE
)
"""Words of a service that is up but too busy."""

_PRODUCTS: Final[Mapping[str, str]] = {"anthropic": "Claude", "openai": "OpenAI"}
"""What people call a provider at its vendor's own address."""

# By the end of the host's name.
_HOSTS: Final = (
    ("anthropic.com", "Claude"),
    ("openai.com", "OpenAI"),
    ("azure.com", "Azure"),
    ("generativelanguage.googleapis.com", "Gemini"),
    ("aiplatform.googleapis.com", "Vertex AI"),
    ("amazonaws.com", "Bedrock"),
    ("openrouter.ai", "OpenRouter"),
    ("mistral.ai", "Mistral"),
    ("cohere.com", "Cohere"),
    ("cohere.ai", "Cohere"),
    ("groq.com", "Groq"),
    ("together.xyz", "Together"),
    ("together.ai", "Together"),
    ("fireworks.ai", "Fireworks"),
    ("deepseek.com", "DeepSeek"),
    ("x.ai", "Grok"),
    ("aliyuncs.com", "Qwen"),
    ("moonshot.ai", "Kimi"),
    ("moonshot.cn", "Kimi"),
    ("minimax.io", "MiniMax"),
    ("minimaxi.com", "MiniMax"),
    ("cerebras.ai", "Cerebras"),
    ("bigmodel.cn", "GLM"),
    ("z.ai", "GLM"),
    ("huggingface.co", "Hugging Face"),
    ("perplexity.ai", "Perplexity"),
    ("nvidia.com", "NVIDIA NIM"),
    ("githubcopilot.com", "GitHub Copilot"),
    ("models.github.ai", "GitHub Models"),
)


@dataclass(frozen=True, slots=True)
class ProviderLimit:
    """A limit that was hit.

    ``product`` is what people call the service; ``retry_after`` is the wait it stated, in seconds, and
    ``resets_at`` the moment that wait is over, in seconds since 1970. ``None``: it stated none.
    """

    reason: ProviderLimitReason
    product: str
    retry_after: float | None = None
    resets_at: float | None = None


def product_name(provider: str, base_url: str | None = None) -> str:
    """Return what people call the service at ``base_url``; a provider's own name for an address nobody knows."""
    if not base_url:
        return _PRODUCTS.get(provider, provider)
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:
        host = ""
    # Google's regions are joined by a hyphen.
    return next((name for end, name in _HOSTS if host == end or host.endswith((f".{end}", f"-{end}"))), provider)


def classify_provider_limit(error: BaseException) -> ProviderLimit | None:
    """Return the limit behind an error, looking through its causes; ``None`` if it was something else."""
    for link in causes(error):
        if isinstance(link, ProviderError):
            reason = limit_reason(type(link), link.status, link.said)
            if reason is not None:
                product = link.product or product_name(link.provider) or "The model"
                return ProviderLimit(reason, product, link.retry_after, link.resets_at)
    return None


def describe_provider_limit(limit: ProviderLimit, now: float | None = None) -> str:
    """Word a limit for people.

    Parameters
    ----------
    limit
        What was hit, whose it is, and when it resets.
    now
        Seconds since 1970; the present moment if left out.
    """
    left = limit.retry_after
    if limit.resets_at is not None:
        left = limit.resets_at - (time.time() if now is None else now)
    wait = human_seconds(left) if left is not None and left > 0 else None
    if limit.reason == "overloaded":
        return f"{limit.product} is overloaded." + (f" Try again in {wait}." if wait else "")
    what = "rate limit" if limit.reason == "rate_limit" else "quota"
    return f"{limit.product} {what} reached." + (f" Resets in {wait}." if wait else "")


def limit_reason(kind: type[BaseException], status: int | None, said: str) -> ProviderLimitReason | None:
    """Return which limit an error of class ``kind`` stands for; a service that failed (a plain 500) is none."""
    if issubclass(kind, RateLimitError):
        return "rate_limit"
    if issubclass(kind, QuotaError):
        return "quota"
    if issubclass(kind, OverloadedError) and (status in (None, 529) or OVERLOADED.search(said)):
        return "overloaded"
    return None


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what it was raised from, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__
