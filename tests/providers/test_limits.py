"""One sentence for each limit, the same on every surface."""

from __future__ import annotations

import pytest

from zidane_lab.errors import (
    AuthError,
    BadRequestError,
    NetworkError,
    OverloadedError,
    QuotaError,
    RateLimitError,
)
from zidane_lab.providers.limits import (
    ProviderLimit,
    causes,
    classify_provider_limit,
    describe_provider_limit,
    product_name,
)


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        (ProviderLimit("rate_limit", "Claude", 6300), "Claude rate limit reached. Resets in 1 h 45 min."),
        (ProviderLimit("rate_limit", "OpenAI"), "OpenAI rate limit reached."),
        (ProviderLimit("quota", "OpenAI"), "OpenAI quota reached."),
        (ProviderLimit("quota", "Gemini", 66_134), "Gemini quota reached. Resets in 18 h 22 min."),
        (ProviderLimit("overloaded", "Claude"), "Claude is overloaded."),
        (ProviderLimit("overloaded", "Claude", 30), "Claude is overloaded. Try again in 30 s."),
        (ProviderLimit("rate_limit", "Claude", 60, 1000), "Claude rate limit reached. Resets in 1 min 40 s."),
        (ProviderLimit("rate_limit", "Claude", 60, 900), "Claude rate limit reached."),
        (ProviderLimit("rate_limit", "Claude", 0), "Claude rate limit reached."),
    ],
)
def test_the_sentence(limit, sentence):
    assert describe_provider_limit(limit, now=900) == sentence


def test_the_present_moment_is_the_default():
    assert "Resets in 1 min" in describe_provider_limit(ProviderLimit("quota", "X", 59.5))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RateLimitError("m"), "rate_limit"),
        (QuotaError("m"), "quota"),
        (OverloadedError("m"), "overloaded"),
        (OverloadedError("m", status=529), "overloaded"),
        (OverloadedError("m", status=503, said="The engine is over capacity"), "overloaded"),
        (OverloadedError("m", status=500, said="Internal server error"), None),
        (OverloadedError("m", status=502), None),
        (NetworkError("m"), None),
        (AuthError("m"), None),
        (BadRequestError("m"), None),
        (ValueError("m"), None),
    ],
)
def test_which_errors_are_limits(error, reason):
    limit = classify_provider_limit(error)
    assert (limit.reason if limit is not None else None) == reason


def test_a_limit_keeps_whose_it_is_and_when_it_resets():
    error = RateLimitError("m", provider="openai", product="Groq", retry_after=5, resets_at=99.0)
    assert classify_provider_limit(error) == ProviderLimit("rate_limit", "Groq", 5, 99.0)
    assert classify_provider_limit(RateLimitError("m", provider="anthropic")).product == "Claude"
    assert classify_provider_limit(RateLimitError("m")).product == "The model"


def test_a_limit_behind_another_error():
    wrapped = RuntimeError("the subagent failed")
    wrapped.__cause__ = ValueError("in between")
    wrapped.__cause__.__cause__ = QuotaError("m", product="Claude")
    assert classify_provider_limit(wrapped) == ProviderLimit("quota", "Claude")


def test_causes_that_go_in_circles_end():
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert list(causes(first)) == [first, second]
    assert list(causes(None)) == []


@pytest.mark.parametrize(
    ("provider", "base_url", "name"),
    [
        ("anthropic", None, "Claude"),
        ("anthropic", "https://api.anthropic.com", "Claude"),
        ("openai", None, "OpenAI"),
        ("openai", "https://api.openai.com/v1", "OpenAI"),
        ("openai", "https://generativelanguage.googleapis.com/v1beta/openai/", "Gemini"),
        ("openai", "https://europe-west1-aiplatform.googleapis.com/v1", "Vertex AI"),
        ("openai", "https://aiplatform.googleapis.com/v1", "Vertex AI"),
        ("anthropic", "https://bedrock-runtime.us-west-2.amazonaws.com", "Bedrock"),
        ("openai", "https://OpenRouter.ai/api/v1", "OpenRouter"),
        ("openai", "https://my.openai.azure.com/openai/v1", "Azure"),
        ("openai", "https://api.x.ai/v1", "Grok"),
        ("openai", "https://api.notx.ai/v1", "openai"),
        ("openai", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "Qwen"),
        ("openai", "https://openai.com.evil.example/v1", "openai"),
        ("openai", "http://localhost:11434/v1", "openai"),
        ("openai", "http://[broken", "openai"),
        ("acme", None, "acme"),
        ("acme", "https://api.acme.example", "acme"),
    ],
)
def test_what_people_call_a_service(provider, base_url, name):
    assert product_name(provider, base_url) == name
